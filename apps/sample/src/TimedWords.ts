/** The words of a transcript that have times, for a timeline. */
import type { Transcription } from "@model-gateway/core"

/** A word with its times. Other services may omit them. */
export type TimedWord = Transcription.Word & Required<Pick<Transcription.Word, "word" | "start" | "end">>

const isTimed = (word: Transcription.Word): word is TimedWord =>
  word.word !== undefined && word.start !== undefined && word.end !== undefined

/** The words of a transcript that have both times. */
export const timedWords = ({ words = [] }: Transcription.Response): ReadonlyArray<TimedWord> => words.filter(isTimed)
