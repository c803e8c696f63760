/** The request of the form. */
import type { Json } from "@model-gateway/core/unstable/CodeSamples"
import type { CodeCall } from "../shared/programs.ts"
import { providerOf } from "../shared/provider.ts"

export const defaults = {
  model: "sandbox/tones",
  language: "",
  temperature: "",
  /** `word`: also the times of words. */
  times: "word",
  provider: ""
}

export type TranscriptionForm = typeof defaults

const formats = ["wav", "mp3", "flac", "m4a", "ogg", "webm", "aac"]

/** The format of a file, by its extension. Undefined: it cannot be transcribed. */
export const formatOf = (filename: string): string | undefined => {
  const extension = filename.split(".").at(-1)?.toLowerCase()
  return formats.find((format) => format === extension)
}

/** The largest file, in bytes. */
const maxBytes = 25_000_000

/** Why the request cannot be sent. */
export const problemOf = (
  { language, temperature }: TranscriptionForm,
  file: { readonly size: number } | undefined
): string | undefined => {
  if (file === undefined) return "Choose a file, record something, or use the sample sound."
  if (file.size > maxBytes) return `The file has ${(file.size / 1e6).toFixed(1)} MB. A request has at most 25 MB.`
  if (language !== "" && !/^[A-Za-z]{2}$/.test(language)) return "The language is two letters, such as en."
  if (temperature !== "" && !(Number(temperature) >= 0 && Number(temperature) <= 1)) {
    return "The temperature is from 0 to 1."
  }
  return undefined
}

const timesOf = ({ times }: TranscriptionForm): ReadonlyArray<string> =>
  times === "word" ? ["segment", "word"] : ["segment"]

/** The fields of the request without the audio. */
export const optionsOf = (form: TranscriptionForm): { readonly [field: string]: Json } => ({
  model: form.model,
  response_format: "verbose_json",
  timestamp_granularities: timesOf(form),
  ...(form.language === "" ? {} : { language: form.language.toLowerCase() }),
  ...(form.temperature === "" ? {} : { temperature: Number(form.temperature) }),
  ...providerOf(form.provider)
})

/** The fields of the form that is sent. */
export const fieldsOf = (form: TranscriptionForm): ReadonlyArray<readonly [name: string, text: string]> =>
  Object.entries(optionsOf(form)).flatMap(([name, value]): ReadonlyArray<readonly [string, string]> => {
    if (name === "timestamp_granularities") return timesOf(form).map((each) => [`${name}[]`, each] as const)
    return [[name, typeof value === "object" ? JSON.stringify(value) : String(value)]]
  })

/** The request for the programs. */
export const codeOf = (form: TranscriptionForm, filename: string): CodeCall => ({
  request: { method: "POST", path: "/audio/transcriptions", form: { file: filename, fields: fieldsOf(form) } },
  client: { client: "Transcription.transcribe", isFunction: true, arguments: [optionsOf(form)] },
  note: `It reads the audio from ${filename}.`
})
