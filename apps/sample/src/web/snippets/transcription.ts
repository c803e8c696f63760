import { Audio, UploadProgress } from "@model-gateway/browser"
import { Gateway } from "@model-gateway/core"
import { Effect } from "effect"

export const transcribe = (file: File) =>
  Effect.gen(function* () {
    const gateway = yield* Gateway.Gateway
    const audio = yield* Audio.fromBlob(file)
    const { words } = yield* gateway.transcribe({
      model: "sandbox/tones",
      response_format: "verbose_json",
      timestamp_granularities: ["word"],
      ...audio
    })
    return words
  }).pipe(UploadProgress.withUploadProgress(console.log))
