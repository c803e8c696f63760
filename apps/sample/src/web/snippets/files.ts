import { UploadProgress } from "@model-gateway/browser"
import { Gateway } from "@model-gateway/core"
import { Console, Effect } from "effect"

export const storeAndDelete = (file: File) =>
  Effect.gen(function* () {
    const gateway = yield* Gateway.Gateway
    const { id } = yield* gateway.uploadFile({ file, purpose: "notes" }).pipe(
      UploadProgress.withUploadProgress(({ loaded }) => console.log(loaded))
    )
    const { data } = yield* gateway.listFiles()
    yield* Console.log(data.map(({ filename }) => filename))
    return yield* gateway.deleteFile(id, { shape: "compat_a" })
  })
