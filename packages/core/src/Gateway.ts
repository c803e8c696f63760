/**
 * The client: every operation of the contract as an Effect. Its errors are exactly the statuses
 * that the operation can return, plus the three client errors: {@link ClientError.TransportError},
 * {@link ClientError.TimeoutError} and {@link ClientError.InvalidResponse}.
 *
 * The client runs over any `HttpClient`. `@model-gateway/node` and `@model-gateway/browser` provide
 * one for their platform.
 *
 * @example
 * ```ts
 * import { Gateway } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const gateway = yield* Gateway.Gateway
 *   return yield* gateway.rerank({ model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] })
 * }).pipe(
 *   Effect.catchTag("PaymentRequired", (error) => Effect.fail(`add credits: ${error.message}`))
 * )
 * ```
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as CurrentKey from "./CurrentKey.ts"
import * as Files from "./Files.ts"
import type { ClientError } from "./ClientError.ts"
import { GatewayConfig } from "./GatewayConfig.ts"
import * as Guardrails from "./Guardrails.ts"
import * as Execute from "./internal/execute.ts"
import * as Form from "./internal/form.ts"
import type { Parts } from "./internal/request.ts"
import * as Keys from "./Keys.ts"
import * as Models from "./Models.ts"
import type { Operation } from "./Operation.ts"
import * as Rerank from "./Rerank.ts"
import { SchemaCompiler } from "./SchemaCompiler.ts"
import * as Transcription from "./Transcription.ts"
import * as Video from "./Video.ts"
import * as Workspaces from "./Workspaces.ts"

/**
 * The errors that a call of an operation can fail with.
 *
 * @since 0.1.0
 */
export type Failure<E extends Operation> = E extends Operation ? E["error"][number]["Type"] | ClientError : never

/**
 * Options of an operation that costs money. A call with the same `idempotencyKey` and the same
 * request returns the first response again and is not charged twice. Default: a new key for every
 * call, shared by its retries.
 *
 * @since 0.1.0
 */
export interface PaidOptions {
  readonly idempotencyKey?: string | undefined
}

/**
 * Selects a page of a list: `limit` items (1 to 1000, default 100) that follow the item `after`.
 *
 * @since 0.1.0
 */
export interface PageOptions {
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

/**
 * Selects the bytes from `start` to `end`, both inclusive and counted from 0. Default for `end`:
 * the last byte.
 *
 * @since 0.1.0
 */
export interface RangeOptions {
  readonly range?: { readonly start: number; readonly end?: number | undefined } | undefined
}

/**
 * The parts of a request for {@link Gateway}'s `call`. The service validates them.
 *
 * @since 0.1.0
 */
export interface Request {
  /** The parameters of the path. */
  readonly params?: { readonly [name: string]: string } | undefined
  readonly query?: { readonly [name: string]: string | number | undefined } | undefined
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as `multipart/form-data`. */
  readonly form?: FormData | undefined
}

/** @since 0.1.0 */
export class Gateway extends Context.Service<
  Gateway,
  {
    /**
     * Deletes a file permanently. `shape` selects one of the three confirmation shapes. Deleting a
     * deleted file fails with {@link NotFound}. This can also happen when the response to the first
     * attempt was lost and the client retried.
     */
    readonly deleteFile: (
      fileId: string,
      options?: Files.Scope & {
        readonly provider?: Files.FileProvider | undefined
        readonly shape?: Files.DeletionShape | undefined
      }
    ) => Effect.Effect<Files.Deletion, Failure<typeof Files.deleteFile>>
    /** Returns the calling key's limits, usage and free requests. */
    readonly currentKey: Effect.Effect<CurrentKey.KeyRecord, Failure<typeof CurrentKey.currentKey>>
    /** Ranks documents by relevance to a query, most relevant first. */
    readonly rerank: (
      request: Rerank.Request,
      options?: PaidOptions
    ) => Effect.Effect<Rerank.Response, Failure<typeof Rerank.rerank>>
    /** Transcribes audio. */
    readonly transcribe: (
      request: Transcription.Input,
      options?: PaidOptions
    ) => Effect.Effect<Transcription.Response, Failure<typeof Transcription.transcribe>>
    /** Submits a video job. Use `VideoProgress` to follow it. */
    readonly submitVideo: (
      request: Video.Request,
      options?: PaidOptions
    ) => Effect.Effect<Video.Job, Failure<typeof Video.submitVideo>>
    /**
     * Assigns keys, named by their hashes, to a guardrail. It replaces the guardrail that a key had
     * before. Management keys only.
     */
    readonly assignKeys: (
      guardrailId: string,
      request: Guardrails.AssignRequest
    ) => Effect.Effect<Guardrails.AssignResponse, Failure<typeof Guardrails.assignKeys>>

    /** Stores a file. Retried only if the failed attempt cannot have stored it. */
    readonly uploadFile: (request: Files.Upload) => Effect.Effect<Files.File, Failure<typeof Files.uploadFile>>
    /** Lists files, newest first. */
    readonly listFiles: (
      options?: Files.Scope & PageOptions
    ) => Effect.Effect<Files.FileList, Failure<typeof Files.listFiles>>
    readonly getFile: (
      fileId: string,
      options?: Files.Scope
    ) => Effect.Effect<Files.File, Failure<typeof Files.getFile>>
    /** Streams a file's bytes. With `provider`, always the whole file. */
    readonly fileContent: (
      fileId: string,
      options?: Files.Scope & RangeOptions & { readonly provider?: Files.FileProvider | undefined }
    ) => Stream.Stream<Uint8Array, Failure<typeof Files.getFileContent>>

    /**
     * Returns a job's current state. With `wait`, the service responds when the status changes or
     * after that many seconds, at most 60.
     */
    readonly getVideo: (
      id: string,
      options?: { readonly wait?: number | undefined }
    ) => Effect.Effect<Video.Job, Failure<typeof Video.getVideo>>
    /** Streams one of a finished job's videos. Default for `index`: 0, the first. */
    readonly videoContent: (
      id: string,
      options?: RangeOptions & { readonly index?: number | undefined }
    ) => Stream.Stream<Uint8Array, Failure<typeof Video.getVideoContent>>
    /** Cancels a job. A job in a final state is returned unchanged. */
    readonly cancelVideo: (id: string) => Effect.Effect<Video.Job, Failure<typeof Video.cancelVideo>>

    readonly listModels: (options?: {
      readonly kind?: Models.ModelKind | undefined
    }) => Effect.Effect<ReadonlyArray<Models.Model>, Failure<typeof Models.listModels>>

    /**
     * Creates a key that lives for at most 15 minutes and spends from the calling key's budget. A
     * server calls this and passes the response to a page, which cannot keep a secret. `expires_in`
     * is in seconds, from 1 to 900 (default: 900). Management keys and ephemeral keys fail with
     * {@link Forbidden}. If the response to an attempt is lost, its key stays unused until it
     * expires.
     */
    readonly createEphemeralKey: (
      request?: Keys.EphemeralRequest
    ) => Effect.Effect<Keys.EphemeralResponse, Failure<typeof Keys.createEphemeralKey>>
    /**
     * Creates a key. Only this response contains its secret text. Management keys only, like all
     * methods below.
     */
    readonly createKey: (
      request: Keys.CreateRequest
    ) => Effect.Effect<Keys.CreateResponse, Failure<typeof Keys.createKey>>
    /** Lists keys, newest first. With `parent_hash`: that key's unexpired ephemeral keys. */
    readonly listKeys: (
      options?: Files.Scope & PageOptions & { readonly parent_hash?: string | undefined }
    ) => Effect.Effect<Keys.ListResponse, Failure<typeof Keys.listKeys>>
    readonly getKey: (hash: string) => Effect.Effect<Keys.Key, Failure<typeof Keys.getKey>>
    readonly updateKey: (
      hash: string,
      request: Keys.UpdateRequest
    ) => Effect.Effect<Keys.Key, Failure<typeof Keys.updateKey>>
    readonly deleteKey: (hash: string) => Effect.Effect<void, Failure<typeof Keys.deleteKey>>

    readonly createGuardrail: (
      request: Guardrails.CreateRequest
    ) => Effect.Effect<Guardrails.Guardrail, Failure<typeof Guardrails.createGuardrail>>
    readonly listGuardrails: (
      options?: PageOptions
    ) => Effect.Effect<Guardrails.ListResponse, Failure<typeof Guardrails.listGuardrails>>
    readonly getGuardrail: (id: string) => Effect.Effect<Guardrails.Guardrail, Failure<typeof Guardrails.getGuardrail>>
    readonly updateGuardrail: (
      id: string,
      request: Guardrails.UpdateRequest
    ) => Effect.Effect<Guardrails.Guardrail, Failure<typeof Guardrails.updateGuardrail>>
    readonly deleteGuardrail: (id: string) => Effect.Effect<void, Failure<typeof Guardrails.deleteGuardrail>>
    readonly unassignKeys: (
      guardrailId: string,
      request: Guardrails.AssignRequest
    ) => Effect.Effect<Guardrails.UnassignResponse, Failure<typeof Guardrails.unassignKeys>>
    readonly listAssignments: (
      guardrailId: string,
      options?: PageOptions
    ) => Effect.Effect<Guardrails.AssignmentList, Failure<typeof Guardrails.listAssignments>>

    readonly getWorkspace: (id: string) => Effect.Effect<Workspaces.Workspace, Failure<typeof Workspaces.getWorkspace>>
    readonly updateWorkspace: (
      id: string,
      request: Workspaces.UpdateRequest
    ) => Effect.Effect<Workspaces.Workspace, Failure<typeof Workspaces.updateWorkspace>>
    readonly addCredits: (
      id: string,
      request: Workspaces.AddCreditsRequest,
      options?: PaidOptions
    ) => Effect.Effect<Workspaces.Workspace, Failure<typeof Workspaces.addCredits>>

    /**
     * Calls an operation that has no method here, so that a page bundles it only if it uses it. The
     * modules of such operations have a function for each of them; see `Byok`.
     */
    readonly call: <E extends Operation>(
      operation: E,
      request: Request
    ) => Effect.Effect<E["success"]["Type"], E["error"][number]["Type"] | ClientError>
  }
>()("@model-gateway/core/Gateway") {}

/**
 * Makes a client from the `HttpClient` and the configuration in the context.
 *
 * @since 0.1.0
 */
export const make: Effect.Effect<Gateway["Service"], never, GatewayConfig | HttpClient.HttpClient> = Effect.gen(
  function* () {
    const config = yield* GatewayConfig
    const { call, open } = Execute.make(yield* HttpClient.HttpClient, config, yield* SchemaCompiler)

    const scope = (options: Files.Scope | undefined) => options?.workspace_id ?? config.workspaceId

    /** A method that calls the operation. `request` makes the request from its arguments. */
    const method = <E extends Operation, Args extends ReadonlyArray<unknown>>(
      operation: E,
      request: (...args: Args) => Parts
    ) => {
      const send = call(operation)
      return (...args: Args) => send(request(...args))
    }

    /** Like {@link method}, but returns only the `data` of the response. */
    const dataOf = <E extends DataOperation, Args extends ReadonlyArray<unknown>>(
      operation: E,
      request: (...args: Args) => Parts
    ) => {
      const send = method(operation, request)
      return (...args: Args) => Effect.map(send(...args), ({ data }): Execute.Success<E>["data"] => data)
    }

    /** Like {@link method}, but returns nothing. */
    const voidOf = <E extends Operation, Args extends ReadonlyArray<unknown>>(
      operation: E,
      request: (...args: Args) => Parts
    ) => {
      const send = method(operation, request)
      return (...args: Args) => Effect.asVoid(send(...args))
    }

    /** Like {@link method}, but returns the bytes of the response. */
    const bytesOf = <E extends Operation, Args extends ReadonlyArray<unknown>>(
      operation: E,
      request: (...args: Args) => Parts
    ) => {
      const send = open(operation)
      return (...args: Args) => Stream.unwrap(send(request(...args)))
    }

    return Gateway.of({
      deleteFile: method(Files.deleteFile, (file_id, options) => ({
        params: { file_id },
        query: { workspace_id: scope(options), provider: options?.provider },
        headers: { accept: options?.shape === undefined ? undefined : `application/json; shape=${options.shape}` }
      })),
      currentKey: dataOf(CurrentKey.currentKey, () => ({}))(),
      rerank: method(Rerank.rerank, (request, options) => ({ json: request, headers: paidHeaders(options) })),
      transcribe: method(Transcription.transcribe, (request, options) => ({
        ...(request.file === undefined ? { json: request } : { form: Form.transcription(request) }),
        headers: paidHeaders(options)
      })),
      submitVideo: method(Video.submitVideo, (request, options) => ({ json: request, headers: paidHeaders(options) })),
      assignKeys: method(Guardrails.assignKeys, (id, request) => ({ params: { id }, json: request })),
      uploadFile: method(Files.uploadFile, (request) => ({
        query: { workspace_id: scope(request) },
        form: Form.upload(request)
      })),
      listFiles: method(Files.listFiles, (options) => ({ query: { ...options, workspace_id: scope(options) } })),
      getFile: method(Files.getFile, (file_id, options) => ({
        params: { file_id },
        query: { workspace_id: scope(options) }
      })),
      fileContent: bytesOf(Files.getFileContent, (file_id, options) => ({
        params: { file_id },
        query: { workspace_id: scope(options), provider: options?.provider },
        headers: rangeHeader(options)
      })),
      getVideo: method(Video.getVideo, (id, options) => ({ params: { id }, query: { wait: options?.wait } })),
      videoContent: bytesOf(Video.getVideoContent, (id, options) => ({
        params: { id },
        query: { index: options?.index },
        headers: rangeHeader(options)
      })),
      cancelVideo: method(Video.cancelVideo, (id) => ({ params: { id } })),
      listModels: dataOf(Models.listModels, (options) => ({ query: { kind: options?.kind } })),
      createEphemeralKey: method(Keys.createEphemeralKey, (request = {}) => ({ json: request })),
      createKey: method(Keys.createKey, (request) => ({ json: request })),
      listKeys: method(Keys.listKeys, (options) => ({ query: { ...options, workspace_id: scope(options) } })),
      getKey: dataOf(Keys.getKey, (hash) => ({ params: { hash } })),
      updateKey: dataOf(Keys.updateKey, (hash, request) => ({ params: { hash }, json: request })),
      deleteKey: voidOf(Keys.deleteKey, (hash) => ({ params: { hash } })),
      createGuardrail: dataOf(Guardrails.createGuardrail, (request) => ({ json: request })),
      listGuardrails: method(Guardrails.listGuardrails, (options) => ({ query: { ...options } })),
      getGuardrail: dataOf(Guardrails.getGuardrail, (id) => ({ params: { id } })),
      updateGuardrail: dataOf(Guardrails.updateGuardrail, (id, request) => ({ params: { id }, json: request })),
      deleteGuardrail: voidOf(Guardrails.deleteGuardrail, (id) => ({ params: { id } })),
      unassignKeys: method(Guardrails.unassignKeys, (id, request) => ({ params: { id }, json: request })),
      listAssignments: method(Guardrails.listAssignments, (id, options) => ({ params: { id }, query: { ...options } })),
      getWorkspace: dataOf(Workspaces.getWorkspace, (id) => ({ params: { id } })),
      updateWorkspace: dataOf(Workspaces.updateWorkspace, (id, request) => ({ params: { id }, json: request })),
      addCredits: dataOf(Workspaces.addCredits, (id, request, options) => ({
        params: { id },
        json: request,
        headers: paidHeaders(options)
      })),
      call: (operation, request) => call(operation)(request)
    })
  }
)

/** An operation that returns its result as `data`. */
type DataOperation = Operation & { readonly success: Schema.Codec<{ readonly data: unknown }, unknown> }

const paidHeaders = (options: PaidOptions | undefined): Parts["headers"] =>
  options?.idempotencyKey === undefined ? undefined : { "idempotency-key": options.idempotencyKey }

const rangeHeader = (options: RangeOptions | undefined): Parts["headers"] =>
  options?.range === undefined ? undefined : { range: `bytes=${options.range.start}-${options.range.end ?? ""}` }

/**
 * Provides the client, made from the `HttpClient` and the configuration in the context.
 *
 * @since 0.1.0
 */
export const layer: Layer.Layer<Gateway, never, GatewayConfig | HttpClient.HttpClient> = Layer.effect(Gateway, make)
