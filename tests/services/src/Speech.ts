/**
 * The programs that speak and hear for the test of a transcription: espeak-ng speaks, sox changes
 * the sample rate, pocketsphinx hears.
 */
import { findProgram, forTests, fromDebian } from "./Program.ts"

/** The paths of the programs. */
export interface SpeechPrograms {
  readonly espeak: string
  readonly sox: string
  /** `pocketsphinx_continuous`, or `pocketsphinx` of version 5. */
  readonly pocketsphinx: string
}

export const program = fromDebian<SpeechPrograms>({
  name: "speech",
  title: "set of programs for speech",
  purpose: "the test of a transcription",
  packages: ["espeak-ng", "sox", "pocketsphinx", "pocketsphinx-en-us"],
  megabytes: 40,
  find: () => {
    const espeak = findProgram("espeak-ng")
    const sox = findProgram("sox")
    const pocketsphinx = findProgram("pocketsphinx_continuous", "pocketsphinx")
    return espeak === undefined || sox === undefined || pocketsphinx === undefined
      ? undefined
      : { espeak, sox, pocketsphinx }
  }
})

/** The programs. Undefined if one is missing: the test is skipped. */
export const speechPrograms = (): SpeechPrograms | undefined => forTests(program)
