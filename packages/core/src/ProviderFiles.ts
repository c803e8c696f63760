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
import type * as Schema from "effect/Schema"
import * as Files from "./Files.ts"
import type { GatewayClient } from "./GatewayClient.ts"
import * as FileShapes from "./dialect/FileShapes.ts"
import { call, workspaceOf } from "./internal/call.ts"
import { fileForm } from "./internal/form.ts"

/** The operations with responses in a provider's shape. */
const operationsOf = <File extends Schema.Codec<unknown, unknown>, List extends Schema.Codec<unknown, unknown>>(
  file: File,
  list: List
) => ({
  // The service cannot repeat an upload to a provider safely.
  upload: { ...Files.uploadFileOperation, idempotency: "never" as const, success: file },
  list: { ...Files.listFilesOperation, success: list },
  get: { ...Files.getFileOperation, success: file }
})

const operations = {
  provider_a: operationsOf(FileShapes.CompatAFile, FileShapes.CompatAFileList),
  provider_b: operationsOf(FileShapes.CompatBFile, FileShapes.CompatBFileList)
}

/**
 * A file in the provider's shape.
 *
 * @category models
 * @since 0.1.0
 */
export type File<Provider extends Files.FileProvider> = (typeof operations)[Provider]["get"]["success"]["Type"]

/**
 * A page of files in the provider's shape.
 *
 * @category models
 * @since 0.1.0
 */
export type FileList<Provider extends Files.FileProvider> = (typeof operations)[Provider]["list"]["success"]["Type"]

/**
 * The errors of {@link uploadFile}.
 *
 * @category errors
 * @since 0.1.0
 */
export type UploadFailure = Files.UploadFailure

/**
 * The errors of {@link listFiles} and {@link getFile}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Files.Failure

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
 * const stored = ProviderFiles.uploadFile("provider_a", { file, purpose: "batch" })
 * ```
 *
 * @category calls
 * @since 0.1.0
 */
export const uploadFile = <Provider extends Files.FileProvider>(
  provider: Provider,
  request: Files.Upload
): Effect.Effect<File<Provider>, UploadFailure, GatewayClient> =>
  Effect.flatMap(workspaceOf(request), (workspace_id) =>
    call(operations[provider].upload, { query: { provider, workspace_id }, form: fileForm(request) })
  )

/**
 * Lists files. `provider_b` ignores `order`.
 *
 * @category calls
 * @since 0.1.0
 */
export const listFiles = <Provider extends Files.FileProvider>(
  provider: Provider,
  options: Files.ListOptions = {}
): Effect.Effect<FileList<Provider>, Failure, GatewayClient> =>
  Effect.flatMap(workspaceOf(options), (workspace_id) =>
    call(operations[provider].list, { query: { ...options, provider, workspace_id } })
  )

/**
 * Returns a file without its content.
 *
 * @category calls
 * @since 0.1.0
 */
export const getFile = <Provider extends Files.FileProvider>(
  provider: Provider,
  id: string,
  options: Files.Scope = {}
): Effect.Effect<File<Provider>, Failure, GatewayClient> =>
  Effect.flatMap(workspaceOf(options), (workspace_id) =>
    call(operations[provider].get, { params: { file_id: id }, query: { provider, workspace_id } })
  )
