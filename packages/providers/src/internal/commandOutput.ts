/** Reads what a program for transcription prints. */
import { Schema } from "effect"
import * as OpenAiTranscript from "./openAiTranscript.ts"
import type {
  TranscriptionRequest,
  TranscriptionResponse,
  TranscriptionSegment
} from "@model-gateway/offers/Transcription"

/** Lines of text, one for each utterance. */
export const ofText = (text: string, { audio }: TranscriptionRequest): TranscriptionResponse => ({
  text: text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" "),
  duration: audio.durationSeconds,
  segments: []
})

/** `whisper-cli --output-json`. Its offsets are in milliseconds. */
const WhisperCpp = Schema.Struct({
  result: Schema.optionalKey(Schema.Struct({ language: Schema.optionalKey(Schema.String) })),
  transcription: Schema.Array(
    Schema.Struct({ text: Schema.String, offsets: Schema.Struct({ from: Schema.Finite, to: Schema.Finite }) })
  )
})

const PocketSphinxWord = Schema.Struct({ t: Schema.String, b: Schema.Finite, d: Schema.Finite })

/** A line of `pocketsphinx single`: text, begin, duration and words of an utterance. */
const PocketSphinx = Schema.Struct({
  ...PocketSphinxWord.fields,
  w: Schema.optionalKey(Schema.Array(PocketSphinxWord))
})

const isOpenAi = Schema.is(OpenAiTranscript.Transcript)
const isWhisperCpp = Schema.is(WhisperCpp)
const isPocketSphinx = Schema.is(Schema.Array(PocketSphinx))

const joined = (segments: ReadonlyArray<TranscriptionSegment>): string =>
  segments
    .map(({ text }) => text)
    .filter((text) => text !== "")
    .join(" ")

const ofWhisperCpp = (
  { result, transcription }: typeof WhisperCpp.Type,
  { audio }: TranscriptionRequest
): TranscriptionResponse => {
  const segments = transcription.map(({ offsets, text }, id) => ({
    id,
    start: offsets.from / 1000,
    end: offsets.to / 1000,
    text: text.trim()
  }))
  return {
    text: joined(segments),
    duration: audio.durationSeconds,
    segments,
    ...(result?.language === undefined ? {} : { language: result.language })
  }
}

const ofPocketSphinx = (
  utterances: ReadonlyArray<typeof PocketSphinx.Type>,
  { audio, timestamp_granularities }: TranscriptionRequest
): TranscriptionResponse => {
  const segments = utterances.map(({ b, d, t }, id) => ({ id, start: b, end: b + d, text: t.trim() }))
  const words = utterances
    .flatMap(({ w = [] }) => w)
    // Silence and noise are words in brackets: <s>, <sil>, [NOISE].
    .filter(({ t }) => !/^[<[]/.test(t))
    .map(({ b, d, t }) => ({ word: t.replace(/\(\d+\)$/, ""), start: b, end: b + d }))
  return {
    text: joined(segments),
    duration: audio.durationSeconds,
    segments,
    ...(timestamp_granularities.includes("word") ? { words } : {})
  }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A JSON value, or one for each line. */
const valuesOf = (text: string): unknown =>
  parse(text) ??
  text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "")
    .map(parse)

/** JSON in the form of OpenAI, whisper.cpp or PocketSphinx. Undefined if it is in another one. */
export const ofJson = (text: string, request: TranscriptionRequest): TranscriptionResponse | undefined => {
  const value = valuesOf(text)
  if (isOpenAi(value)) return OpenAiTranscript.toAnswer(value, request)
  if (isWhisperCpp(value)) return ofWhisperCpp(value, request)
  const utterances = Array.isArray(value) ? value : [value]
  return isPocketSphinx(utterances) ? ofPocketSphinx(utterances, request) : undefined
}
