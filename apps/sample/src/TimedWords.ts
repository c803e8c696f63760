/** The words of a transcript that can be shown on a time line. */
import type { Transcription } from "@model-gateway/core"

/** A word that was given with its times. Other services may leave them out. */
export type TimedWord = Transcription.Word & Required<Pick<Transcription.Word, "word" | "start" | "end">>

const isTimed = (word: Transcription.Word): word is TimedWord =>
  word.word !== undefined && word.start !== undefined && word.end !== undefined

export const timedWords = ({ words = [] }: Transcription.Response): ReadonlyArray<TimedWord> => words.filter(isTimed)
