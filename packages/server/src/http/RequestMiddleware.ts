/**
 * The outermost middleware: assigns the request id, turns every failure into the envelope,
 * restricts each operation to its status set, and counts.
 *
 * All responses pass through here, so none leaves without an id, with a status outside its
 * operation's set, or without `Cache-Control`.
 */
import { phrases } from "@model-gateway/core/GatewayError"
import { ofPreset } from "@model-gateway/core/WireNames"
import { Cause, Clock, Context, Effect, type Layer } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { constVoid } from "effect/Function"
import type * as Types from "effect/Types"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Readable } from "node:stream"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import { AccessLog } from "../requests/AccessLog.ts"
import * as BasePath from "./BasePath.ts"
import * as ClientAddress from "./ClientAddress.ts"
import * as ConsoleRequests from "./ConsoleRequests.ts"
import * as Cors from "./Cors.ts"
import * as Envelope from "./Envelope.ts"
import * as FailureLog from "../observability/FailureLog.ts"
import * as Failures from "./Failures.ts"
import { Lifecycle } from "./Lifecycle.ts"
import * as Metrics from "../observability/Metrics.ts"
import * as Tracing from "../observability/Tracing.ts"
import * as Routes from "./Routes.ts"
import * as ProtocolChecks from "./ProtocolChecks.ts"
import * as RequestContext from "./RequestContext.ts"
import * as WireWords from "../dialect/WireWords.ts"

const stopping: Failures.Classified = {
  failure: { status: 503, message: `${phrases[503]}: the service is stopping`, metadata: { retry_after: 1 } },
  unexpected: false
}

/** The status that servers commonly log for a caller that disconnected before the answer. */
const disconnected = 499

const isClientAbort = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some((reason) => reason._tag === "Interrupt" && reason.annotations.has(HttpServerError.ClientAbort.key))

const contentTypes = (operation: Routes.Route | undefined): string =>
  operation?.contentTypes.join(" or ") ?? "application/json"

/** The failure of a response without an envelope: the router rejected a content type or a size. */
const converted = (operation: Routes.Route | undefined, status: number): Failures.Classified => {
  const failure: Envelope.Failure =
    status === 413
      ? { status: 413, message: phrases[413] }
      : status < 500
        ? {
            status: 400,
            message: `${phrases[400]}: the content type is not supported, expected ${contentTypes(operation)}`,
            metadata: { issues: [{ path: "content-type", message: `Expected ${contentTypes(operation)}` }] }
          }
        : { status: 500, message: phrases[500] }
  return Failures.restrictToContract(operation, { failure, unexpected: status >= 500 })
}

const logged = (
  record: RequestContext.RequestRecord,
  operation: Routes.Route | undefined,
  why: unknown
): Effect.Effect<void> => {
  const name = operation?.name ?? "none"
  return FailureLog.report({
    kind: `${name}\n${Failures.kindOf(why)}`,
    event: "request_error",
    message: Failures.describe(why),
    annotations: { request_id: record.id, operation: name }
  })
}

const operationOf = ({ endpoint }: RequestContext.RequestRecord): Routes.Route | undefined =>
  endpoint === undefined ? undefined : Routes.of(endpoint)

/** Responds to the caller, and logs the failure if the operator should know. */
const refuse = (
  record: RequestContext.RequestRecord,
  operation: Routes.Route | undefined,
  { failure, unexpected }: Failures.Classified,
  why: unknown
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  record.message = failure.message
  const response = Effect.succeed(Envelope.respond(record, failure))
  return unexpected ? Effect.andThen(logged(record, operation, why), response) : response
}

const onFailure = (
  record: RequestContext.RequestRecord,
  request: HttpServerRequest.HttpServerRequest,
  cause: Cause.Cause<unknown>
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const operation = operationOf(record)
  if (Cause.hasInterruptsOnly(cause))
    return refuse(record, operation, Failures.restrictToContract(operation, stopping), cause)
  const options = request.method === "OPTIONS" ? Routes.optionsOf(request.url) : undefined
  if (options !== undefined) {
    return Effect.succeed(
      HttpServerResponse.empty({ status: 204, headers: { ...record.headers, ...options, "x-request-id": record.id } })
    )
  }
  const error = Failures.errorOf(cause)
  return refuse(
    record,
    operation,
    Failures.restrictToContract(operation, Failures.withLimit(Failures.classify(error), record.bodyLimit)),
    error
  )
}

/**
 * What a public page or file says about its storage. A response of an operation belongs to one
 * caller and may contain a secret, so nothing may store it.
 */
const publicStorage = (
  { endpoint }: RequestContext.RequestRecord,
  { headers }: HttpServerResponse.HttpServerResponse
): string | undefined => (endpoint === undefined ? headers["cache-control"] : undefined)

const onAnswer = (
  record: RequestContext.RequestRecord,
  response: HttpServerResponse.HttpServerResponse
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  if (response.status >= 400) {
    const operation = operationOf(record)
    return refuse(
      record,
      operation,
      converted(operation, response.status),
      new Error(`a response with status ${response.status} without an error envelope`)
    )
  }
  record.headers["x-request-id"] = record.id
  const storage = publicStorage(record, response)
  if (storage !== undefined) record.headers["cache-control"] = storage
  return Effect.succeed(HttpServerResponse.setHeaders(WireWords.onWire(record, response), record.headers))
}

/**
 * A broken-off request emits an error, which ends the process if nobody listens. The reader of the
 * body may have stopped listening when it was interrupted a moment earlier.
 */
const ignoreLateErrors = ({ source }: HttpServerRequest.HttpServerRequest): void => {
  if (source instanceof Readable) source.on("error", constVoid)
}

const make = Effect.gen(function* () {
  const random = yield* SecureRandom
  const lifecycle = yield* Lifecycle
  const accessLog = yield* AccessLog
  const { corsOrigins, ...config } = yield* GatewayServerConfig
  const cors = Cors.make(corsOrigins)
  const addressOf = ClientAddress.make(config.trustedProxies)
  const wireNames = ofPreset(config.wireNames)
  const locate = BasePath.make(config.basePath)
  const gate = yield* ConsoleRequests.ConsoleGate
  // Ids must be unique, not unguessable: a random part per process and a counter.
  const prefix = `req_${(yield* random.uuidV7()).replaceAll("-", "")}`
  let count = 0
  let inFlight = 0
  yield* Metrics.observeRequests(() => inFlight)

  const idOf = (request: HttpServerRequest.HttpServerRequest): string => {
    const chosen = request.headers["x-request-id"]
    return chosen !== undefined && RequestContext.isSafeId(chosen) ? chosen : `${prefix}${(count++).toString(36)}`
  }

  /** Logs and records a request to an operation, as far as the access log wants it. */
  const ended = (
    record: RequestContext.RequestRecord,
    request: HttpServerRequest.HttpServerRequest,
    status: number,
    seconds: number
  ): Effect.Effect<void> => {
    const operation = operationOf(record)
    if (operation === undefined || !accessLog.wants(status)) return Effect.void
    const { caller, generationId, id, keyHash, message, model } = record
    return accessLog.ended({
      id,
      operation: operation.name,
      status,
      durationMs: Math.round(seconds * 1000),
      address: addressOf(request),
      // The message of an admitted request may quote what a provider says of its contents.
      message: generationId === undefined ? message : undefined,
      model,
      keyHash,
      workspaceId: caller?.workspaceId,
      organizationId: caller?.organizationId,
      generationId
    })
  }

  return (
    effect: Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled, RequestContext.RequestContext>
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled, HttpServerRequest.HttpServerRequest> =>
    Effect.withFiber((fiber) => {
      const context = fiber.context
      const clock = fiber.getRef(Clock.Clock)
      const startedAt = clock.monotonicTimeNanosUnsafe()
      inFlight++
      const received = Context.getUnsafe(context, HttpServerRequest.HttpServerRequest)
      ignoreLateErrors(received)
      const located = locate(received)
      const request = located?._tag === "Inside" ? located.request : received
      const isConsole = gate !== undefined && ConsoleRequests.isOwnOrigin(request.url)
      // The page of the console knows the neutral words only.
      const record = RequestContext.make(idOf(request), isConsole ? undefined : wireNames)
      Tracing.annotateUnsafe(context, "model_gateway.request.id", record.id)
      const preflight = isConsole ? undefined : cors?.(request, record)
      const neutral = record.wireNames === undefined ? request : WireWords.neutralRequest(record.wireNames, request)
      const withRequest = (other: HttpServerRequest.HttpServerRequest) =>
        other === received ? effect : Effect.provideService(effect, HttpServerRequest.HttpServerRequest, other)
      const served =
        isConsole && ConsoleRequests.isApi(request.url)
          ? Effect.flatMap(gate.enter(request, record), withRequest)
          : withRequest(neutral)
      const answer = preflight === undefined ? served : Effect.succeed(preflight)

      const leave = (response: HttpServerResponse.HttpServerResponse) => {
        inFlight--
        const seconds = Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1e9
        Metrics.answeredUnsafe(context, record.endpoint?.identifier ?? "none", response.status, seconds)
        const last = Effect.succeed(
          lifecycle.isStopping ? HttpServerResponse.setHeader(response, "connection", "close") : response
        )
        // Yield, so that responses of one tick are flushed together (decision 12). Paid requests
        // that share a commit continue together already.
        const sent = record.generationId === undefined ? Effect.andThen(Effect.yieldNow, last) : last
        return accessLog.wants(response.status)
          ? Effect.andThen(ended(record, request, response.status, seconds), sent)
          : sent
      }
      /** The client has disconnected; there is no one to answer. */
      const aborted = () =>
        operationOf(record)?.isPaid === true
          ? ended(record, request, disconnected, Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1e9)
          : Effect.void
      const refusal = ProtocolChecks.refusalOf(request)
      if (refusal !== undefined) return leave(Envelope.respond(record, refusal))
      if (located?._tag === "Outside") return leave(Envelope.respond(record, located.failure))
      if (located?._tag === "Root") return Effect.flatMap(onAnswer(record, located.response), leave)

      return Effect.matchCauseEffect(Effect.provideService(answer, RequestContext.RequestContext, record), {
        onSuccess: (response) => Effect.flatMap(onAnswer(record, response), leave),
        onFailure: (cause) => {
          if (!isClientAbort(cause)) return Effect.flatMap(onFailure(record, request, cause), leave)
          // The client has disconnected; there is no one to answer.
          inFlight--
          return Effect.andThen(aborted(), Effect.failCause(cause))
        }
      })
    })
})

/** Serves every route under it. Explicit type: inference depends on the order of files. */
export const layer: Layer.Layer<
  | HttpRouter.Request<"Requires", RequestContext.RequestContext>
  | HttpRouter.Request<"GlobalRequires", RequestContext.RequestContext>,
  never,
  AccessLog | HttpRouter.HttpRouter | Lifecycle | SecureRandom
> = HttpRouter.middleware<{ provides: RequestContext.RequestContext }>()(make, {
  global: true
})
