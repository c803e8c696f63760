import { UploadProgress } from "@model-gateway/browser"
import { Gateway } from "@model-gateway/core"
import { Effect } from "effect"

export const storeAndDelete = (file: File, purpose: string) =>
  Effect.gen(function* () {
    const gateway = yield* Gateway.Gateway
    const { id } = yield* gateway.uploadFile({ file, purpose })
    const { data } = yield* gateway.listFiles()
    yield* Effect.log(data.map(({ filename }) => filename))
    return yield* gateway.deleteFile(id, { shape: "compat_a" })
  }).pipe(UploadProgress.withUploadProgress(console.log))
