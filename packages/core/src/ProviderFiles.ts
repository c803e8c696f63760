/**
 * Files of the caller's own account at a provider: `/files` with the query parameter `provider`.
 *
 * The gateway passes them through with the provider key that the workspace has stored (see `Byok`)
 * and keeps no copy. They come in the provider's shape. `deleteFile` and `fileContent` of the
 * client take `provider` as an option.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Files from "./Files.ts"
import * as FileShapes from "./FileShapes.ts"
import { call, workspaceOf } from "./internal/call.ts"
import { fileForm } from "./internal/form.ts"

/** The service cannot repeat an upload to a provider safely. */
const toProvider = { ...Files.uploadFileOperation, idempotency: "never" } as const

const uploadFile = {
  provider_a: { ...toProvider, success: FileShapes.CompatAFile },
  provider_b: { ...toProvider, success: FileShapes.CompatBFile }
}

const listFiles = {
  provider_a: { ...Files.listFilesOperation, success: FileShapes.CompatAFileList },
  provider_b: { ...Files.listFilesOperation, success: FileShapes.CompatBFileList }
}

const getFile = {
  provider_a: { ...Files.getFileOperation, success: FileShapes.CompatAFile },
  provider_b: { ...Files.getFileOperation, success: FileShapes.CompatBFile }
}

/**
 * Stores a file. For `provider_a`, `purpose` is one of OpenAI's purposes. Retried only if the
 * failed attempt cannot have stored it.
 *
 * @example
 * ```ts
 * import { ProviderFiles } from "@model-gateway/core"
 *
 * declare const file: File
 *
 * const stored = ProviderFiles.upload("provider_a", { file, purpose: "batch" })
 * ```
 *
 * @since 0.1.0
 */
export const upload = Effect.fnUntraced(function* <Provider extends Files.FileProvider>(
  provider: Provider,
  request: Files.Upload
) {
  const workspace_id = yield* workspaceOf(request)
  return yield* call(uploadFile[provider], { query: { provider, workspace_id }, form: fileForm(request) })
})

/**
 * Lists files. `provider_b` ignores `order`.
 *
 * @since 0.1.0
 */
export const list = Effect.fnUntraced(function* <Provider extends Files.FileProvider>(
  provider: Provider,
  options: Files.ListOptions = {}
) {
  return yield* call(listFiles[provider], {
    query: { ...options, provider, workspace_id: yield* workspaceOf(options) }
  })
})

/**
 * Returns a file without its content.
 *
 * @since 0.1.0
 */
export const get = Effect.fnUntraced(function* <Provider extends Files.FileProvider>(
  provider: Provider,
  id: string,
  options: Files.Scope = {}
) {
  const workspace_id = yield* workspaceOf(options)
  return yield* call(getFile[provider], { params: { file_id: id }, query: { provider, workspace_id } })
})
