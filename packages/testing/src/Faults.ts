/**
 * Injects faults between a program and the gateway: error statuses, slow responses, closed
 * connections, invalid responses of a proxy.
 *
 * A plan says which fault applies to which request. A list applies one fault to each request in
 * order, then none. A single fault applies to all requests. Use plans with a scripted gateway
 * (`GatewayTest.layer(handlers, { faults })`) or with any `HttpClient` ({@link layer}).
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
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
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
import type { OperationName, Status as StatusOf } from "./Contract.ts"

type Answer = Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError>

/**
 * An error status of the contract.
 *
 * @category models
 * @since 0.1.0
 */
export type Status = Envelope.ErrorStatus

/**
 * A fault that replaces the response. The request does not reach the gateway. `status` is the
 * contract's status that it returns, if any.
 *
 * @category models
 * @since 0.1.0
 */
export interface Fault<out S extends Status = never> {
  readonly _tag: "Fault"
  readonly status: S | undefined
  readonly answer: (request: HttpClientRequest.HttpClientRequest) => Answer
}

/**
 * A fault that changes the gateway's real response.
 *
 * @category models
 * @since 0.1.0
 */
export interface Disturbance {
  readonly _tag: "Disturbance"
  readonly disturb: (answer: Answer, request: HttpClientRequest.HttpClientRequest) => Answer
}

/**
 * The fault for one request.
 *
 * @category models
 * @since 0.1.0
 */
export type Step<S extends Status = Status> = Fault<S> | Disturbance

/**
 * A step for all requests within a time. See {@link outage}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Outage<out S extends Status = never> {
  readonly _tag: "Outage"
  readonly step: Step<S>
  /** Counted from when the layer is built, by the current `Clock`. */
  readonly after: Duration.Duration
  readonly lasts: Duration.Duration
}

/**
 * A list has one step for each request in order, then none. A single step applies to all requests,
 * an outage to those within its time.
 *
 * @category models
 * @since 0.1.0
 */
export type Plan<S extends Status = Status> = Step<S> | ReadonlyArray<Step<S>> | Outage<S>

/**
 * One plan for all requests, or a plan for each operation. A status must be one that the operation
 * can return. For any other, use {@link response}.
 *
 * @category models
 * @since 0.1.0
 */
export type Plans = Plan | { readonly [Op in OperationName]?: Plan<StatusOf<Op>> }

const fault = <S extends Status = never>(answer: Fault<S>["answer"], status?: S): Fault<S> => ({
  _tag: "Fault",
  status,
  answer
})

/**
 * Applies a step to the first `count` requests.
 *
 * @category constructors
 * @since 0.1.0
 */
export const first = <A extends Step>(count: number, step: A): ReadonlyArray<A> =>
  Array.from({ length: count }, () => step)

/**
 * No fault: the request gets its real response. Use it within a list.
 *
 * @category constants
 * @since 0.1.0
 */
export const none: Disturbance = { _tag: "Disturbance", disturb: (answer) => answer }

/**
 * Applies a step to all requests within a time, by the current `Clock`: the gateway is down for a
 * minute, then it is back. `GatewayTest.fastForward` moves the TestClock through it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const outage = <S extends Status = never>(
  lasts: Duration.Input,
  options?: {
    /** When the outage begins, counted from when the layer is built. Default: at once. */
    readonly after?: Duration.Input | undefined
    /** Default: {@link cut}. */
    readonly step?: Step<S> | undefined
  }
): Outage<S> => ({
  _tag: "Outage",
  step: options?.step ?? cut,
  after: Duration.fromInputUnsafe(options?.after ?? 0),
  lasts: Duration.fromInputUnsafe(lasts)
})

/**
 * Returns an error of the contract in its envelope, with a `retry-after` header if `retryAfter` is
 * set.
 *
 * @category constructors
 * @since 0.1.0
 */
export const status = <const S extends Status>(
  status: S,
  options?: {
    /** Default: the specification's example message. */
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
 * Returns any response. Defaults: status 200, `application/json`, an empty body.
 *
 * @category constructors
 * @since 0.1.0
 */
export const response = (options: {
  readonly status?: number | undefined
  readonly headers?: { readonly [name: string]: string } | undefined
  readonly body?: string | undefined
}): Fault => fault(answerOf(options))

/**
 * Returns JSON that does not match the contract. Default for `status`: 200.
 *
 * @category constructors
 * @since 0.1.0
 */
export const wrongShape: (options?: { readonly status?: number; readonly json?: unknown }) => Fault = (options) =>
  response({ status: options?.status, body: JSON.stringify(options?.json ?? { unexpected: true }) })

/**
 * Returns incomplete JSON. Default for `status`: 200.
 *
 * @category constructors
 * @since 0.1.0
 */
export const notJson: (options?: { readonly status?: number }) => Fault = (options) =>
  response({ status: options?.status, body: '{"id": "rr_' })

/**
 * Returns an HTML page, like a proxy. Default for `status`: 502.
 *
 * @category constructors
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
 * Closes the connection before a response arrives. The program cannot know whether the gateway did
 * the work. Here it did not.
 *
 * @category constructors
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
 * Never responds.
 *
 * @category constructors
 * @since 0.1.0
 */
export const silence: Fault = fault(() => Effect.never)

/**
 * Delays the real response, by the current `Clock`: the TestClock in a test of `@effect/vitest`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const slow = (by: Duration.Input): Disturbance => ({
  _tag: "Disturbance",
  disturb: (answer) => Effect.delay(answer, by)
})

/**
 * Closes the connection within the body of the real response, after the given number of bytes. The
 * gateway did the work. Default for `after`: 10.
 *
 * @category constructors
 * @since 0.1.0
 */
export const cutBody = (options?: { readonly after?: number }): Disturbance =>
  endBody(options?.after ?? 10, Stream.fail(reset()))

/**
 * Sends the given number of bytes of the real response's body, then nothing more. The connection
 * stays open. The gateway did the work. Default for `after`: 10.
 *
 * @category constructors
 * @since 0.1.0
 */
export const stallBody = (options?: { readonly after?: number }): Disturbance =>
  endBody(options?.after ?? 10, Stream.never)

const endBody = (after: number, end: Stream.Stream<never, unknown>): Disturbance => ({
  _tag: "Disturbance",
  disturb: (answer, request) =>
    Effect.map(answer, (response) =>
      HttpClientResponse.fromWeb(
        request,
        new Response(Stream.toReadableStream(Stream.concat(start(response.stream, after), end)), {
          status: response.status,
          headers: { ...response.headers }
        })
      )
    )
})

/** The first bytes. Nothing is read after them, because the body may be slow or never end. */
const start = (body: Stream.Stream<Uint8Array, unknown>, length: number): Stream.Stream<Uint8Array, unknown> =>
  length === 0
    ? Stream.empty
    : body.pipe(
        Stream.mapAccum(
          () => length,
          (before, chunk: Uint8Array) => {
            const left = Math.max(0, before - chunk.length)
            return [left, [{ part: chunk.subarray(0, before), left }]] as const
          }
        ),
        Stream.takeUntil(({ left }) => left === 0),
        Stream.map(({ part }) => part)
      )

const reset = (): Error => Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" })

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
 * @category guards
 * @since 0.1.0
 */
export const isFault = (value: unknown): value is Fault<Status> =>
  Predicate.isTagged(value, "Fault") && Predicate.hasProperty(value, "answer")

const isPlan = (plans: Plans): plans is Plan => Array.isArray(plans) || "_tag" in plans

/**
 * Makes a client that applies the faults before the given client. Each run of the Effect counts
 * requests from the beginning.
 *
 * @category combinators
 * @since 0.1.0
 */
export const before = (client: HttpClient.HttpClient, plans: Plans): Effect.Effect<HttpClient.HttpClient> =>
  Effect.map(Clock.currentTimeMillis, (startedAt) => {
    const met = new Map<string, number>()
    const next = (request: HttpClientRequest.HttpClientRequest, now: number): Step => {
      const operation = isPlan(plans) ? undefined : operationOf(request)
      const plan = isPlan(plans) ? plans : operation === undefined ? none : (plans[operation] ?? none)
      if ("_tag" in plan) {
        if (plan._tag !== "Outage") return plan
        const since = now - startedAt - Duration.toMillis(plan.after)
        return since >= 0 && since < Duration.toMillis(plan.lasts) ? plan.step : none
      }
      const count = met.get(operation ?? "") ?? 0
      met.set(operation ?? "", count + 1)
      return plan[count] ?? none
    }
    return HttpClient.transform(client, (answer, request) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const step = next(request, now)
        return step._tag === "Fault" ? step.answer(request) : step.disturb(answer, request)
      })
    )
  })

const operationOf = (request: HttpClientRequest.HttpClientRequest): OperationName | undefined => {
  const found = Option.map(HttpClientRequest.toUrl(request), (url) => Endpoint.find(request.method, url.pathname))
  return Option.isSome(found) && found.value?._tag === "Found" ? found.value.operation : undefined
}

/**
 * Applies the faults to the `HttpClient` in the context, which can be a real one.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (plans: Plans): Layer.Layer<HttpClient.HttpClient, never, HttpClient.HttpClient> =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.flatMap(HttpClient.HttpClient, (client) => before(client, plans))
  )
