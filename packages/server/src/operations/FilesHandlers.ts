/**
 * Storing, listing, reading and deleting files.
 *
 * Specification: "DELETE /files/{file_id}", "File deletion confirmation".
 */
import type { FileProvider, Order } from "@model-gateway/core/Files"
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { NotFound, phrases } from "@model-gateway/core/GatewayError"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql/SqlClient"
import { currentCaller, limitedTo } from "../access/Caller.ts"
import { Idempotency } from "../admission/Idempotency.ts"
import * as IdempotentRequest from "../admission/IdempotentRequest.ts"
import * as BodyLimit from "../http/BodyLimit.ts"
import * as RequestServices from "../http/RequestServices.ts"
import { orUnavailable } from "../http/Failures.ts"
import { invalid } from "../internal/Issues.ts"
import * as Paging from "../http/Paging.ts"
import type { Workspace } from "../access/WorkspaceStore.ts"
import * as CallerWorkspace from "../access/CallerWorkspace.ts"
import * as ContentResponse from "../http/ContentResponse.ts"
import * as DeletionShape from "../dialect/DeletionShape.ts"
import * as FileShape from "../dialect/FileShape.ts"
import { type FileRecord, FileStore } from "../objects/FileStore.ts"
import { contentLost, storeUnavailable } from "../http/ObjectFailures.ts"
import { keyOf, ObjectStore } from "../objects/ObjectStore.ts"
import * as ProviderFiles from "../routing/ProviderFiles.ts"
import * as Upload from "../http/Upload.ts"
import * as LogEvent from "../log/LogEvent.ts"

const noSuchFile = (id: string) => new NotFound({ error: { message: `${phrases[404]}: there is no file ${id}` } })

const noKeyAtProvider = invalid(
  [{ path: "idempotency-key", message: "Cannot be used with provider" }],
  "Idempotency-Key cannot be used with provider, because the provider does not tell whether it has stored the file"
)

/** The page of a list of files. */
interface FileCursor extends Paging.Cursor {
  readonly order?: Order
}

/** `cursor`, `after_id` and `after` are three names of one parameter. */
const cursorOf = ({
  after_id,
  before_id,
  cursor,
  purpose,
  ...page
}: FileCursor & {
  readonly after_id?: string
  readonly before_id?: string
  readonly cursor?: string
  readonly purpose?: string
}) => {
  const issues = Object.entries({ before_id, purpose }).flatMap(([path, value]) =>
    value === undefined ? [] : [{ path, message: "This parameter is not supported" }]
  )
  const after = cursor ?? after_id ?? page.after
  return issues.length > 0
    ? Effect.fail(invalid(issues))
    : Effect.succeed<FileCursor>({ ...page, ...(after === undefined ? {} : { after }) })
}

/** The services that the operations need, looked up once. */
const make = Effect.gen(function* () {
  const services = { idempotency: yield* Idempotency, sql: yield* SqlClient }
  const files = yield* FileStore
  const objects = yield* ObjectStore
  const scopeOf = yield* CallerWorkspace.make
  const atProvider = yield* ProviderFiles.make

  /** The files of the workspace that the caller may see. */
  const visible = (workspaceId: string) =>
    Effect.map(currentCaller, (caller) => ({ workspaceId, ephemeralHash: limitedTo(caller) }))

  /** A file that the caller may see, and its workspace. */
  const find = Effect.fnUntraced(function* (id: string, workspaceId: string | undefined) {
    const workspace = yield* scopeOf(workspaceId)
    const file = yield* orUnavailable(files.get(yield* visible(workspace.id), id)).pipe(
      Effect.catchTag("FileNotFound", () => Effect.fail(noSuchFile(id)))
    )
    return { file, workspace }
  })

  const upload = Effect.fnUntraced(
    function* (request: HttpServerRequest.HttpServerRequest, workspace: Workspace, idempotencyKey: string | undefined) {
      const { ephemeral, key } = yield* currentCaller
      const id = yield* files.nextId
      return yield* Upload.receive(
        request,
        { key: keyOf("files", id), maxBytes: yield* BodyLimit.ofRequest },
        ({ bytes, contentType, filename, key: objectKey, purpose, sha256 }, keep) =>
          IdempotentRequest.onceInTransaction(
            services,
            {
              operation: "uploadFile",
              idempotencyKey,
              payload: Effect.succeed([workspace.id, purpose, filename, contentType, sha256]),
              encode: (file) => JSON.stringify(shaped(request, workspace)(FileShape.ofRecord(file)))
            },
            orUnavailable(
              files.create({
                id,
                workspaceId: workspace.id,
                keyHash: key.hash,
                ephemeralHash: ephemeral?.hash ?? null,
                filename,
                purpose,
                contentType,
                bytes,
                sha256,
                objectKey
              })
            ).pipe(Effect.tap(() => keep))
          )
      ).pipe(Effect.provideService(ObjectStore, objects))
    },
    Effect.catchTag("ObjectStoreError", storeUnavailable)
  )

  const list = Effect.fnUntraced(function* (
    request: HttpServerRequest.HttpServerRequest,
    workspace: Workspace,
    cursor: FileCursor
  ) {
    const { hasMore, items } = yield* Paging.rejectUnknownCursor(
      orUnavailable(files.list(yield* visible(workspace.id), cursor))
    )
    const page = {
      data: items.map(FileShape.ofRecord),
      has_more: hasMore,
      first_id: items[0]?.id ?? null,
      last_id: items.at(-1)?.id ?? null
    }
    return FileShape.list(shapeOf(request, workspace), page, workspace.id)
  })

  const getOwn = (request: HttpServerRequest.HttpServerRequest, file: FileRecord, workspace: Workspace) =>
    Effect.sync(() => shaped(request, workspace)(FileShape.ofRecord(file)))

  const content = (request: HttpServerRequest.HttpServerRequest, file: FileRecord) =>
    ContentResponse.make(objects, request, { ...file, disposition: "attachment" }).pipe(
      Effect.catchTags({
        ObjectNotFound: () => contentLost(file.objectKey),
        ObjectStoreError: storeUnavailable
      })
    )

  const remove = Effect.fnUntraced(function* (
    request: HttpServerRequest.HttpServerRequest,
    id: string,
    workspace: Workspace
  ) {
    const file = yield* orUnavailable(files.remove(yield* visible(workspace.id), id)).pipe(
      Effect.catchTag("FileNotFound", () => Effect.fail(noSuchFile(id)))
    )
    // Without its record, the file no longer exists. If removing the object fails, the sweep
    // removes it later.
    yield* objects
      .remove(file.objectKey)
      .pipe(
        Effect.catch((error) =>
          LogEvent.log(
            "object_not_removed",
            `The object of a deleted file could not be removed. The sweep will retry: ${error.message}`
          )
        )
      )
    return confirm(request, file.id, workspace)
  })

  const shapeOf = (request: HttpServerRequest.HttpServerRequest, { fileShape }: Workspace, provider?: FileProvider) =>
    DeletionShape.negotiate({ accept: request.headers["accept"], provider, workspace: fileShape })

  const confirm = (
    request: HttpServerRequest.HttpServerRequest,
    id: string,
    workspace: Workspace,
    provider?: FileProvider
  ) => DeletionShape.confirm(shapeOf(request, workspace, provider), id)

  /** A file in the shape that the request asks for. */
  const shaped =
    (request: HttpServerRequest.HttpServerRequest, workspace: Workspace, provider?: FileProvider) =>
    (file: FileShape.Source) =>
      FileShape.file(shapeOf(request, workspace, provider), file, workspace.id)

  const removeFrom = Effect.fnUntraced(function* (
    provider: FileProvider,
    request: HttpServerRequest.HttpServerRequest,
    id: string,
    workspace: Workspace
  ) {
    yield* atProvider.remove(provider, id, workspace.id)
    return confirm(request, id, workspace, provider)
  })

  const uploadTo = (provider: FileProvider, request: HttpServerRequest.HttpServerRequest, workspace: Workspace) =>
    Effect.map(atProvider.upload(provider, request, workspace.id), shaped(request, workspace, provider))

  const listAt = (
    provider: FileProvider,
    request: HttpServerRequest.HttpServerRequest,
    workspace: Workspace,
    cursor: FileCursor
  ) =>
    Effect.map(atProvider.list(provider, cursor, workspace.id), (list) =>
      FileShape.list(shapeOf(request, workspace, provider), list, workspace.id)
    )

  const getAt = (
    provider: FileProvider,
    request: HttpServerRequest.HttpServerRequest,
    id: string,
    workspace: Workspace
  ) => Effect.map(atProvider.get(provider, id, workspace.id), shaped(request, workspace, provider))

  const contentAt = (
    provider: FileProvider,
    request: HttpServerRequest.HttpServerRequest,
    id: string,
    workspace: Workspace
  ) =>
    Effect.map(atProvider.content(provider, id, workspace.id), (content) =>
      ContentResponse.ofProvider(request, content, id)
    )

  return { scopeOf, find, upload, list, getOwn, content, remove, uploadTo, listAt, getAt, contentAt, removeFrom }
})

/** The `files` group of the contract. */
export const layer = RequestServices.group(make, (files) =>
  HttpApiBuilder.group(GatewayApi, "files", (handlers) =>
    handlers
      .handle("deleteFile", ({ params: { file_id }, query: { provider, workspace_id }, request }) =>
        provider === undefined
          ? Effect.flatMap(files.find(file_id, workspace_id), ({ workspace }) =>
              files.remove(request, file_id, workspace)
            )
          : Effect.flatMap(files.scopeOf(workspace_id), (workspace) =>
              files.removeFrom(provider, request, file_id, workspace)
            )
      )
      .handleRaw("uploadFile", ({ headers, query: { provider, workspace_id }, request }) =>
        provider === undefined
          ? Effect.flatMap(files.scopeOf(workspace_id), (workspace) =>
              files.upload(request, workspace, headers["idempotency-key"])
            )
          : headers["idempotency-key"] === undefined
            ? Effect.flatMap(files.scopeOf(workspace_id), (workspace) => files.uploadTo(provider, request, workspace))
            : Effect.fail(noKeyAtProvider)
      )
      .handle("listFiles", ({ query: { provider, workspace_id, ...query }, request }) =>
        Effect.flatMap(cursorOf(query), (cursor) =>
          Effect.flatMap(files.scopeOf(workspace_id), (workspace) =>
            provider === undefined
              ? files.list(request, workspace, cursor)
              : files.listAt(provider, request, workspace, cursor)
          )
        )
      )
      .handle("getFile", ({ params: { file_id }, query: { provider, workspace_id }, request }) =>
        provider === undefined
          ? Effect.flatMap(files.find(file_id, workspace_id), ({ file, workspace }) =>
              files.getOwn(request, file, workspace)
            )
          : Effect.flatMap(files.scopeOf(workspace_id), (workspace) =>
              files.getAt(provider, request, file_id, workspace)
            )
      )
      .handle("fileContent", ({ params: { file_id }, query: { provider, workspace_id }, request }) =>
        provider === undefined
          ? Effect.flatMap(files.find(file_id, workspace_id), ({ file }) => files.content(request, file))
          : Effect.flatMap(files.scopeOf(workspace_id), (workspace) =>
              files.contentAt(provider, request, file_id, workspace)
            )
      )
  )
)
