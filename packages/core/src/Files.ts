/**
 * Files: stores, lists, reads and deletes them. `ProviderFiles` has the calls for files that a
 * provider stores.
 *
 * Specification: "DELETE /files/{file_id}", "File deletion confirmation".
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { SingleFileSchema } from "effect/http/Multipart"
import * as Stream from "effect/Stream"
import type { ClientError } from "./ClientError.ts"
import type { CallOptions, GatewayClient, PageOptions, RangeOptions } from "./GatewayClient.ts"
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
import {
  CompatADeletion,
  CompatAFile,
  CompatAFileList,
  CompatBDeletion,
  CompatBFile,
  CompatBFileList,
  NativeDeletion,
  pageFields
} from "./dialect/FileShapes.ts"
import { idempotencyHeaders } from "./internal/idempotencyHeaders.ts"
import { FileId, Page, Timestamp, WorkspaceScope } from "./Identifiers.ts"
import { call, workspaceOf } from "./internal/call.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import { download } from "./internal/download.ts"
import { rateLimitedErrors } from "./internal/errorSets.ts"
import { fileForm } from "./internal/form.ts"
import * as Operation from "./Operation.ts"

/**
 * The provider that stores a file outside the service's own storage. The caller's provider key for
 * that provider is used.
 *
 * Specification: "DELETE /files/{file_id}".
 *
 * @category schemas
 * @since 0.1.0
 */
export const FileProvider = Schema.Literals(["provider_a", "provider_b"])

/**
 * @category models
 * @since 0.1.0
 */
export type FileProvider = typeof FileProvider.Type

/**
 * Free text that says what a file is for. 1 to 64 characters.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Purpose = Schema.String.check(Schema.isMinLength(1), isMaxCharacters(64))

/**
 * The shapes that the responses about files can have. The `shape` parameter of the header `Accept`
 * selects one, such as `application/json; shape=compat_a`; else `provider` does (`provider_a`
 * answers in `compat_a`, `provider_b` in `compat_b`); else the workspace's `file_shape`.
 *
 * Specification: "File deletion confirmation".
 *
 * @category schemas
 * @since 0.1.0
 */
export const DeletionShape = Schema.Literals(["native", "compat_a", "compat_b"])

/**
 * @category models
 * @since 0.1.0
 */
export type DeletionShape = typeof DeletionShape.Type

/**
 * The confirmation that a file was deleted. `_shape` tells the three shapes apart.
 *
 * Specification: "File deletion confirmation".
 *
 * @category schemas
 * @since 0.1.0
 */
export const Deletion = Schema.Union([NativeDeletion, CompatADeletion, CompatBDeletion])

/**
 * @category models
 * @since 0.1.0
 */
export type Deletion = typeof Deletion.Type

/**
 * A stored file, in the service's own shape.
 *
 * @category schemas
 * @since 0.1.0
 */
export const File = Schema.Struct({
  /** Tells the three shapes apart. */
  _shape: Schema.Literal("native"),
  /** The file's identifier: 1 to 256 letters, digits, underscores or hyphens. */
  id: Schema.String,
  /** Always `file`. */
  type: Schema.Literal("file"),
  /** The name that the file was uploaded with, at most 255 characters. For display only. */
  filename: Schema.String,
  /** The media type that the file was uploaded with, such as `audio/wav`. */
  mime_type: Schema.String,
  /** Size in bytes. */
  size_bytes: Schema.Int,
  /** When the file was stored: ISO 8601 in UTC. */
  created_at: Timestamp,
  /** Whether the file's content can be read. Always true for files that the gateway stores. */
  downloadable: Schema.Boolean,
  /** What the file is for. `user_data` if the upload did not say it. Other services may omit it. */
  purpose: Schema.optionalKey(Schema.String),
  /** The workspace that the file belongs to: a UUID. Other services may omit it. */
  workspace_id: Schema.optionalKey(Schema.String)
})

/**
 * @category models
 * @since 0.1.0
 */
export type File = { [Field in keyof typeof File.Type]: (typeof File.Type)[Field] }

/**
 * A page of files, in the service's own shape.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FileList = Schema.Struct({
  /** Tells the three shapes apart. */
  _shape: Schema.Literal("native"),
  /** The files, newest first unless `order` says otherwise. */
  data: Schema.Array(File),
  ...pageFields,
  /** The `after` of the next page. Null if no file follows. */
  cursor: Schema.NullOr(Schema.String)
})

/**
 * @category models
 * @since 0.1.0
 */
export type FileList = { [Field in keyof typeof FileList.Type]: (typeof FileList.Type)[Field] }

/**
 * The fields of an upload, sent as `multipart/form-data`, in any order. Other fields are ignored,
 * except `expires_after`, which is refused: files do not expire.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Form = Schema.Struct({
  /** The file, at least 1 byte. Its part names the file and its media type. */
  file: SingleFileSchema,
  /** Free text that says what the file is for. 1 to 64 characters. Default: `user_data`. */
  purpose: Schema.optionalKey(Purpose)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Form = { [Field in keyof typeof Form.Type]: (typeof Form.Type)[Field] }

/**
 * The workspace that a call applies to. Default: the workspace of the client's configuration, or
 * else the key's default workspace.
 *
 * @category models
 * @since 0.1.0
 */
export interface Scope {
  readonly workspace_id?: string | undefined
}

/**
 * A file to upload. A Blob is streamed, never read into memory as a whole.
 *
 * @category models
 * @since 0.1.0
 */
export interface Upload extends Scope {
  readonly file: Blob | Uint8Array
  /** Default: the name of the File, or `file` if it has none. */
  readonly filename?: string | undefined
  /** Free text that says what the file is for. 1 to 64 characters. Default: `user_data`. */
  readonly purpose?: string | undefined
}

/**
 * Options of {@link listFiles}.
 *
 * @category options
 * @since 0.1.0
 */
export interface ListOptions extends Scope, PageOptions {
  /** `desc`: newest first; `asc`: oldest first. Default: `desc`. */
  readonly order?: Order | undefined
}

/**
 * The order of a list of files: `asc` is oldest first, `desc` newest first.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Order = Schema.Literals(["asc", "desc"])

/**
 * @category models
 * @since 0.1.0
 */
export type Order = typeof Order.Type

/**
 * The parameter of the path that names a file.
 *
 * @category constants
 * @since 0.1.0
 */
export const FilePath = {
  /** The file's identifier: 1 to 256 letters, digits, underscores or hyphens. */
  file_id: FileId
}

/**
 * The query parameters that select whose files an operation is about.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FileScope = {
  ...WorkspaceScope,
  /**
   * The files of the caller's own account at this provider. Default: the files that the gateway
   * stores.
   */
  provider: Schema.optionalKey(FileProvider)
}

/**
 * The query parameters of a list of files. `cursor`, `after_id` and `after` are three names of one
 * parameter. The first of them that is present counts.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FileListQuery = {
  ...FileScope,
  ...Page,
  /** The same as `after`: the `cursor` of the page before. */
  cursor: Page.after,
  /** The same as `after`. */
  after_id: Page.after,
  /**
   * `asc` is oldest first, `desc` newest first. Default: `desc`. With `provider_b` it is ignored.
   */
  order: Schema.optionalKey(Order),
  /** Not supported: a request that has it gets a 400. */
  before_id: Schema.optionalKey(Schema.String),
  /** Not supported: a request that has it gets a 400. */
  purpose: Schema.optionalKey(Schema.String)
}

const errors = [...rateLimitedErrors, BadGateway] as const

/**
 * A file in one of the three shapes, which `_shape` tells apart.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AnyFile = Schema.Union([File, CompatAFile, CompatBFile])

/**
 * @category models
 * @since 0.1.0
 */
export type AnyFile = typeof AnyFile.Type

/**
 * A page of files in one of the three shapes, which `_shape` of each file tells apart.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AnyFileList = Schema.Union([FileList, CompatAFileList, CompatBFileList])

/**
 * @category models
 * @since 0.1.0
 */
export type AnyFileList = typeof AnyFileList.Type

const exampleFile = (): typeof File.Encoded => ({
  _shape: "native",
  id: "file_019aa1f4c0de7d1b8a3f5b6c7d8e9f01",
  type: "file",
  filename: "interview.wav",
  mime_type: "audio/wav",
  size_bytes: 1_048_620,
  created_at: "2026-11-20T22:30:00.000Z",
  downloadable: true,
  purpose: "transcription",
  workspace_id: "0197a000-0000-7000-8000-000000000002"
})

const exampleDeletion = (): typeof Deletion.Encoded => ({
  _shape: "native",
  id: exampleFile().id,
  type: "file_deleted"
})

/**
 * @category operations
 * @since 0.1.0
 */
export const deleteFileOperation = Operation.make("deleteFile", "DELETE", "/files/:file_id", {
  access: "any key",
  success: Deletion,
  error: [Unauthorized, Forbidden, NotFound, TooManyRequests, InternalServerError, BadGateway, ServiceUnavailable]
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const deleteFileEndpoint = Operation.endpoint(deleteFileOperation, () => ({
  params: FilePath,
  query: FileScope,
  reference: {
    summary: "Delete a file",
    example: { params: { file_id: exampleFile().id }, response: exampleDeletion() }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const uploadFileOperation = Operation.make("uploadFile", "POST", "/files", {
  access: "any key",
  idempotency: "by key",
  bodyLimit: { form: "files" },
  success: File,
  error: [...errors, PayloadTooLarge]
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const uploadFileEndpoint = Operation.endpoint(uploadFileOperation, () => ({
  success: AnyFile,
  headers: idempotencyHeaders,
  query: FileScope,
  payload: Form.pipe(HttpApiSchema.asMultipart()),
  reference: {
    summary: "Upload a file",
    example: { form: { purpose: "transcription", file: "interview.wav" }, response: exampleFile() }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const listFilesOperation = Operation.make("listFiles", "GET", "/files", {
  access: "any key",
  unknownFields: "refused",
  success: FileList,
  error: errors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listFilesEndpoint = Operation.endpoint(listFilesOperation, () => ({
  success: AnyFileList,
  query: FileListQuery,
  reference: {
    summary: "List files",
    example: {
      query: { limit: "1" },
      response: {
        _shape: "native" as const,
        data: [exampleFile()],
        has_more: true,
        first_id: exampleFile().id,
        last_id: exampleFile().id,
        cursor: exampleFile().id
      }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const getFileOperation = Operation.make("getFile", "GET", "/files/:file_id", {
  access: "any key",
  success: File,
  error: errors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const getFileEndpoint = Operation.endpoint(getFileOperation, () => ({
  success: AnyFile,
  params: FilePath,
  query: FileScope,
  reference: {
    summary: "Get a file's metadata",
    example: { params: { file_id: exampleFile().id }, response: exampleFile() }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const fileContentOperation = Operation.make("fileContent", "GET", "/files/:file_id/content", {
  access: "any key",
  success: Schema.Void,
  error: errors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const fileContentEndpoint = Operation.endpoint(fileContentOperation, () => ({
  success: HttpApiSchema.StreamUint8Array(),
  params: FilePath,
  query: FileScope,
  reference: {
    summary: "Download a file",
    example: { params: { file_id: exampleFile().id } }
  }
}))

/**
 * The errors of {@link deleteFile}.
 *
 * @category errors
 * @since 0.1.0
 */
export type DeleteFailure = Operation.ErrorOf<typeof deleteFileOperation> | ClientError

/**
 * The errors of {@link uploadFile}.
 *
 * @category errors
 * @since 0.1.0
 */
export type UploadFailure = Operation.ErrorOf<typeof uploadFileOperation> | ClientError

/**
 * The errors of {@link listFiles}, {@link getFile} and {@link fileContent}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof getFileOperation> | ClientError

/** Whatever the workspace's `file_shape` is. */
const headers = { accept: "application/json; shape=native" }

/**
 * Deletes a file permanently. A second deletion is a 404. A malformed parameter is a 404 too,
 * because the specification lists no 400 for this operation.
 *
 * @remarks
 * `shape` selects one of the three confirmation shapes. A `NotFound` can also mean that the
 * response to the first attempt was lost and the client retried.
 *
 * @category calls
 * @since 0.1.0
 */
export const deleteFile = (
  fileId: string,
  options?: Scope & { readonly provider?: FileProvider | undefined; readonly shape?: DeletionShape | undefined }
): Effect.Effect<Deletion, DeleteFailure, GatewayClient> =>
  Effect.flatMap(workspaceOf(options), (workspace_id) =>
    call(deleteFileOperation, {
      params: { file_id: fileId },
      query: { workspace_id, provider: options?.provider },
      headers: { accept: options?.shape === undefined ? undefined : `application/json; shape=${options.shape}` }
    })
  )

/**
 * Stores a file. Supports `Idempotency-Key`: a repeated request returns the same file. With
 * `provider` and the header: 400, because the provider cannot tell whether it has stored the file.
 *
 * @remarks
 * A call with the same idempotency key and the same file and fields returns the file that the first
 * one stored.
 *
 * @category calls
 * @since 0.1.0
 */
export const uploadFile = (request: Upload, options?: CallOptions): Effect.Effect<File, UploadFailure, GatewayClient> =>
  Effect.flatMap(workspaceOf(request), (workspace_id) =>
    call(uploadFileOperation, { ...options, query: { workspace_id }, headers, form: fileForm(request) })
  )

/**
 * Lists the files of a workspace by page.
 *
 * @category calls
 * @since 0.1.0
 */
export const listFiles = (options?: ListOptions): Effect.Effect<FileList, Failure, GatewayClient> =>
  Effect.flatMap(workspaceOf(options), (workspace_id) =>
    call(listFilesOperation, { query: { ...options, workspace_id }, headers })
  )

/**
 * Returns a file without its content.
 *
 * @category calls
 * @since 0.1.0
 */
export const getFile = (fileId: string, options?: Scope): Effect.Effect<File, Failure, GatewayClient> =>
  Effect.flatMap(workspaceOf(options), (workspace_id) =>
    call(getFileOperation, { params: { file_id: fileId }, query: { workspace_id }, headers })
  )

/**
 * Downloads a file in its own media type, or as `application/octet-stream` if `Accept` names only
 * that. A `Range` header asks for a part of it, such as `bytes=0-1023`. With `provider` the
 * response is always the whole file.
 *
 * @remarks
 * Continues after an interruption, as `Video.videoContent` does. A file of a provider cannot be
 * continued: the stream then fails.
 *
 * @category calls
 * @since 0.1.0
 */
export const fileContent = (
  fileId: string,
  options?: Scope & RangeOptions & { readonly provider?: FileProvider | undefined }
): Stream.Stream<Uint8Array, Failure, GatewayClient> =>
  Stream.unwrap(
    Effect.map(workspaceOf(options), (workspace_id) =>
      download(
        fileContentOperation,
        { params: { file_id: fileId }, query: { workspace_id, provider: options?.provider } },
        options?.range
      )
    )
  )
