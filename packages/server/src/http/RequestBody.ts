/**
 * Lets a request's body in: within its operation's size, after the checks that spare reading it, and
 * within the memory that all bodies share.
 */
import { ByteSize, Context, Effect, Stream } from "effect"
import {
  HttpIncomingMessage,
  HttpMethod,
  HttpServerError,
  HttpServerRequest,
  type HttpServerResponse,
  Multipart
} from "effect/http"
import { type HttpApiEndpoint, HttpApiError } from "effect/http-api"
import { Accounting } from "../accounting/Accounting.ts"
import { type BodyLimits, GatewayServerConfig } from "../GatewayServerConfig.ts"
import type { Caller } from "../keys/Key.ts"
import { RateLimits } from "../rates/RateLimits.ts"
import * as BodyLimit from "./BodyLimit.ts"
import { BodyMemory, type Room } from "./BodyMemory.ts"
import * as Issues from "./Issues.ts"
import * as JsonScanner from "./JsonScanner.ts"
import * as Operations from "./Operations.ts"
import * as PaidRequest from "./PaidRequest.ts"
import * as PayloadIssues from "./PayloadIssues.ts"
import * as RequestContext from "./RequestContext.ts"

/** Runs what serves a request, with its body let in. */
export type Guard = <E, R>(
  endpoint: HttpApiEndpoint.Top,
  httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

/** For a larger body, rate and budget are checked before it is read. */
const checkedAfterReading = 1024 * 1024

/** A smaller body cannot hold enough to be worth a look before it is parsed. */
const parsedUnseen = 4096

/** A larger body is looked over as it comes, so that others have their turn in between. */
const readAtOnce = 64 * 1024

/** The room that a body of unknown length begins with; it doubles as the body turns out longer. */
const firstRoom = 16 * 1024

const refuseEncoding = Issues.invalid(
  [{ path: "content-encoding", message: "Expected a body that is not compressed" }],
  "the body is compressed, which is not supported"
)

const tooLarge = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.die(
    new HttpServerError.HttpServerError({
      reason: new HttpServerError.RequestParseError({ request, reason: "BodyTooLarge" })
    })
  )

/** The declared length of the body; undefined where the sender does not tell. */
const lengthOf = ({ headers }: HttpServerRequest.HttpServerRequest): number | undefined => {
  const length = headers["content-length"]
  if (length !== undefined) return Number(length)
  return headers["transfer-encoding"] === undefined ? 0 : undefined
}

/** Gives each chunk of the body to `push`. A body that turns out longer than `maxBytes` is a 413. */
export const forEachChunk = <E, R>(
  request: HttpServerRequest.HttpServerRequest,
  maxBytes: number,
  push: (chunk: Uint8Array) => Effect.Effect<void, E, R>
): Effect.Effect<void, E, R> => {
  let received = 0
  return Stream.runForEach(Stream.orDie(request.stream), (chunk) => {
    received += chunk.length
    return received > maxBytes ? tooLarge(request) : push(chunk)
  })
}

interface Plan {
  readonly limitOf: (isForm: boolean) => BodyLimit.Limit
  readonly payload: PayloadIssues.JsonPayload | undefined
  /** The operation has a 429 in its set. */
  readonly isRateLimited: boolean
  /** The operation has a 402 in its set. */
  readonly isPaid: boolean
}

const planOf = (endpoint: HttpApiEndpoint.Top, limits: BodyLimits): Plan => {
  const errors = Operations.of(endpoint)?.errors
  return {
    limitOf: (isForm) => BodyLimit.of(limits, endpoint.identifier, isForm),
    payload: PayloadIssues.make(endpoint),
    isRateLimited: errors?.has(429) === true,
    isPaid: errors?.has(402) === true
  }
}

const roomFor = (received: number): number => 2 ** Math.ceil(Math.log2(received))

/** The text of a JSON body, after a look at how much it holds. */
const readText = (
  request: HttpServerRequest.HttpServerRequest,
  maxBytes: number,
  payload: PayloadIssues.JsonPayload,
  room: Room
): Effect.Effect<string, HttpServerError.HttpServerError> => {
  const length = lengthOf(request)
  if (length !== undefined && length <= parsedUnseen) return request.text
  const chunks: Array<Uint8Array> = []
  const scanner = JsonScanner.make({ maxItems: payload.maxItems, keep: (bytes) => void chunks.push(bytes) })
  let received = 0
  const scan = (chunk: Uint8Array): Effect.Effect<void> => {
    const issue = scanner.push(chunk)
    if (issue !== undefined) return Effect.die(Issues.invalid([issue]))
    received += chunk.length
    return length === undefined && received > firstRoom ? Effect.orDie(room.growTo(roomFor(received))) : Effect.void
  }
  if (length !== undefined && length <= readAtOnce) {
    return Effect.tap(request.text, (text) => scan(Buffer.from(text)))
  }
  return forEachChunk(request, maxBytes, scan).pipe(
    Effect.map(() => Buffer.concat(chunks).toString("utf8")),
    Effect.tap(() => Effect.yieldNow)
  )
}

const isPayloadError = <E>(error: E): error is Extract<E, HttpApiError.HttpApiSchemaError> =>
  HttpApiError.HttpApiSchemaError.is(error) && error.kind === "Payload"

/** The error of a body that does not fit its schema, completed by what else is wrong with it. */
const withAllIssues = (
  payload: PayloadIssues.JsonPayload,
  error: HttpApiError.HttpApiSchemaError,
  text: string
): HttpApiError.HttpApiSchemaError => {
  const value = parsed(text)
  const cause = value === undefined ? undefined : payload.check(value)
  return cause === undefined ? error : new HttpApiError.HttpApiSchemaError({ kind: "Payload", cause })
}

/** The value that a text holds; undefined where it is not JSON. */
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Makes the guard from the services of the context. */
export const make = Effect.gen(function* () {
  const accounting = yield* Accounting
  const memory = yield* BodyMemory
  const rates = yield* RateLimits
  const { bodyLimits } = yield* GatewayServerConfig
  const count = (record: RequestContext.RequestRecord) =>
    PaidRequest.withinRate.pipe(
      Effect.provideService(RateLimits, rates),
      Effect.provideService(RequestContext.RequestContext, record)
    )
  const plans = new Map<HttpApiEndpoint.Top, Plan>()

  const planFor = (endpoint: HttpApiEndpoint.Top): Plan => {
    const known = plans.get(endpoint)
    if (known !== undefined) return known
    const made = planOf(endpoint, bodyLimits)
    plans.set(endpoint, made)
    return made
  }

  /** A large body is not read in vain: first the key's rate, then whether its budget is used up. */
  const admitLarge = ({ isPaid, isRateLimited }: Plan, record: RequestContext.RequestRecord, caller: Caller) =>
    Effect.orDie(
      Effect.andThen(
        isRateLimited ? count(record) : Effect.void,
        isPaid ? PaidRequest.notExhausted(accounting, caller) : Effect.void
      )
    )

  /** Runs the effect with a request whose text is read within the limits. */
  const withText = <E, R>(
    request: HttpServerRequest.HttpServerRequest,
    limit: BodyLimit.Limit,
    payload: PayloadIssues.JsonPayload,
    caller: Caller,
    httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
  ) =>
    memory
      .withRoom(caller.key.hash, Math.min(lengthOf(request) ?? firstRoom, limit.held), (room) => {
        let text = ""
        const read = Effect.map(readText(request, limit.body, payload, room), (body) => {
          text = body
          return body
        })
        const bounded = new Proxy(request, {
          get: (target, name): unknown => (name === "text" ? read : Reflect.get(target, name))
        })
        return Effect.provideService(httpEffect, HttpServerRequest.HttpServerRequest, bounded).pipe(
          Effect.catchIf(isPayloadError, (error) => Effect.die(withAllIssues(payload, error, text)))
        )
      })
      .pipe(Effect.catchTag("BodyMemoryFull", Effect.die))

  const withForm = <E, R>(
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
    caller: Caller,
    request: HttpServerRequest.HttpServerRequest,
    httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
  ) => {
    const isForm = request.headers["content-type"]?.toLowerCase().startsWith("multipart/") ?? false
    const limit = plan.limitOf(isForm)
    record.bodyLimit = limit.file ?? limit.body
    const length = lengthOf(request) ?? Number.POSITIVE_INFINITY
    if (Number.isFinite(length) && length > limit.body) return tooLarge(request)
    const encoding = request.headers["content-encoding"]
    if (encoding !== undefined && encoding.toLowerCase() !== "identity") return Effect.die(refuseEncoding)
    const served =
      isForm || plan.payload === undefined
        ? withForm(limit, httpEffect)
        : withText(request, limit, plan.payload, caller, withForm(limit, httpEffect))
    return length > checkedAfterReading ? Effect.andThen(admitLarge(plan, record, caller), served) : served
  }

  const guard: Guard = (endpoint, httpEffect) =>
    HttpMethod.hasBody(endpoint.method)
      ? Effect.withFiber((fiber) => {
          const plan = planFor(endpoint)
          const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
          const record = Context.getUnsafe(fiber.context, RequestContext.RequestContext)
          if (record.caller === undefined) return Effect.die(new Error("The request is not authenticated"))
          const served = guarded(plan, record, record.caller, request, httpEffect)
          // A refused body counts as a request, or else refusals would be free without end.
          return plan.isRateLimited ? Effect.ensuring(served, Effect.ignore(count(record))) : served
        })
      : httpEffect
  return guard
})
