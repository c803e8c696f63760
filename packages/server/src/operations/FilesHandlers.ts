/**
 * DELETE `/files/{file_id}`, and storing, listing and reading files.
 *
 * Specification: "1. DELETE `/files/{file_id}`", "File deletion confirmation".
 */
import { type File, type FileProvider } from "@model-gateway/core/Files"
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { Forbidden, NotFound, phrases } from "@model-gateway/core/GatewayError"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { currentCaller, limitedTo } from "../access/Caller.ts"
import * as BodyLimit from "../http/BodyLimit.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as Paging from "../http/Paging.ts"
import * as Timestamp from "../http/Timestamp.ts"
import { type Workspace, WorkspaceStore } from "../access/WorkspaceStore.ts"
import * as ContentResponse from "./ContentResponse.ts"
import * as DeletionShape from "./DeletionShape.ts"
import { type FileRecord, FileStore } from "../objects/FileStore.ts"
import { handle } from "./Handler.ts"
import { contentLost, storeUnavailable } from "./ObjectFailures.ts"
import { keyOf, ObjectStore } from "../objects/ObjectStore.ts"
import * as ProviderFiles from "./ProviderFiles.ts"
import * as Upload from "./Upload.ts"

/** The file in its wire format. */
export const toWire = (file: FileRecord): File => ({
  id: file.id,
  object: "file",
  filename: file.filename,
  bytes: file.bytes,
  mime_type: file.contentType,
  purpose: file.purpose,
  created_at: Timestamp.fromMillis(file.createdAt),
  workspace_id: file.workspaceId
})

const noSuchFile = (id: string) => new NotFound({ error: { message: `${phrases[404]}: there is no file ${id}` } })

/** The services that the operations need, looked up once. */
const make = Effect.gen(function* () {
  const files = yield* FileStore
  const objects = yield* ObjectStore
  const workspaces = yield* WorkspaceStore
  const removeAt = yield* ProviderFiles.make

  /** The workspace of the request. Fails with a 403 if the caller is not a member of it. */
  const scopeOf = Effect.fnUntraced(function* (workspaceId: string | undefined) {
    const { key } = yield* currentCaller
    return yield* orUnavailable(workspaces.resolve(key, workspaceId)).pipe(
      Effect.catchTag("NotAMember", (refusal) =>
        Effect.fail(new Forbidden({ error: { message: `${phrases[403]}: ${refusal.message}` } }))
      )
    )
  })

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
    function* (request: HttpServerRequest.HttpServerRequest, workspace: Workspace) {
      const { ephemeral, key } = yield* currentCaller
      const id = yield* files.nextId
      return yield* Upload.receive(
        request,
        { key: keyOf("files", id), maxBytes: yield* BodyLimit.ofRequest },
        ({ bytes, contentType, filename, key: objectKey, purpose, sha256 }) =>
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
          )
      ).pipe(Effect.provideService(ObjectStore, objects))
    },
    Effect.catchTag("ObjectStoreError", storeUnavailable)
  )

  const list = Effect.fnUntraced(function* (workspace: Workspace, cursor: Paging.Cursor) {
    const page = yield* Paging.known(orUnavailable(files.list(yield* visible(workspace.id), cursor)))
    const data = page.items.map(toWire)
    return {
      object: "list" as const,
      data,
      has_more: page.hasMore,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null
    }
  })

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
          Effect.logWarning("The object of a deleted file could not be removed. The sweep will retry.", error.message)
        )
      )
    return confirm(request, file.id, workspace)
  })

  const confirm = (
    request: HttpServerRequest.HttpServerRequest,
    id: string,
    { fileShape }: Workspace,
    provider?: FileProvider
  ) =>
    DeletionShape.confirm(
      DeletionShape.negotiate({ accept: request.headers["accept"], provider, workspace: fileShape }),
      id
    )

  const removeFrom = Effect.fnUntraced(function* (
    provider: FileProvider,
    request: HttpServerRequest.HttpServerRequest,
    id: string,
    workspace: Workspace
  ) {
    yield* removeAt(provider, id, workspace.id)
    return confirm(request, id, workspace, provider)
  })

  return { scopeOf, find, upload, list, content, remove, removeFrom }
})

/** The `files` group of the contract. */
export const layer = HttpApiBuilder.group(GatewayApi, "files", (handlers) =>
  Effect.map(make, ({ content, find, list, remove, removeFrom, scopeOf, upload }) =>
    handlers
      .handle("deleteFile", ({ params: { file_id }, query: { provider, workspace_id }, request }) =>
        provider === undefined
          ? handle(find(file_id, workspace_id), ({ workspace }) => remove(request, file_id, workspace))
          : handle(scopeOf(workspace_id), (workspace) => removeFrom(provider, request, file_id, workspace))
      )
      .handleRaw("uploadFile", ({ query, request }) =>
        handle(scopeOf(query.workspace_id), (workspace) => Effect.map(upload(request, workspace), toWire))
      )
      .handle("listFiles", ({ query }) => handle(scopeOf(query.workspace_id), (workspace) => list(workspace, query)))
      .handle("getFile", ({ params, query }) =>
        handle(find(params.file_id, query.workspace_id), ({ file }) => Effect.succeed(toWire(file)))
      )
      .handle("getFileContent", ({ params, query, request }) =>
        handle(find(params.file_id, query.workspace_id), ({ file }) => content(request, file))
      )
  )
)
