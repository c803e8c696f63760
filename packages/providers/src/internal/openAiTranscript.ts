/**
 * A transcript in the form of OpenAI's `verbose_json`, which other programs and servers use too.
 */
import { Schema } from "effect"
import type {
  TranscriptionRequest,
  TranscriptionResponse,
  TranscriptionSegment,
  TranscriptionWord
} from "@model-gateway/offers/Transcription"
import { nullable } from "./nullable.ts"

const Segment = Schema.Struct({
  id: nullable(Schema.Int),
  start: Schema.Finite,
  end: Schema.Finite,
  text: Schema.String,
  seek: nullable(Schema.Finite),
  tokens: nullable(Schema.Array(Schema.Int)),
  temperature: nullable(Schema.Finite),
  avg_logprob: nullable(Schema.Finite),
  compression_ratio: nullable(Schema.Finite),
  no_speech_prob: nullable(Schema.Finite)
})

const Word = Schema.Struct({ word: Schema.String, start: Schema.Finite, end: Schema.Finite })

/**
 * The parts that matter here. `json` has only `text`. Items of another form are left out later: the
 * call was billed, so it must not fail because of one segment or word without times.
 */
export const Transcript = Schema.Struct({
  text: Schema.String,
  language: nullable(Schema.String),
  segments: nullable(Schema.Array(Schema.Unknown)),
  words: nullable(Schema.Array(Schema.Unknown))
})

const isSegment = Schema.is(Segment)
const isWord = Schema.is(Word)

const numbers = ["seek", "temperature", "avg_logprob", "compression_ratio", "no_speech_prob"] as const

const toSegment = (segment: typeof Segment.Type, index: number): TranscriptionSegment => {
  const { end, id, start, text, tokens } = segment
  const known: { [name in (typeof numbers)[number]]?: number } = {}
  for (const name of numbers) {
    const value = segment[name]
    if (typeof value === "number") known[name] = value
  }
  return { id: id ?? index, start, end, text, ...known, ...(Array.isArray(tokens) ? { tokens } : {}) }
}

const toWord = ({ end, start, word }: typeof Word.Type): TranscriptionWord => ({ word, start, end })

/** The answer of a transcript. */
export const toAnswer = (
  { language, segments, text, words }: typeof Transcript.Type,
  { audio, timestamp_granularities }: TranscriptionRequest
): TranscriptionResponse => ({
  text,
  duration: audio.durationSeconds,
  segments: (segments ?? []).filter(isSegment).map(toSegment),
  ...(typeof language === "string" && language !== "" ? { language } : {}),
  ...(Array.isArray(words) && timestamp_granularities.includes("word")
    ? { words: words.filter(isWord).map(toWord) }
    : {})
})
