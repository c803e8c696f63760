// For the test that transcribes speech; tests/services/src/speech.mjs itself runs before anything is built.

/** The paths of the programs. */
export interface SpeechPrograms {
  readonly espeak: string
  readonly sox: string
  /** `pocketsphinx_continuous`, or `pocketsphinx` of version 5. */
  readonly pocketsphinx: string
}

export const speechPrograms: () => SpeechPrograms | undefined
