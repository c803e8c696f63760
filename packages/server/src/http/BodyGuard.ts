/**
 * Admits a request's body: within its operation's size limit, after the checks that can make
 * reading it unnecessary, and within the memory that all bodies share.
 */
import type { PaymentRequired } from "@model-gateway/core/GatewayError"
import { ByteSize, Context, Effect } from "effect"
import { HttpIncomingMessage, HttpMethod, HttpServerRequest, type HttpServerResponse, Multipart } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { type BodyLimits, GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as BodyLimit from "./BodyLimit.ts"
import { BodyMemory, type Owner } from "./BodyMemory.ts"
import * as Issues from "../internal/Issues.ts"
import * as JsonBody from "./JsonBody.ts"
import * as Routes from "./Routes.ts"
import * as PayloadIssues from "./PayloadIssues.ts"
import * as RequestContext from "./RequestContext.ts"
import * as WireWords from "../dialect/WireWords.ts"

/** Wraps the handler of an operation, so that it gets requests whose body is admitted. */
export type Guard = <E, R>(
  endpoint: HttpApiEndpoint.Top,
  httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

/** What the guard asks about the caller of the current request. */
export interface Options {
  /**
   * Runs before a large body of a paid operation is read. Fails if the caller has nothing left to
   * spend, unless an earlier request has used the `Idempotency-Key`.
   */
  readonly admitLarge: (idempotencyKey: string | undefined) => Effect.Effect<void, PaymentRequired>
}

/** For larger bodies, the key's budget is checked before reading. */
const largeBody = 1024 * 1024

const refuseEncoding = Issues.invalid(
  [{ path: "content-encoding", message: "Expected a body that is not compressed" }],
  "the body is compressed, which is not supported"
)

interface Plan {
  readonly limitOf: (isForm: boolean) => BodyLimit.Limit
  readonly payload: PayloadIssues.JsonPayload | undefined
  readonly isPaid: boolean
  readonly isManagement: boolean
}

const planOf = (endpoint: HttpApiEndpoint.Top, limits: BodyLimits): Plan => {
  const operation = Routes.of(endpoint)
  return {
    limitOf: (isForm) => BodyLimit.of(limits, operation?.bodyLimit ?? {}, isForm),
    payload: PayloadIssues.make(endpoint),
    isPaid: operation?.isPaid === true,
    isManagement: operation?.access === "management key"
  }
}

/** Makes the guard from the services in the context. */
export const make = Effect.fnUntraced(function* (sender: Options) {
  const memory = yield* BodyMemory
  const { bodyLimits } = yield* GatewayServerConfig

  /** Runs the effect with a request whose text is read within the limits. */
  const withText = <E, R>(
    request: HttpServerRequest.HttpServerRequest,
    limit: BodyLimit.Limit,
    payload: PayloadIssues.JsonPayload,
    record: RequestContext.RequestRecord,
    owner: Owner,
    httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
  ) =>
    memory
      .withRoom(owner, { announced: JsonBody.lengthOf(request), inMemory: limit.inMemory }, (room) => {
        let text = ""
        const read = Effect.map(JsonBody.readText(request, limit.body, payload, room), (body) => {
          text = body === "" && payload.isOptional ? "{}" : WireWords.neutralBody(record, body)
          return text
        })
        const bounded = new Proxy(request, {
          get: (target, name): unknown =>
            name === "text" ? read : name === "stream" ? room.arriving(request.stream) : Reflect.get(target, name)
        })
        return Effect.provideService(httpEffect, HttpServerRequest.HttpServerRequest, bounded).pipe(
          Effect.catchIf(JsonBody.isPayloadError, (error) => Effect.die(JsonBody.withAllIssues(payload, error, text)))
        )
      })
      .pipe(Effect.catchTag("BodyMemoryFull", Effect.die))

  /** The body limits that Effect enforces. */
  const withinLimit = <E, R>(
    { body, file }: BodyLimit.Limit,
    httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
  ) => {
    const bounded = Effect.provideService(httpEffect, HttpIncomingMessage.MaxBodySize, ByteSize.bytes(body))
    return file === undefined
      ? bounded
      : Effect.provideService(bounded, Multipart.MaxFileSize, ByteSize.bytes(file + BodyLimit.partOverhead))
  }

  const guarded = <E, R>(
    plan: Plan,
    record: RequestContext.RequestRecord,
    request: HttpServerRequest.HttpServerRequest,
    httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
  ) => {
    const isForm = request.headers["content-type"]?.toLowerCase().startsWith("multipart/") ?? false
    const limit = plan.limitOf(isForm)
    record.bodyLimit = limit.file ?? limit.body
    const length = JsonBody.lengthOf(request) ?? Number.POSITIVE_INFINITY
    if (Number.isFinite(length) && length > limit.body) return JsonBody.tooLarge(request)
    const encoding = request.headers["content-encoding"]
    if (encoding !== undefined && encoding.toLowerCase() !== "identity") return Effect.die(refuseEncoding)
    const { keyHash } = record
    if (keyHash === undefined) return Effect.die(new Error("The request is not authenticated"))
    const served =
      isForm || plan.payload === undefined
        ? withinLimit(limit, httpEffect)
        : withText(request, limit, plan.payload, record, { keyHash, isManagement: plan.isManagement }, httpEffect)
    return plan.isPaid && length > largeBody
      ? Effect.andThen(Effect.orDie(sender.admitLarge(request.headers["idempotency-key"])), served)
      : served
  }

  const guard: Guard = (endpoint, httpEffect) => {
    if (!HttpMethod.hasBody(endpoint.method)) return httpEffect
    const plan = planOf(endpoint, bodyLimits)
    return Effect.withFiber((fiber) => {
      const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
      const record = Context.getUnsafe(fiber.context, RequestContext.RequestContext)
      return guarded(plan, record, request, httpEffect)
    })
  }
  return guard
})
