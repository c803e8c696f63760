/** Segments of transcripts that have words only. */
import type { TranscriptionSegment, TranscriptionWord } from "@model-gateway/offers/Transcription"

/** A word, or a sound or space between words. */
export interface Piece {
  /** As it stands in the text. */
  readonly text: string
  /** Undefined: it has no time of its own. */
  readonly start: number | undefined
  readonly end: number | undefined
  readonly speaker?: number
}

const endsSentence = (text: string): boolean => /[.!?…。！？｡।]["'”’»)\]]*$/u.test(text.trimEnd())

/**
 * The sentences of the pieces. One ends with its punctuation, or where another speaker begins. A
 * sentence without a time is left out.
 */
export const ofPieces = (pieces: ReadonlyArray<Piece>): ReadonlyArray<TranscriptionSegment> => {
  const groups: Array<Array<Piece>> = []
  let isOpen = false
  for (const piece of pieces) {
    const group = groups.at(-1)
    const isOther = piece.speaker !== undefined && group?.[0]?.speaker !== piece.speaker
    // A space belongs to what it follows.
    if (group === undefined || ((!isOpen || isOther) && piece.text.trim() !== "")) groups.push([piece])
    else group.push(piece)
    if (piece.text.trim() !== "") isOpen = !endsSentence(piece.text)
  }
  return groups
    .flatMap((group) => {
      // A space lasts until the next word.
      const heard = group.filter((piece) => piece.text.trim() !== "")
      const start = heard.find((piece) => piece.start !== undefined)?.start
      const end = heard.findLast((piece) => piece.end !== undefined)?.end
      const text = group
        .map((piece) => piece.text)
        .join("")
        .trim()
      const speaker = group[0]?.speaker
      return start === undefined || end === undefined || text === ""
        ? []
        : [{ start, end, text, ...(speaker === undefined ? {} : { speaker }) }]
    })
    .map((segment, id) => ({ id, ...segment }))
}

/** Words as pieces of a text with spaces. */
export const ofWords = (words: ReadonlyArray<TranscriptionWord>): ReadonlyArray<TranscriptionSegment> =>
  ofPieces(words.map(({ word, ...times }) => ({ ...times, text: `${word} ` })))
