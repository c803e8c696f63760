/**
 * An in-process gateway whose responses a test defines. Requests go through the real client, with
 * its decoding, retries and time limits, and are validated against the real contract. There is no
 * server and no socket, and time is the TestClock's. It runs wherever the client runs, including
 * browsers.
 *
 * @example
 * ```ts
 * import { Gateway } from "@model-gateway/core"
 * import { GatewayTest, Samples } from "@model-gateway/testing"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const gateway = yield* Gateway.Gateway
 *   return yield* gateway.rerank({ model: "m", query: "pears", documents: ["apples", "pears"] })
 * }).pipe(Effect.provide(GatewayTest.layer({ rerank: Samples.rerankResponse })))
 * ```
 *
 * @since 0.1.0
 */
import * as Gateway from "@model-gateway/core/Gateway"
import type { GatewayClient } from "@model-gateway/core/GatewayClient"
import * as GatewayConfig from "@model-gateway/core/GatewayConfig"
import { phrases } from "@model-gateway/core/GatewayError"
import * as RetryPolicy from "@model-gateway/core/RetryPolicy"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as HttpClient from "effect/http/HttpClient"
import type { HttpClientError } from "effect/http/HttpClientError"
import type { HttpClientRequest } from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Faults from "./Faults.ts"
import * as Endpoint from "./internal/endpoint.ts"
import * as Envelope from "./internal/envelope.ts"
import * as Reply from "./internal/reply.ts"
import type { Failure, OperationName, Request, Status, Success } from "./Contract.ts"
import * as Recorder from "./Recorder.ts"

/**
 * A request as a handler receives it: its decoded parts, and
 *
 * - `call`: the number of the request, counted from 1 for each operation, including retries;
 * - `http`: the HTTP request, for anything that is not in the contract.
 *
 * @category models
 * @since 0.1.0
 */
export type Call<Op extends OperationName> = Request<Op> & { readonly call: number; readonly http: HttpClientRequest }

/**
 * A response: the success in its wire format, an Effect that succeeds with it or fails with one of
 * the operation's errors (an error itself is such an Effect), or a fault.
 *
 * @category models
 * @since 0.1.0
 */
export type Answer<Op extends OperationName> =
  | Success<Op>
  | Effect.Effect<Success<Op>, Failure<Op>>
  | Faults.Fault<Status<Op>>

/**
 * The script for one request: a response, or a function from the request to a response.
 *
 * @category models
 * @since 0.1.0
 */
export type Script<Op extends OperationName> = Answer<Op> | ((call: Call<Op>) => Answer<Op>)

/**
 * The handler of an operation: one script for all requests, or a list with one script for each
 * request in order, including retries. A request after the end of the list fails the test.
 *
 * @category models
 * @since 0.1.0
 */
export type Handler<Op extends OperationName> = Script<Op> | ReadonlyArray<Script<Op>>

/**
 * Handlers for the operations that the program under test may call. Calling any other operation
 * fails the test with a {@link ScriptError}.
 *
 * @category models
 * @since 0.1.0
 */
export type Handlers = { readonly [Op in OperationName]?: Handler<Op> }

/**
 * The test's script is wrong: the program called an operation without a handler, or the handler's
 * response violates the contract. It is raised as a defect in the call, and again when the layer is
 * released, so that the test fails even if the program catches defects or calls from a detached
 * fiber.
 *
 * @category errors
 * @since 0.1.0
 */
export class ScriptError extends Data.TaggedError("ScriptError")<{
  readonly operation: OperationName
  readonly message: string
}> {}

/**
 * @category options
 * @since 0.1.0
 */
export interface Options extends Partial<GatewayConfig.Options> {
  /** Faults to inject before the handlers are called. Default: none. */
  readonly faults?: Faults.Plans | undefined
}

/**
 * Makes an `HttpClient` that responds with the handlers, for clients other than `Gateway`. Closing
 * the scope fails with the first {@link ScriptError}, or other defect of a handler, that the
 * program has not failed with.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeHttpClient = (handlers: Handlers): Effect.Effect<HttpClient.HttpClient, never, Scope.Scope> =>
  Effect.gen(function* () {
    const defects: Array<unknown> = []
    yield* Effect.addFinalizer((exit) => {
      const reported = Exit.isFailure(exit) ? defectsOf(exit.cause) : []
      return defects.length === 0 || defects.some((defect) => reported.includes(defect))
        ? Effect.void
        : Effect.die(defects[0])
    })
    const calls = new Map<OperationName, number>()
    let requests = 0
    return HttpClient.make((request, url) =>
      Effect.suspend(() => {
        const requestId = `req_test_${++requests}`
        const found = Endpoint.find(request.method, url.pathname)
        if (found === undefined) return Reply.refuse(request, requestId, 404, `${phrases[404]}: no such path`)
        if (found._tag === "WrongMethod") {
          const message = `method not allowed: this path supports ${found.allow}`
          return Reply.refuse(request, requestId, 405, message, { headers: { allow: found.allow } })
        }
        if (!/^Bearer \S/.test(request.headers["authorization"] ?? "")) {
          return Reply.refuse(request, requestId, 401, phrases[401])
        }
        return Endpoint.decode(found, request, url).pipe(
          Effect.matchEffect({
            onFailure: (issues) => {
              // A malformed parameter is a 404 if the operation has no 400.
              const status = Endpoint.statusesOf(found.endpoint).includes(400) ? 400 : 404
              const message = `${phrases[status]}: ${Envelope.summary(issues)}`
              return Reply.refuse(request, requestId, status, message, { metadata: { issues } })
            },
            onSuccess: (parts) => {
              const call = (calls.get(found.operation) ?? 0) + 1
              calls.set(found.operation, call)
              return Effect.suspend(() =>
                run(found, handlers[found.operation], request, requestId, {
                  ...parts,
                  operation: found.operation,
                  call,
                  http: request
                })
              ).pipe(Effect.onError((cause) => Effect.sync(() => defects.push(...defectsOf(cause)))))
            }
          })
        )
      })
    )
  })

type Response = Effect.Effect<HttpClientResponse, HttpClientError>

const run = (
  found: Endpoint.Found,
  handler: unknown,
  request: HttpClientRequest,
  requestId: string,
  call: Endpoint.Parts & { readonly operation: OperationName; readonly call: number; readonly http: HttpClientRequest }
): Response => {
  const { endpoint, operation } = found
  const problem = (message: string) => Effect.die(new ScriptError({ operation, message }))
  if (handler === undefined) {
    return problem(
      `the program called "${operation}" (${endpoint.method} ${endpoint.path}), and this test has no handler for it. ` +
        `Add a handler: GatewayTest.layer({ ${operation}: … }).`
    )
  }
  const script: unknown = Array.isArray(handler) ? handler[call.call - 1] : handler
  if (script === undefined) {
    return problem(
      `the program called "${operation}" ${call.call} times (including retries), and the list has only ` +
        `${Array.isArray(handler) ? handler.length : 0} responses. Add responses, or use a single response for all requests.`
    )
  }
  const answer: unknown = isFunction(script) ? script(call) : script
  if (Faults.isFault(answer)) return answer.answer(request)
  return Effect.matchEffect(isEffect(answer) ? answer : Effect.succeed(answer), {
    onSuccess: (value) =>
      Effect.matchEffect(Endpoint.encodeSuccess(endpoint, value), {
        onSuccess: (encoded) =>
          Effect.map(Effect.context<never>(), (context) => Reply.succeed(request, requestId, encoded, context)),
        onFailure: (issues) =>
          problem(`the handler of "${operation}" returned an invalid response: ${Envelope.summary(issues)}`)
      }),
    onFailure: (error) =>
      Effect.matchEffect(Endpoint.encodeFailure(endpoint, error), {
        onSuccess: (failure) => Effect.sync(() => Reply.fail(request, requestId, failure)),
        onFailure: (issues) =>
          problem(
            `the handler of "${operation}" failed with an error of another operation: ${Envelope.summary(issues)}`
          )
      })
  })
}

const defectsOf = (cause: Cause.Cause<unknown>): ReadonlyArray<unknown> =>
  cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect)

const isEffect = (value: unknown): value is Effect.Effect<unknown, unknown> => Effect.isEffect(value)

const isFunction = (value: unknown): value is (call: unknown) => unknown => typeof value === "function"

/**
 * Provides a gateway with scripted responses, and a recorder of its requests. The client's retry
 * policy applies. Use {@link layerNoWaits} to remove its delays.
 *
 * `options` includes the options of `GatewayConfig.make`, for example to test a failing credential
 * or a small retry budget. Default base URL: `http://gateway.test/api/v1`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  handlers: Handlers,
  options: Options = {}
): Layer.Layer<Gateway.Gateway | GatewayClient | Recorder.Recorder> => {
  const scripted = Layer.effectContext(
    Effect.gen(function* () {
      const recorder = yield* Recorder.make
      const http = yield* Faults.before(yield* makeHttpClient(handlers), options.faults ?? Faults.none)
      return Context.make(Recorder.Recorder, recorder).pipe(Context.add(HttpClient.HttpClient, recorder.record(http)))
    })
  )
  const config = Layer.succeed(
    GatewayConfig.GatewayConfig,
    GatewayConfig.make({
      ...options,
      baseUrl: options.baseUrl ?? "http://gateway.test/api/v1",
      credential: options.credential ?? Redacted.make("test")
    })
  )
  return Layer.fresh(Gateway.layer).pipe(Layer.provide(config), Layer.provideMerge(scripted))
}

/**
 * Provides the scripted gateway as an `HttpClient`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerHttpClient = (handlers: Handlers): Layer.Layer<HttpClient.HttpClient> =>
  Layer.effect(HttpClient.HttpClient, makeHttpClient(handlers))

/**
 * Provides the default retry policy without delays, also for `Retry-After`, so that a test of
 * retries need not adjust the clock. It does not change a policy that the program itself sets.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerNoWaits: Layer.Layer<never> = Layer.succeed(
  RetryPolicy.RetryPolicy,
  RetryPolicy.make({ schedule: () => Schedule.forever, ignoreRetryAfter: true })
)

/**
 * Runs an effect while it moves the TestClock, one second at a time, until the effect ends. Waits,
 * time limits and outages pass without a test that knows how long they last.
 *
 * Without the TestClock, which `it.effect` of `@effect/vitest` provides, this is a defect. So is an
 * effect that has not ended after `within`. Default: 1 hour.
 *
 * @example
 * ```ts
 * import { Gateway, RetryPolicy } from "@model-gateway/core"
 * import { Faults, GatewayTest, Samples } from "@model-gateway/testing"
 * import { Effect } from "effect"
 *
 * const survives = Effect.gen(function*() {
 *   const gateway = yield* Gateway.Gateway
 *   return yield* GatewayTest.fastForward(gateway.rerank(Samples.rerankRequest))
 * }).pipe(
 *   Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.make({ maxRetries: 20 })),
 *   Effect.provide(GatewayTest.layer({ rerank: Samples.rerankResponse }, { faults: Faults.outage("1 minute") }))
 * )
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const fastForward = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  options?: { readonly within?: Duration.Input | undefined }
): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    if (!Predicate.hasProperty(yield* Clock.Clock, "adjust")) {
      return yield* Effect.die(
        new Error("GatewayTest.fastForward needs the TestClock: use it.effect of @effect/vitest, or TestClock.layer().")
      )
    }
    const within = Duration.fromInputUnsafe(options?.within ?? "1 hour")
    const endsAt = (yield* Clock.currentTimeMillis) + Duration.toMillis(within)
    const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
    for (;;) {
      // Work outside of the clock, such as reading the body of a response, needs real time.
      yield* TestClock.withLive(Effect.sleep(1))
      if (fiber.pollUnsafe() !== undefined) return yield* Fiber.join(fiber)
      if ((yield* Clock.currentTimeMillis) >= endsAt) {
        return yield* Effect.die(
          new Error(`GatewayTest.fastForward: the effect has not ended within ${Duration.format(within)}.`)
        )
      }
      yield* TestClock.adjust("1 second")
    }
  })
