/** Reads what a program for transcription prints. */
import { Schema } from "effect"
import * as OpenAiTranscript from "./openAiTranscript.ts"
import type {
  TranscriptionRequest,
  TranscriptionResponse,
  TranscriptionSegment,
  TranscriptionWord
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

const Offsets = Schema.Struct({ from: Schema.Finite, to: Schema.Finite })

/**
 * `whisper-cli --output-json`, or `--output-json-full` with tokens. Offsets are in milliseconds.
 */
const WhisperCpp = Schema.Struct({
  result: Schema.optionalKey(Schema.Struct({ language: Schema.optionalKey(Schema.String) })),
  transcription: Schema.Array(
    Schema.Struct({
      text: Schema.String,
      offsets: Offsets,
      tokens: Schema.optionalKey(Schema.Array(Schema.Unknown))
    })
  )
})

/** A part of a word. whisper.cpp leaves the offsets of some out. */
const WhisperCppToken = Schema.Struct({ text: Schema.String, offsets: Schema.optionalKey(Offsets) })

const PocketSphinxWord = Schema.Struct({ t: Schema.String, b: Schema.Finite, d: Schema.Finite })

/** A line of `pocketsphinx single`: text, begin, duration and words of an utterance. */
const PocketSphinx = Schema.Struct({
  ...PocketSphinxWord.fields,
  w: Schema.optionalKey(Schema.Array(PocketSphinxWord))
})

const isOpenAi = Schema.is(OpenAiTranscript.Transcript)
const isWhisperCpp = Schema.is(WhisperCpp)
const isToken = Schema.is(WhisperCppToken)
const isPocketSphinx = Schema.is(Schema.Array(PocketSphinx))

const joined = (segments: ReadonlyArray<TranscriptionSegment>): string =>
  segments
    .map(({ text }) => text)
    .filter((text) => text !== "")
    .join(" ")

/** Languages that write no spaces between words, as Whisper itself has them. */
const unspaced = new Set(["ja", "lo", "my", "th", "yue", "zh"])

/** Marks of times and of the end of the text: [_BEG_], [_TT_150], <|endoftext|>. */
const isMark = ({ text }: typeof WhisperCppToken.Type): boolean => /^(?:\[_.*\]|<\|.*\|>)$/.test(text.trim())

const isPunctuation = (text: string): boolean => !/[\p{L}\p{N}]/u.test(text)

/**
 * The words of a segment. A token begins one if it begins with a space, or if the language has no
 * spaces. Punctuation belongs to the word before it. Words without times are left out.
 */
const wordsOf = (
  { tokens = [] }: (typeof WhisperCpp.Type)["transcription"][number],
  language: string | undefined
): ReadonlyArray<TranscriptionWord> => {
  const words: Array<{ text: string; from: number | undefined; to: number | undefined }> = []
  for (const token of tokens) {
    if (!isToken(token) || isMark(token)) continue
    const { offsets, text } = token
    const last = words.at(-1)
    const begins = /^\s/.test(text) || (unspaced.has(language ?? "") && !isPunctuation(text))
    if (last === undefined || begins) {
      words.push({ text: text.trim(), from: offsets?.from, to: offsets?.to })
    } else {
      last.text += text.trimEnd()
      last.from ??= offsets?.from
      last.to = offsets?.to ?? last.to
    }
  }
  return words.flatMap(({ from, text, to }) =>
    from === undefined || to === undefined || text === "" ? [] : [{ word: text, start: from / 1000, end: to / 1000 }]
  )
}

const ofWhisperCpp = (
  { result, transcription }: typeof WhisperCpp.Type,
  { audio, timestamp_granularities }: TranscriptionRequest
): TranscriptionResponse => {
  const words = transcription.flatMap((segment) => wordsOf(segment, result?.language))
  const hasTokens = transcription.some(({ tokens }) => tokens !== undefined)
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
    ...(result?.language === undefined ? {} : { language: result.language }),
    ...(hasTokens && timestamp_granularities.includes("word") ? { words } : {})
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
