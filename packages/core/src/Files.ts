/**
 * Files: DELETE `/files/{file_id}`, and storing, listing and reading them. `ProviderFiles` has the
 * calls for files that a provider stores.
 *
 * Specification: "1. DELETE /files/{file_id}", "File deletion confirmation".
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { SingleFileSchema } from "effect/http/Multipart"
import * as Stream from "effect/Stream"
import type { ClientError } from "./ClientError.ts"
import { type CallOptions, GatewayClient, type PageOptions, type RangeOptions } from "./GatewayClient.ts"
import {
  BadGateway,
  Forbidden,
  InternalServerError,
  NotFound,
  PayloadTooLarge,
  ServiceUnavailable,
  TooManyRequests,
  Unauthorized
} from "./GatewayError.ts"
import { idempotencyHeaders } from "./Idempotency.ts"
import { FileId, Page, Timestamp, WorkspaceScope } from "./Identifiers.ts"
import { call } from "./internal/call.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import { download } from "./internal/download.ts"
import { storageErrors } from "./internal/errorSets.ts"
import { fileForm } from "./internal/form.ts"
import * as Operation from "./Operation.ts"

/**
 * The provider that stores a file outside the service's own storage. The caller's own key for that
 * provider is used.
 *
 * Specification: DELETE `/files/{file_id}`, `provider`.
 *
 * @since 0.1.0
 */
export const FileProvider = Schema.Literals(["provider_a", "provider_b"])

/** @since 0.1.0 */
export type FileProvider = typeof FileProvider.Type

/**
 * The three shapes that a deletion confirmation can have.
 *
 * @since 0.1.0
 */
export const DeletionShape = Schema.Literals(["native", "compat_a", "compat_b"])

/** @since 0.1.0 */
export type DeletionShape = typeof DeletionShape.Type

/**
 * The confirmation that a file was deleted. `_shape` tells the three shapes apart.
 *
 * @since 0.1.0
 */
export const Deletion = Schema.Union([
  Schema.Struct({ _shape: Schema.Literal("native"), id: Schema.String, type: Schema.Literal("file_deleted") }),
  Schema.Struct({
    _shape: Schema.Literal("compat_a"),
    id: Schema.String,
    object: Schema.Literal("file"),
    deleted: Schema.Literal(true)
  }),
  Schema.Struct({ _shape: Schema.Literal("compat_b"), id: Schema.String, type: Schema.Literal("file_deleted") })
])

/** @since 0.1.0 */
export type Deletion = typeof Deletion.Type

/**
 * A stored file.
 *
 * @since 0.1.0
 */
export const File = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("file"),
  filename: Schema.String,
  /** Size in bytes. */
  bytes: Schema.Int,
  mime_type: Schema.String,
  purpose: Schema.String,
  created_at: Timestamp,
  workspace_id: Schema.String
})

/** @since 0.1.0 */
export type File = { [Field in keyof typeof File.Type]: (typeof File.Type)[Field] }

const pageFields = {
  has_more: Schema.Boolean,
  first_id: Schema.NullOr(Schema.String),
  last_id: Schema.NullOr(Schema.String)
}

/**
 * A page of files, newest first.
 *
 * @since 0.1.0
 */
export const FileList = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(File),
  ...pageFields
})

/** @since 0.1.0 */
export type FileList = { [Field in keyof typeof FileList.Type]: (typeof FileList.Type)[Field] }

/**
 * A file at a provider, in the shape `compat_a`: that of OpenAI's files.
 *
 * @since 0.1.0
 */
export const CompatAFile = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("file"),
  filename: Schema.String,
  /** Size in bytes. */
  bytes: Schema.Int,
  purpose: Schema.String,
  /** Seconds since 1970. */
  created_at: Schema.Int,
  /** Seconds since 1970. */
  expires_at: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  status: Schema.optionalKey(Schema.NullOr(Schema.String)),
  status_details: Schema.optionalKey(Schema.NullOr(Schema.String))
})

/** @since 0.1.0 */
export type CompatAFile = { [Field in keyof typeof CompatAFile.Type]: (typeof CompatAFile.Type)[Field] }

/**
 * A page of files at a provider, in the shape `compat_a`.
 *
 * @since 0.1.0
 */
export const CompatAFileList = Schema.Struct({
  ...pageFields,
  object: Schema.Literal("list"),
  data: Schema.Array(CompatAFile)
})

/** @since 0.1.0 */
export type CompatAFileList = { [Field in keyof typeof CompatAFileList.Type]: (typeof CompatAFileList.Type)[Field] }

/**
 * A file at a provider, in the shape `compat_b`: that of Anthropic's files.
 *
 * @since 0.1.0
 */
export const CompatBFile = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("file"),
  filename: Schema.String,
  mime_type: Schema.String,
  /** Size in bytes. */
  size_bytes: Schema.Int,
  /** A time in RFC 3339. */
  created_at: Schema.String,
  /** A time in RFC 3339. */
  expires_at: Schema.optionalKey(Schema.NullOr(Schema.String)),
  /** Whether its content can be read. */
  downloadable: Schema.optionalKey(Schema.Boolean)
})

/** @since 0.1.0 */
export type CompatBFile = { [Field in keyof typeof CompatBFile.Type]: (typeof CompatBFile.Type)[Field] }

/**
 * A page of files at a provider, in the shape `compat_b`.
 *
 * @since 0.1.0
 */
export const CompatBFileList = Schema.Struct({ ...pageFields, data: Schema.Array(CompatBFile) })

/** @since 0.1.0 */
export type CompatBFileList = { [Field in keyof typeof CompatBFileList.Type]: (typeof CompatBFileList.Type)[Field] }

/**
 * The fields of an upload, sent as `multipart/form-data`.
 *
 * @since 0.1.0
 */
export const Form = Schema.Struct({
  file: SingleFileSchema,
  /** Free text that says what the file is for. 1 to 64 characters. */
  purpose: Schema.String.check(Schema.isMinLength(1), isMaxCharacters(64))
})

/** @since 0.1.0 */
export type Form = { [Field in keyof typeof Form.Type]: (typeof Form.Type)[Field] }

/**
 * The workspace that a call applies to. Default: the workspace of the client's configuration, or
 * else the key's default workspace.
 *
 * @since 0.1.0
 */
export interface Scope {
  readonly workspace_id?: string | undefined
}

/**
 * A file to upload. A Blob is streamed, never read into memory as a whole.
 *
 * @since 0.1.0
 */
export interface Upload extends Scope {
  readonly file: Blob | Uint8Array
  /** Default: the name of the File, or `file` if it has none. */
  readonly filename?: string | undefined
  /** Free text that says what the file is for. 1 to 64 characters. */
  readonly purpose: string
}

const file = { file_id: FileId }

/** With `provider`: the files of the caller's own account there. */
const scope = { ...WorkspaceScope, provider: Schema.optionalKey(FileProvider) }

const errors = [...storageErrors, BadGateway] as const

/** The shape of a response follows `provider` and `Accept`, as that of a deletion does. */
const AnyFile = Schema.Union([File, CompatAFile, CompatBFile])
const AnyFileList = Schema.Union([FileList, CompatAFileList, CompatBFileList])

/**
 * DELETE `/files/{file_id}`: 200, or one of 401 403 404 429 500 502 503. A malformed parameter is a
 * 404, because the specification lists no 400 for this operation.
 *
 * @since 0.1.0
 */
export const deleteFile = Operation.make("deleteFile", "DELETE", "/files/:file_id", {
  access: "any key",
  success: Deletion,
  error: [Unauthorized, Forbidden, NotFound, TooManyRequests, InternalServerError, BadGateway, ServiceUnavailable]
})

/**
 * The request of {@link deleteFile}.
 *
 * @since 0.1.0
 */
export const deleteFileEndpoint = Operation.endpoint(deleteFile, () => ({
  params: file,
  query: scope
}))

/**
 * POST `/files`: 200, or one of 400 401 403 404 413 429 500 502 503. Supports `Idempotency-Key`: a
 * repeated request returns the same file. With `provider` and the header: 400, because the provider
 * cannot tell whether it has stored the file.
 *
 * @since 0.1.0
 */
export const uploadFile = Operation.make("uploadFile", "POST", "/files", {
  access: "any key",
  idempotency: "by key",
  bodyLimit: { form: "files" },
  success: File,
  error: [...errors, PayloadTooLarge]
})

/**
 * The request of {@link uploadFile}.
 *
 * @since 0.1.0
 */
export const uploadFileEndpoint = Operation.endpoint(uploadFile, () => ({
  success: AnyFile,
  headers: idempotencyHeaders,
  query: scope,
  payload: Form.pipe(HttpApiSchema.asMultipart())
}))

/**
 * GET `/files`: 200, or one of 400 401 403 404 429 500 502 503.
 *
 * @since 0.1.0
 */
export const listFiles = Operation.make("listFiles", "GET", "/files", {
  access: "any key",
  success: FileList,
  error: errors
})

/**
 * The request of {@link listFiles}.
 *
 * @since 0.1.0
 */
export const listFilesEndpoint = Operation.endpoint(listFiles, () => ({
  success: AnyFileList,
  query: { ...scope, ...Page }
}))

/**
 * GET `/files/{file_id}`: 200, or one of 400 401 403 404 429 500 502 503.
 *
 * @since 0.1.0
 */
export const getFile = Operation.make("getFile", "GET", "/files/:file_id", {
  access: "any key",
  success: File,
  error: errors
})

/**
 * The request of {@link getFile}.
 *
 * @since 0.1.0
 */
export const getFileEndpoint = Operation.endpoint(getFile, () => ({ success: AnyFile, params: file, query: scope }))

/**
 * GET `/files/{file_id}/content`: the whole file (200), the requested range (206), or one of
 * 400 401 403 404 429 500 502 503.
 *
 * @since 0.1.0
 */
export const fileContent = Operation.make("fileContent", "GET", "/files/:file_id/content", {
  access: "any key",
  success: Schema.Void,
  error: errors
})

/**
 * The request of {@link fileContent}.
 *
 * @since 0.1.0
 */
export const fileContentEndpoint = Operation.endpoint(fileContent, () => ({
  success: HttpApiSchema.StreamUint8Array(),
  params: file,
  query: scope
}))

/**
 * The errors of {@link remove}.
 *
 * @since 0.1.0
 */
export type DeleteFailure = Operation.ErrorOf<typeof deleteFile> | ClientError

/**
 * The errors of {@link upload}.
 *
 * @since 0.1.0
 */
export type UploadFailure = Operation.ErrorOf<typeof uploadFile> | ClientError

/**
 * The errors of {@link list}, {@link get} and {@link content}.
 *
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof getFile> | ClientError

/** The workspace of a call. */
const workspace = (options: Scope | undefined): Effect.Effect<string | undefined, never, GatewayClient> =>
  Effect.map(GatewayClient, (client) => options?.workspace_id ?? client.workspaceId)

/**
 * Deletes a file permanently. `shape` selects one of the three confirmation shapes. Deleting a
 * deleted file fails with {@link NotFound}. This can also happen when the response to the first
 * attempt was lost and the client retried.
 *
 * @since 0.1.0
 */
export const remove = (
  fileId: string,
  options?: Scope & { readonly provider?: FileProvider | undefined; readonly shape?: DeletionShape | undefined }
): Effect.Effect<Deletion, DeleteFailure, GatewayClient> =>
  Effect.flatMap(workspace(options), (workspace_id) =>
    call(deleteFile, {
      params: { file_id: fileId },
      query: { workspace_id, provider: options?.provider },
      headers: { accept: options?.shape === undefined ? undefined : `application/json; shape=${options.shape}` }
    })
  )

/**
 * Stores a file. A call with the same idempotency key and the same file and fields returns the file
 * that the first one stored.
 *
 * @since 0.1.0
 */
export const upload = (request: Upload, options?: CallOptions): Effect.Effect<File, UploadFailure, GatewayClient> =>
  Effect.flatMap(workspace(request), (workspace_id) =>
    call(uploadFile, { ...options, query: { workspace_id }, form: fileForm(request) })
  )

/**
 * Lists files, newest first.
 *
 * @since 0.1.0
 */
export const list = (options?: Scope & PageOptions): Effect.Effect<FileList, Failure, GatewayClient> =>
  Effect.flatMap(workspace(options), (workspace_id) => call(listFiles, { query: { ...options, workspace_id } }))

/**
 * Returns a file without its content.
 *
 * @since 0.1.0
 */
export const get = (fileId: string, options?: Scope): Effect.Effect<File, Failure, GatewayClient> =>
  Effect.flatMap(workspace(options), (workspace_id) =>
    call(getFile, { params: { file_id: fileId }, query: { workspace_id } })
  )

/**
 * Streams a file's bytes. With `provider`, always the whole file.
 *
 * Like `Video.content`, it continues after an interruption. A file of a provider cannot be
 * continued: the stream then fails.
 *
 * @since 0.1.0
 */
export const content = (
  fileId: string,
  options?: Scope & RangeOptions & { readonly provider?: FileProvider | undefined }
): Stream.Stream<Uint8Array, Failure, GatewayClient> =>
  Stream.unwrap(
    Effect.map(workspace(options), (workspace_id) =>
      download(
        fileContent,
        { params: { file_id: fileId }, query: { workspace_id, provider: options?.provider } },
        options?.range
      )
    )
  )
