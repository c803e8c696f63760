/**
 * The client: the operations on files, rankings, transcripts, videos, models, keys, guardrails,
 * workspaces and credits as methods that return Effects and Streams. The other operations, such as
 * those on webhooks and broadcast destinations, are functions of their own modules.
 *
 * The errors of a method are exactly the statuses that its operation can return, plus the three
 * client errors: {@link ClientError.TransportError}, {@link ClientError.TimeoutError} and
 * {@link ClientError.InvalidResponse}.
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
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Credits from "./Credits.ts"
import * as CurrentKey from "./CurrentKey.ts"
import * as Files from "./Files.ts"
import {
  type CallOptions,
  GatewayClient,
  layer as layerClient,
  make as makeClient,
  type OffsetPageOptions,
  type RangeOptions
} from "./GatewayClient.ts"
import type { GatewayConfig } from "./GatewayConfig.ts"
import * as Guardrails from "./Guardrails.ts"
import * as Keys from "./Keys.ts"
import * as Models from "./Models.ts"
import * as Rerank from "./Rerank.ts"
import * as Transcription from "./Transcription.ts"
import * as Video from "./Video.ts"
import * as Workspaces from "./Workspaces.ts"

/** @since 0.1.0 */
export class Gateway extends Context.Service<
  Gateway,
  {
    /**
     * Deletes a file permanently. `shape` selects one of the three confirmation shapes. Deleting a
     * deleted file fails with `NotFound`. This can also happen when the response to the first
     * attempt was lost and the client retried.
     */
    readonly deleteFile: (
      fileId: string,
      options?: Files.Scope & {
        readonly provider?: Files.FileProvider | undefined
        readonly shape?: Files.DeletionShape | undefined
      }
    ) => Effect.Effect<Files.Deletion, Files.DeleteFailure>
    /** Returns the calling key's limits, usage and free requests. */
    readonly currentKey: Effect.Effect<CurrentKey.KeyRecord, CurrentKey.Failure>
    /** Ranks documents by relevance to a query, most relevant first. */
    readonly rerank: (request: Rerank.Request, options?: CallOptions) => Effect.Effect<Rerank.Response, Rerank.Failure>
    /** Transcribes audio. */
    readonly transcribe: (
      request: Transcription.Input,
      options?: CallOptions
    ) => Effect.Effect<Transcription.Response, Transcription.Failure>
    /** Submits a video job. Use `VideoProgress` to follow it. */
    readonly submitVideo: (
      request: Video.Request,
      options?: CallOptions
    ) => Effect.Effect<Video.Job, Video.SubmitFailure>
    /**
     * Assigns keys, named by their hashes, to a guardrail. It replaces the guardrail that a key had
     * before. Management keys only.
     */
    readonly assignKeys: (
      guardrailId: string,
      request: Guardrails.AssignRequest
    ) => Effect.Effect<Guardrails.AssignResponse, Guardrails.Failure>

    /** Stores a file, once for all retries of the call. */
    readonly uploadFile: (
      request: Files.Upload,
      options?: CallOptions
    ) => Effect.Effect<Files.File, Files.UploadFailure>
    /** Lists files, newest first. */
    readonly listFiles: (options?: Files.ListOptions) => Effect.Effect<Files.FileList, Files.Failure>
    readonly getFile: (fileId: string, options?: Files.Scope) => Effect.Effect<Files.File, Files.Failure>
    /**
     * Streams a file's bytes. With `provider`, always the whole file. Continues after an
     * interruption with the bytes that are missing, except with `provider`.
     */
    readonly fileContent: (
      fileId: string,
      options?: Files.Scope & RangeOptions & { readonly provider?: Files.FileProvider | undefined }
    ) => Stream.Stream<Uint8Array, Files.Failure>

    /**
     * Returns a job's current state. With `wait`, such as `"30 seconds"`, the service responds when
     * the status changes or after that time, at most 60 seconds, and the call is retried through a
     * restart of the service.
     */
    readonly getVideo: (
      id: string,
      options?: { readonly wait?: Duration.Input | undefined }
    ) => Effect.Effect<Video.Job, Video.Failure>
    /**
     * Streams one of a finished job's videos. Default for `index`: 0, the first. Continues after an
     * interruption with the bytes that are missing.
     */
    readonly videoContent: (
      id: string,
      options?: RangeOptions & { readonly index?: number | undefined }
    ) => Stream.Stream<Uint8Array, Video.Failure>
    /** Cancels a job. A job in a final state is returned unchanged. */
    readonly cancelVideo: (id: string) => Effect.Effect<Video.Job, Video.Failure>

    /** Lists the models that the key may use. */
    readonly listModels: (options?: Models.ListOptions) => Effect.Effect<ReadonlyArray<Models.Model>, Models.Failure>

    /**
     * Creates a key that lives for at most 15 minutes and spends from the calling key's budget. A
     * server calls this and passes the response, encoded with `Keys.EphemeralResponse`, to a page,
     * which cannot keep a secret. `expires_in`
     * is in seconds, from 1 to 900 (default: 900). Management keys and ephemeral keys fail with
     * `Forbidden`. If the response to an attempt is lost, its key stays unused until it
     * expires.
     */
    readonly createEphemeralKey: (
      request?: Keys.EphemeralRequest
    ) => Effect.Effect<Keys.EphemeralResponse, Keys.EphemeralFailure>
    /**
     * Creates a key. Only this response contains its secret text. Management keys only, like all
     * methods below.
     */
    readonly createKey: (
      request: Keys.CreateRequest,
      options?: CallOptions
    ) => Effect.Effect<Keys.CreateResponse, Keys.Failure>
    /** Lists keys, newest first. With `parent_hash`: that key's unexpired ephemeral keys. */
    readonly listKeys: (options?: Keys.ListOptions) => Effect.Effect<Keys.ListResponse, Keys.Failure>
    readonly getKey: (hash: string) => Effect.Effect<Keys.Key, Keys.Failure>
    readonly updateKey: (hash: string, request: Keys.UpdateRequest) => Effect.Effect<Keys.Key, Keys.Failure>
    readonly deleteKey: (hash: string) => Effect.Effect<void, Keys.Failure>

    readonly createGuardrail: (
      request: Guardrails.CreateRequest
    ) => Effect.Effect<Guardrails.Guardrail, Guardrails.Failure>
    readonly listGuardrails: (
      options?: Guardrails.ListOptions
    ) => Effect.Effect<Guardrails.ListResponse, Guardrails.Failure>
    readonly getGuardrail: (id: string) => Effect.Effect<Guardrails.Guardrail, Guardrails.Failure>
    readonly updateGuardrail: (
      id: string,
      request: Guardrails.UpdateRequest
    ) => Effect.Effect<Guardrails.Guardrail, Guardrails.Failure>
    readonly deleteGuardrail: (id: string) => Effect.Effect<void, Guardrails.Failure>
    readonly unassignKeys: (
      guardrailId: string,
      request: Guardrails.AssignRequest
    ) => Effect.Effect<Guardrails.UnassignResponse, Guardrails.Failure>
    readonly listAssignments: (
      guardrailId: string,
      options?: OffsetPageOptions
    ) => Effect.Effect<Guardrails.AssignmentList, Guardrails.Failure>

    readonly createWorkspace: (
      request: Workspaces.CreateRequest
    ) => Effect.Effect<Workspaces.Workspace, Workspaces.Failure>
    readonly listWorkspaces: (options?: OffsetPageOptions) => Effect.Effect<Workspaces.ListResponse, Workspaces.Failure>
    readonly getWorkspace: (id: string) => Effect.Effect<Workspaces.Workspace, Workspaces.Failure>
    readonly updateWorkspace: (
      id: string,
      request: Workspaces.UpdateRequest
    ) => Effect.Effect<Workspaces.Workspace, Workspaces.Failure>
    readonly deleteWorkspace: (id: string) => Effect.Effect<void, Workspaces.Failure>
    /**
     * Returns the credits that were added and used: of the workspace, or else of the
     * configuration's workspace, or else of the whole organization.
     */
    readonly getCredits: (options?: {
      readonly workspace_id?: string | undefined
    }) => Effect.Effect<Credits.Credits, Credits.Failure>
    readonly addCredits: (
      id: string,
      request: Workspaces.AddCreditsRequest,
      options?: CallOptions
    ) => Effect.Effect<Workspaces.Workspace, Workspaces.Failure>
  }
>()("@model-gateway/core/Gateway") {}

/**
 * The methods over a {@link GatewayClient}.
 *
 * @since 0.1.0
 */
export const fromClient = (client: GatewayClient["Service"]): Gateway["Service"] => {
  /** A function of a module as a method. */
  const method =
    <Args extends ReadonlyArray<unknown>, A, E>(run: (...args: Args) => Effect.Effect<A, E, GatewayClient>) =>
    (...args: Args): Effect.Effect<A, E> =>
      Effect.provideService(run(...args), GatewayClient, client)

  /** Like {@link method}, for a stream of bytes. */
  const bytes =
    <Args extends ReadonlyArray<unknown>, E>(run: (...args: Args) => Stream.Stream<Uint8Array, E, GatewayClient>) =>
    (...args: Args): Stream.Stream<Uint8Array, E> =>
      Stream.provideService(run(...args), GatewayClient, client)

  return Gateway.of({
    deleteFile: method(Files.deleteFile),
    currentKey: Effect.provideService(CurrentKey.currentKey, GatewayClient, client),
    rerank: method(Rerank.rerank),
    transcribe: method(Transcription.transcribe),
    submitVideo: method(Video.submitVideo),
    assignKeys: method(Guardrails.assignKeys),
    uploadFile: method(Files.uploadFile),
    listFiles: method(Files.listFiles),
    getFile: method(Files.getFile),
    fileContent: bytes(Files.fileContent),
    getVideo: method(Video.getVideo),
    videoContent: bytes(Video.videoContent),
    cancelVideo: method(Video.cancelVideo),
    listModels: method(Models.listModels),
    createEphemeralKey: method(Keys.createEphemeralKey),
    createKey: method(Keys.createKey),
    listKeys: method(Keys.listKeys),
    getKey: method(Keys.getKey),
    updateKey: method(Keys.updateKey),
    deleteKey: method(Keys.deleteKey),
    createGuardrail: method(Guardrails.createGuardrail),
    listGuardrails: method(Guardrails.listGuardrails),
    getGuardrail: method(Guardrails.getGuardrail),
    updateGuardrail: method(Guardrails.updateGuardrail),
    deleteGuardrail: method(Guardrails.deleteGuardrail),
    unassignKeys: method(Guardrails.unassignKeys),
    listAssignments: method(Guardrails.listAssignments),
    createWorkspace: method(Workspaces.createWorkspace),
    listWorkspaces: method(Workspaces.listWorkspaces),
    getWorkspace: method(Workspaces.getWorkspace),
    updateWorkspace: method(Workspaces.updateWorkspace),
    deleteWorkspace: method(Workspaces.deleteWorkspace),
    getCredits: method(Credits.getCredits),
    addCredits: method(Workspaces.addCredits)
  })
}

/**
 * Makes a client from the `HttpClient` and the configuration in the context.
 *
 * @since 0.1.0
 */
export const make: Effect.Effect<Gateway["Service"], never, GatewayConfig | HttpClient.HttpClient> = Effect.map(
  makeClient,
  fromClient
)

/**
 * Provides the client, made from the `HttpClient` and the configuration in the context.
 *
 * @since 0.1.0
 */
export const layer: Layer.Layer<Gateway | GatewayClient, never, GatewayConfig | HttpClient.HttpClient> =
  Layer.provideMerge(Layer.effect(Gateway, Effect.map(GatewayClient, fromClient)), layerClient)
