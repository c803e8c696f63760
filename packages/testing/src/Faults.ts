/**
 * What goes wrong between a program and the gateway, on purpose: statuses, slow
 * answers, cut connections, garbage from a proxy.
 *
 * A plan says which requests meet which fault: a list is met request by request
 * and then no more, a single fault always. Plans go in front of a scripted gateway
 * (`GatewayTest.layer(handlers, { faults })`) or of any `HttpClient`
 * ({@link layer}).
 *
 * @example
 * ```ts
 * import { Faults, GatewayTest, Samples } from "@model-gateway/testing"
 *
 * const layer = GatewayTest.layer(
 *   { rerank: Samples.rerankResponse, currentKey: Samples.currentKeyResponse },
 *   { faults: { rerank: Faults.first(2, Faults.status(503)), currentKey: Faults.slow("3 seconds") } }
 * )
 * ```
 *
 * @since 0.1.0
 */
import { type Metadata, phrases } from "@model-gateway/core/GatewayError"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Stream from "effect/Stream"
import * as Endpoint from "./internal/endpoint.ts"
import * as Envelope from "./internal/envelope.ts"
import type { Operation, Status as StatusOf } from "./Operation.ts"

type Answer = Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError>

/**
 * An error status of the contract.
 *
 * @since 0.1.0
 */
export type Status = Envelope.ErrorStatus

/**
 * Takes the place of an answer: the request never reaches what is behind. `status`
 * is the contract's status that it answers, if it answers one.
 *
 * @since 0.1.0
 */
export interface Fault<out S extends Status = never> {
  readonly _tag: "Fault"
  readonly status: S | undefined
  readonly answer: (request: HttpClientRequest.HttpClientRequest) => Answer
}

/**
 * Happens to the true answer on its way.
 *
 * @since 0.1.0
 */
export interface Disturbance {
  readonly _tag: "Disturbance"
  readonly disturb: (answer: Answer, request: HttpClientRequest.HttpClientRequest) => Answer
}

/**
 * What one request meets.
 *
 * @since 0.1.0
 */
export type Step<S extends Status = Status> = Fault<S> | Disturbance

/**
 * A list: one step a request in turn, then none. A single step: every request.
 *
 * @since 0.1.0
 */
export type Plan<S extends Status = Status> = Step<S> | ReadonlyArray<Step<S>>

/**
 * A plan for all requests together, or one for each operation named. A status has
 * to be one of the operation's own; {@link response} answers any other.
 *
 * @since 0.1.0
 */
export type Plans = Plan | { readonly [Op in Operation]?: Plan<StatusOf<Op>> }

const fault = <S extends Status = never>(answer: Fault<S>["answer"], status?: S): Fault<S> => ({
  _tag: "Fault",
  status,
  answer
})

/**
 * That step for the first requests, as many as told.
 *
 * @since 0.1.0
 */
export const first = <A extends Step>(count: number, step: A): ReadonlyArray<A> =>
  Array.from({ length: count }, () => step)

/**
 * Nothing: the request gets its true answer. For the middle of a list.
 *
 * @since 0.1.0
 */
export const none: Disturbance = { _tag: "Disturbance", disturb: (answer) => answer }

/**
 * Answers an error of the contract in its envelope, with `retry-after` where it is
 * given in seconds.
 *
 * @since 0.1.0
 */
export const status = <const S extends Status>(
  status: S,
  options?: {
    /** The specification's example words unless told. */
    readonly message?: string | undefined
    /** Seconds. */
    readonly retryAfter?: number | undefined
    readonly metadata?: Metadata | undefined
  }
): Fault<S> => {
  const retryAfter = options?.retryAfter
  const metadata = {
    ...(retryAfter === undefined ? undefined : { retry_after: retryAfter }),
    ...options?.metadata
  }
  const json = Envelope.make(status, options?.message ?? phrases[status], "req_fault", metadata)
  return fault(
    answerOf({
      status,
      headers: {
        "x-request-id": "req_fault",
        ...(retryAfter === undefined ? undefined : { "retry-after": String(Math.ceil(retryAfter)) })
      },
      body: JSON.stringify(json)
    }),
    status
  )
}

/**
 * Answers that response, whatever it is. Status 200, `application/json` and an
 * empty body unless told.
 *
 * @since 0.1.0
 */
export const response = (options: {
  readonly status?: number | undefined
  readonly headers?: { readonly [name: string]: string } | undefined
  readonly body?: string | undefined
}): Fault => fault(answerOf(options))

/**
 * JSON of another form than the contract's, with status 200 unless told.
 *
 * @since 0.1.0
 */
export const wrongShape: (options?: { readonly status?: number; readonly json?: unknown }) => Fault = (options) =>
  response({ status: options?.status, body: JSON.stringify(options?.json ?? { unexpected: true }) })

/**
 * A body that says it is JSON and breaks off in the middle, with status 200 unless
 * told.
 *
 * @since 0.1.0
 */
export const notJson: (options?: { readonly status?: number }) => Fault = (options) =>
  response({ status: options?.status, body: '{"id": "rr_' })

/**
 * A proxy's page of HTML, with status 502 unless told.
 *
 * @since 0.1.0
 */
export const html: (options?: { readonly status?: number }) => Fault = (options) => {
  const status = options?.status ?? 502
  return response({
    status,
    headers: { "content-type": "text/html; charset=utf-8" },
    body: `<!DOCTYPE html><html><head><title>${status}</title></head><body><h1>proxy</h1></body></html>`
  })
}

/**
 * The connection is cut before an answer comes. Whether the gateway did the work
 * nobody knows; the scripted one did not.
 *
 * @since 0.1.0
 */
export const cut: Fault = fault((request) =>
  Effect.fail(
    new HttpClientError.HttpClientError({
      reason: new HttpClientError.TransportError({ request, cause: reset(), description: "connection reset" })
    })
  )
)

/**
 * No answer ever comes.
 *
 * @since 0.1.0
 */
export const silence: Fault = fault(() => Effect.never)

/**
 * The answer takes that much longer, by the clock in force: the test's, in a test
 * of `@effect/vitest`.
 *
 * @since 0.1.0
 */
export const slow = (by: Duration.Input): Disturbance => ({
  _tag: "Disturbance",
  disturb: (answer) => Effect.delay(answer, by)
})

/**
 * The head of the answer comes, then as many bytes of its body as told (10 unless
 * told), then the connection is cut. Here the gateway did the work.
 *
 * @since 0.1.0
 */
export const cutBody = (options?: { readonly after?: number }): Disturbance => ({
  _tag: "Disturbance",
  disturb: (answer, request) =>
    Effect.map(answer, (response) =>
      HttpClientResponse.fromWeb(
        request,
        new Response(Stream.toReadableStream(broken(response.stream, options?.after ?? 10)), {
          status: response.status,
          headers: { ...response.headers }
        })
      )
    )
})

const broken = (body: Stream.Stream<Uint8Array, unknown>, after: number): Stream.Stream<Uint8Array, unknown> =>
  Stream.concat(
    body.pipe(
      Stream.mapAccum(
        () => after,
        (left, chunk: Uint8Array) => [Math.max(0, left - chunk.length), [chunk.subarray(0, left)]] as const
      )
    ),
    Stream.fail(reset())
  )

const reset = (): Error => Object.assign(new Error("the connection was cut"), { code: "ECONNRESET" })

const answerOf =
  (options: {
    readonly status?: number | undefined
    readonly headers?: { readonly [name: string]: string } | undefined
    readonly body?: string | undefined
  }): Fault["answer"] =>
  (request) =>
    Effect.sync(() =>
      HttpClientResponse.fromWeb(
        request,
        new Response(options.body ?? null, {
          status: options.status ?? 200,
          headers: { "content-type": "application/json", ...options.headers }
        })
      )
    )

/**
 * Whether a value is a {@link Fault}.
 *
 * @since 0.1.0
 */
export const isFault = (value: unknown): value is Fault<Status> =>
  Predicate.isTagged(value, "Fault") && Predicate.hasProperty(value, "answer")

const isPlan = (plans: Plans): plans is Plan => Array.isArray(plans) || "_tag" in plans

/**
 * That client with those faults before it. Each run of the Effect counts requests
 * from the start.
 *
 * @since 0.1.0
 */
export const before = (client: HttpClient.HttpClient, plans: Plans): Effect.Effect<HttpClient.HttpClient> =>
  Effect.sync(() => {
    const met = new Map<string, number>()
    const next = (request: HttpClientRequest.HttpClientRequest): Step => {
      const operation = isPlan(plans) ? undefined : operationOf(request)
      const plan = isPlan(plans) ? plans : operation === undefined ? none : (plans[operation] ?? none)
      if ("_tag" in plan) return plan
      const count = met.get(operation ?? "") ?? 0
      met.set(operation ?? "", count + 1)
      return plan[count] ?? none
    }
    return HttpClient.transform(client, (answer, request) =>
      Effect.suspend(() => {
        const step = next(request)
        return step._tag === "Fault" ? step.answer(request) : step.disturb(answer, request)
      })
    )
  })

const operationOf = (request: HttpClientRequest.HttpClientRequest): Operation | undefined => {
  const found = Option.map(HttpClientRequest.toUrl(request), (url) => Endpoint.find(request.method, url.pathname))
  return Option.isSome(found) && found.value?._tag === "Found" ? found.value.operation : undefined
}

/**
 * The `HttpClient` in the context with those faults before it: a real one too.
 *
 * @since 0.1.0
 */
export const layer = (plans: Plans): Layer.Layer<HttpClient.HttpClient, never, HttpClient.HttpClient> =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.flatMap(HttpClient.HttpClient, (client) => before(client, plans))
  )
