"use client"

import * as UploadProgress from "@model-gateway/browser/UploadProgress"
import * as Transcription from "@model-gateway/core/Transcription"
import { transcriptions } from "./clients.ts"
import { useStream } from "./useStream.ts"

const transcribe = (file: File) => UploadProgress.stream(Transcription.transcribe({ model: "sandbox/tones", file }))

export const Transcriber = () => {
  const { cancel, error, isRunning, latest, start } = useStream(transcriptions, transcribe)
  return (
    <section>
      <h2>Transcription</h2>
      <label>
        Audio <input type="file" onChange={({ target }) => target.files?.[0] && start(target.files[0])} />
      </label>
      {latest?._tag === "Uploading" && <progress value={latest.loaded} max={latest.total} />}
      {isRunning && <button onClick={cancel}>Cancel</button>}
      {latest?._tag === "Done" && <output>{latest.value.text}</output>}
      {error && <p role="alert">{error.message}</p>}
    </section>
  )
}
