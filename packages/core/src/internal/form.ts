/**
 * Builds the multipart forms of the contract. A Blob is added as it is, so that it can be streamed.
 */
import type { Upload } from "../Files.ts"
import type { Input } from "../Transcription.ts"

const appendFile = (form: FormData, file: Blob | Uint8Array, filename: string | undefined): void => {
  // Copied, because a Blob does not accept a view into shared memory.
  const blob = file instanceof Blob ? file : new Blob([new Uint8Array(file)])
  form.append("file", blob, filename ?? (blob instanceof File ? blob.name : "file"))
}

/** The form of POST `/files`. */
export const upload = (request: Upload): FormData => {
  const form = new FormData()
  form.append("purpose", request.purpose)
  appendFile(form, request.file, request.filename)
  return form
}

/** The form of POST `/audio/transcriptions`. */
export const transcription = (request: Extract<Input, { readonly file: Blob | Uint8Array }>): FormData => {
  const form = new FormData()
  const { file, filename, input_audio: _, provider, temperature, timestamp_granularities, trace, ...texts } = request
  for (const [name, text] of Object.entries(texts)) {
    if (text !== undefined) form.append(name, text)
  }
  if (temperature !== undefined) form.append("temperature", String(temperature))
  for (const granularity of timestamp_granularities ?? []) form.append("timestamp_granularities[]", granularity)
  if (provider !== undefined) form.append("provider", JSON.stringify(provider))
  if (trace !== undefined) form.append("trace", JSON.stringify(trace))
  appendFile(form, file, filename)
  return form
}
