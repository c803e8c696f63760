/** The requests of the steps. They are plain values, so that the page can show and change them. */
import type { Files, Rerank, Transcription, Video } from "@model-gateway/core"
import { dial } from "./Tones.ts"

/** The input of each step. The steps `key` and `guardrail` have none. */
export interface Inputs {
  readonly upload: Files.Upload
  readonly rerank: Rerank.Request
  readonly transcription: Transcription.Input
  readonly video: Video.Request
}

/** The model to use, by kind. */
export interface Models {
  readonly rerank: string
  readonly transcription: string
  readonly video: string
}

/** Models that every gateway of this project has. They need no upstream and no account. */
export const sandboxModels: Models = {
  rerank: "sandbox/bm25",
  transcription: "sandbox/tones",
  video: "sandbox/title-card"
}

/** Audio to transcribe in place of the dialed {@link telephoneNumber}. */
export interface Recording {
  readonly blob: Blob
  /** Its extension names the format. */
  readonly filename: string
}

/** The telephone number of the default recording. */
export const telephoneNumber = "555 0199"

/** Makes the inputs. Default for `recording`: a dialed telephone number. */
export const make = (models: Models, recording?: Recording): Inputs => ({
  upload: {
    file: new Blob(["Uploaded and deleted by the sample program.\n"], { type: "text/plain" }),
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
    file: recording?.blob ?? new Blob([dial(telephoneNumber)], { type: "audio/wav" }),
    filename: recording?.filename ?? "dialed.wav",
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
