/**
 * What the sample sends: values only, so that a page can show them and let a person change them.
 */
import type { Files, Rerank, Transcription, Video } from "@model-gateway/core"
import { dial } from "./Tones.ts"

/** What each step sends. The other two, the key's usage and the guardrail, need nothing. */
export interface Inputs {
  readonly upload: Files.Upload
  readonly rerank: Rerank.Request
  readonly transcription: Transcription.Input
  readonly video: Video.Request
}

/** The model of each kind that is asked. */
export interface Models {
  readonly rerank: string
  readonly transcription: string
  readonly video: string
}

/**
 * The models that every gateway of this project brings along: they need no upstream and no account.
 */
export const sandboxModels: Models = {
  rerank: "sandbox/bm25",
  transcription: "sandbox/tones",
  video: "sandbox/title-card"
}

/** Audio from somewhere else than {@link number}. */
export interface Recording {
  readonly blob: Blob
  /** Tells the format. */
  readonly filename: string
}

/** The number that the recording dials. */
export const number = "555 0199"

/** The inputs, for those models. `recording` stands in for the dialled number. */
export const make = (models: Models, recording?: Recording): Inputs => ({
  upload: {
    file: new Blob(["Written by the sample program, and deleted by it a moment later.\n"], { type: "text/plain" }),
    filename: "hello.txt",
    purpose: "sample"
  },
  rerank: {
    model: models.rerank,
    query: "how do I reset a forgotten password",
    documents: [
      "Invoices are sent on the first of each month.",
      "To reset a forgotten password, open the sign-in page and choose Forgot password.",
      "A new password must have at least twelve characters.",
      { text: "The office is closed on public holidays." }
    ]
  },
  transcription: {
    model: models.transcription,
    file: recording?.blob ?? new Blob([dial(number)], { type: "audio/wav" }),
    filename: recording?.filename ?? "dialled.wav",
    response_format: "verbose_json",
    timestamp_granularities: ["segment", "word"]
  },
  video: {
    model: models.video,
    prompt: "Hello from the model gateway",
    duration: 4,
    resolution: "720p",
    aspect_ratio: "16:9",
    seed: 7
  }
})
