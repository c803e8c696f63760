/**
 * The client: every operation of the contract as a method that returns an Effect or a Stream. An
 * operation without arguments is an Effect. A method has the name of its operation, and so has the
 * function of the operation's module: `gateway.rerank` is `Rerank.rerank`.
 *
 * The errors of a method are exactly the statuses that its operation can return, plus the three
 * client errors: {@link ClientError.TransportError}, {@link ClientError.TimeoutError} and
 * {@link ClientError.InvalidResponse}.
 *
 * The client runs over any `HttpClient`. `@model-gateway/node` and `@model-gateway/browser` provide
 * one for their platform, and `FetchGateway` one for servers on other runtimes.
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
import type * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Activity from "./Activity.ts"
import * as Alerts from "./Alerts.ts"
import * as Byok from "./Byok.ts"
import * as CohereRerank from "./dialect/CohereRerank.ts"
import * as ConsoleSessions from "./ConsoleSessions.ts"
import * as Credits from "./Credits.ts"
import * as CurrentKey from "./CurrentKey.ts"
import * as Destinations from "./Destinations.ts"
import * as Estimate from "./Estimate.ts"
import * as Files from "./Files.ts"
import * as Generations from "./Generations.ts"
import * as Guardrails from "./Guardrails.ts"
import * as Keys from "./Keys.ts"
import * as ModelEndpoints from "./ModelEndpoints.ts"
import * as Models from "./Models.ts"
import * as ProviderHealth from "./ProviderHealth.ts"
import * as Providers from "./Providers.ts"
import * as AuditLog from "./AuditLog.ts"
import * as RejectedRequests from "./RejectedRequests.ts"
import * as Rerank from "./Rerank.ts"
import * as Reservations from "./Reservations.ts"
import * as System from "./System.ts"
import * as Transcription from "./Transcription.ts"
import * as Video from "./Video.ts"
import * as VideoModels from "./VideoModels.ts"
import * as Webhooks from "./Webhooks.ts"
import * as Workspaces from "./Workspaces.ts"
import { GatewayClient, layer as layerClient, make as makeClient } from "./GatewayClient.ts"
import type { GatewayConfig } from "./GatewayConfig.ts"

/** The result of a function of a module, without the {@link GatewayClient} that it needs. */
type Provided<Result> =
  Result extends Effect.Effect<infer A, infer E, GatewayClient>
    ? Effect.Effect<A, E>
    : Result extends Stream.Stream<infer A, infer E, GatewayClient>
      ? Stream.Stream<A, E>
      : never

/** The operations that a module declares: `rerank` has a `rerankOperation`. */
type OperationsOf<Module> = {
  [Name in keyof Module]: Name extends `${infer Operation extends string}Operation` ? Operation : never
}[keyof Module]

/**
 * The operations of a module as methods. A mapped type of the module's own keys: the methods keep
 * the documentation of the functions.
 */
type MethodsOf<Module, Names extends keyof Module = keyof Module & OperationsOf<Module>> = {
  readonly [Name in Names]: Module[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Provided<Result>
    : Provided<Module[Name]>
}

/**
 * Every operation as a method.
 *
 * @category models
 * @since 0.1.0
 */
export interface Methods
  extends
    MethodsOf<typeof Rerank>,
    MethodsOf<typeof CohereRerank>,
    MethodsOf<typeof Transcription>,
    MethodsOf<typeof Video>,
    MethodsOf<typeof Models>,
    MethodsOf<typeof ModelEndpoints>,
    MethodsOf<typeof VideoModels>,
    MethodsOf<typeof Providers>,
    MethodsOf<typeof ProviderHealth>,
    MethodsOf<typeof Estimate>,
    MethodsOf<typeof Files>,
    MethodsOf<typeof CurrentKey>,
    MethodsOf<typeof Generations>,
    MethodsOf<typeof RejectedRequests>,
    MethodsOf<typeof Alerts>,
    MethodsOf<typeof AuditLog>,
    MethodsOf<typeof Activity>,
    MethodsOf<typeof Keys>,
    MethodsOf<typeof Guardrails>,
    MethodsOf<typeof Workspaces>,
    MethodsOf<typeof Credits>,
    MethodsOf<typeof Reservations>,
    MethodsOf<typeof Byok>,
    MethodsOf<typeof Destinations>,
    MethodsOf<typeof Webhooks>,
    MethodsOf<typeof ConsoleSessions>,
    MethodsOf<typeof System> {}

/**
 * @category services
 * @since 0.1.0
 */
export class Gateway extends Context.Service<Gateway, Methods>()("@model-gateway/core/Gateway") {}

/**
 * The methods over a {@link GatewayClient}.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromClient = (client: GatewayClient["Service"]): Gateway["Service"] => {
  const effect = <A, E>(call: Effect.Effect<A, E, GatewayClient>): Effect.Effect<A, E> =>
    Effect.provideService(call, GatewayClient, client)

  /** A function of a module as a method. */
  const method =
    <Args extends ReadonlyArray<unknown>, A, E>(run: (...args: Args) => Effect.Effect<A, E, GatewayClient>) =>
    (...args: Args): Effect.Effect<A, E> =>
      effect(run(...args))

  /** Like {@link method}, for a stream of bytes. */
  const bytes =
    <Args extends ReadonlyArray<unknown>, E>(run: (...args: Args) => Stream.Stream<Uint8Array, E, GatewayClient>) =>
    (...args: Args): Stream.Stream<Uint8Array, E> =>
      Stream.provideService(run(...args), GatewayClient, client)

  return Gateway.of({
    rerank: method(Rerank.rerank),
    cohereRerank: method(CohereRerank.cohereRerank),
    cohereRerankV1: method(CohereRerank.cohereRerankV1),
    transcribe: method(Transcription.transcribe),
    submitVideo: method(Video.submitVideo),
    listVideos: method(Video.listVideos),
    getVideo: method(Video.getVideo),
    videoContent: bytes(Video.videoContent),
    cancelVideo: method(Video.cancelVideo),
    listModels: method(Models.listModels),
    countModels: method(Models.countModels),
    getModel: method(Models.getModel),
    listModelEndpoints: method(ModelEndpoints.listModelEndpoints),
    listVideoModels: effect(VideoModels.listVideoModels),
    listProviders: effect(Providers.listProviders),
    getProviderHealth: effect(ProviderHealth.getProviderHealth),
    estimate: method(Estimate.estimate),
    deleteFile: method(Files.deleteFile),
    uploadFile: method(Files.uploadFile),
    listFiles: method(Files.listFiles),
    getFile: method(Files.getFile),
    fileContent: bytes(Files.fileContent),
    currentKey: effect(CurrentKey.currentKey),
    getGeneration: method(Generations.getGeneration),
    listGenerations: method(Generations.listGenerations),
    listAudit: method(AuditLog.listAudit),
    listRejectedRequests: method(RejectedRequests.listRejectedRequests),
    listActivity: method(Activity.listActivity),
    createAlert: method(Alerts.createAlert),
    listAlerts: method(Alerts.listAlerts),
    getAlert: method(Alerts.getAlert),
    updateAlert: method(Alerts.updateAlert),
    deleteAlert: method(Alerts.deleteAlert),
    testAlert: method(Alerts.testAlert),
    listAlertFirings: method(Alerts.listAlertFirings),
    createKey: method(Keys.createKey),
    listKeys: method(Keys.listKeys),
    getKey: method(Keys.getKey),
    updateKey: method(Keys.updateKey),
    rotateKey: method(Keys.rotateKey),
    deleteKey: method(Keys.deleteKey),
    createEphemeralKey: method(Keys.createEphemeralKey),
    createEphemeralKeyFor: method(Keys.createEphemeralKeyFor),
    assignKeys: method(Guardrails.assignKeys),
    unassignKeys: method(Guardrails.unassignKeys),
    listAssignments: method(Guardrails.listAssignments),
    listAllAssignments: method(Guardrails.listAllAssignments),
    createGuardrail: method(Guardrails.createGuardrail),
    listGuardrails: method(Guardrails.listGuardrails),
    getGuardrail: method(Guardrails.getGuardrail),
    updateGuardrail: method(Guardrails.updateGuardrail),
    deleteGuardrail: method(Guardrails.deleteGuardrail),
    createWorkspace: method(Workspaces.createWorkspace),
    listWorkspaces: method(Workspaces.listWorkspaces),
    getWorkspace: method(Workspaces.getWorkspace),
    updateWorkspace: method(Workspaces.updateWorkspace),
    deleteWorkspace: method(Workspaces.deleteWorkspace),
    addCredits: method(Workspaces.addCredits),
    getCredits: method(Credits.getCredits),
    listCreditLedger: method(Credits.listCreditLedger),
    listReservations: method(Reservations.listReservations),
    settleReservation: method(Reservations.settleReservation),
    dismissReservation: method(Reservations.dismissReservation),
    createByokKey: method(Byok.createByokKey),
    listByokKeys: method(Byok.listByokKeys),
    getByokKey: method(Byok.getByokKey),
    updateByokKey: method(Byok.updateByokKey),
    deleteByokKey: method(Byok.deleteByokKey),
    testByokKey: method(Byok.testByokKey),
    createDestination: method(Destinations.createDestination),
    listDestinations: method(Destinations.listDestinations),
    getDestination: method(Destinations.getDestination),
    updateDestination: method(Destinations.updateDestination),
    deleteDestination: method(Destinations.deleteDestination),
    testDestination: method(Destinations.testDestination),
    rotateWebhookSecret: method(Webhooks.rotateWebhookSecret),
    listWebhookDeliveries: method(Webhooks.listWebhookDeliveries),
    getWebhookDelivery: method(Webhooks.getWebhookDelivery),
    redeliverWebhook: method(Webhooks.redeliverWebhook),
    listConsoleSessions: effect(ConsoleSessions.listConsoleSessions),
    endConsoleSession: method(ConsoleSessions.endConsoleSession),
    endConsoleSessions: effect(ConsoleSessions.endConsoleSessions),
    listInstances: effect(System.listInstances),
    listSettings: effect(System.listSettings)
  })
}

/**
 * Makes a client from the `HttpClient` and the configuration in the context.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<Gateway["Service"], never, GatewayConfig | HttpClient.HttpClient> = Effect.map(
  makeClient,
  fromClient
)

/**
 * Provides the client, made from the `HttpClient` and the configuration in the context.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Gateway | GatewayClient, never, GatewayConfig | HttpClient.HttpClient> =
  Layer.provideMerge(Layer.effect(Gateway, Effect.map(GatewayClient, fromClient)), layerClient)
