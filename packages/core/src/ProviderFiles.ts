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
import type { PageOptions } from "./GatewayClient.ts"
import { call } from "./internal/call.ts"
import { fileForm } from "./internal/form.ts"

/**
 * A file to store at a provider. A Blob is streamed, never read into memory as a whole.
 *
 * @since 0.1.0
 */
export interface Upload extends Files.Scope {
  readonly file: Blob | Uint8Array
  /** Default: the name of the File, or `file` if it has none. */
  readonly filename?: string | undefined
  /** For `provider_a`: one of OpenAI's purposes. Default: `user_data`. */
  readonly purpose?: string | undefined
}

/** The service cannot repeat an upload to a provider safely. */
const toProvider = { ...Files.uploadFile, idempotency: "never" } as const

const uploadFile = {
  provider_a: { ...toProvider, success: Files.CompatAFile },
  provider_b: { ...toProvider, success: Files.CompatBFile }
}

const listFiles = {
  provider_a: { ...Files.listFiles, success: Files.CompatAFileList },
  provider_b: { ...Files.listFiles, success: Files.CompatBFileList }
}

const getFile = {
  provider_a: { ...Files.getFile, success: Files.CompatAFile },
  provider_b: { ...Files.getFile, success: Files.CompatBFile }
}

/**
 * Stores a file. Retried only if the failed attempt cannot have stored it.
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
  request: Upload
) {
  const { purpose = "user_data", workspace_id } = request
  const form = fileForm({ ...request, purpose })
  return yield* call(uploadFile[provider], { query: { provider, workspace_id }, form })
})

/**
 * Lists files.
 *
 * @since 0.1.0
 */
export const list = Effect.fnUntraced(function* <Provider extends Files.FileProvider>(
  provider: Provider,
  options: Files.Scope & PageOptions = {}
) {
  return yield* call(listFiles[provider], { query: { ...options, provider } })
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
  const { workspace_id } = options
  return yield* call(getFile[provider], { params: { file_id: id }, query: { provider, workspace_id } })
})
