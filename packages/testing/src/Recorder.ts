/**
 * Records the requests of a program in order, each with its attempt number and its outcome.
 *
 * `GatewayTest.layer` includes a recorder. {@link layer} adds one to any other `HttpClient`.
 *
 * @example
 * ```ts
 * import { Recorder } from "@model-gateway/testing"
 * import { Effect } from "effect"
 *
 * const attempts = Effect.map(Recorder.of("rerank"), (sent) => sent.map(({ attempt, outcome }) => [attempt, outcome]))
 * ```
 *
 * @since 0.1.0
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import { CurrentAttempt } from "@model-gateway/core/RetryPolicy"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Endpoint from "./internal/endpoint.ts"
import type { OperationName, Request } from "./Contract.ts"

/**
 * The outcome of a request: the status of its response, `"cut"` if the connection failed,
 * `"abandoned"` if the program stopped waiting, `"pending"` while it waits.
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome = number | "cut" | "abandoned" | "pending"

/**
 * The recorded data of any request.
 *
 * @category models
 * @since 0.1.0
 */
export interface Sent {
  readonly method: string
  /** Includes the query: `/api/v1/files?limit=2`. */
  readonly path: string
  /** 1 for a call's first attempt, 2 for its first retry. Undefined if another client sent it. */
  readonly attempt: number | undefined
  /** The same for all attempts of a paid call. */
  readonly idempotencyKey: string | undefined
  /** Names are in lower case. The credential is `<redacted>`. */
  readonly headers: { readonly [name: string]: string }
  /** The problems with the request. Empty if it is valid. */
  readonly issues: ReadonlyArray<Issue>
  readonly outcome: Outcome
}

/**
 * A recorded request of one operation.
 *
 * @category models
 * @since 0.1.0
 */
export interface RecordedOf<Op extends OperationName> extends Sent {
  readonly operation: Op
  /** The request's parts, decoded with the operation's schemas. Undefined if they are invalid. */
  readonly request: Request<Op> | undefined
}

/**
 * A recorded request, discriminated by `operation`. `operation` is undefined if the contract has no
 * such path and method.
 *
 * @category models
 * @since 0.1.0
 */
export type Recorded =
  | { readonly [Op in OperationName]: RecordedOf<Op> }[OperationName]
  | (Sent & { readonly operation: undefined; readonly request: undefined })

/**
 * @category services
 * @since 0.1.0
 */
export class Recorder extends Context.Service<
  Recorder,
  {
    /** All requests so far, oldest first. */
    readonly requests: Effect.Effect<ReadonlyArray<Recorded>>
    /** The requests of one operation, oldest first. */
    readonly of: <Op extends OperationName>(operation: Op) => Effect.Effect<ReadonlyArray<RecordedOf<Op>>>
    /** Deletes all recorded requests. */
    readonly clear: Effect.Effect<void>
    /** Returns a client that records its requests here. */
    readonly record: (client: HttpClient.HttpClient) => HttpClient.HttpClient
  }
>()("@model-gateway/testing/Recorder") {}

/**
 * Makes an empty recorder.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<Recorder["Service"]> = Effect.sync(() => {
  let entries: Array<Entry> = []

  const add = Effect.fnUntraced(function* (request: HttpClientRequest.HttpClientRequest) {
    const attempt = yield* CurrentAttempt
    const url = Option.getOrUndefined(HttpClientRequest.toUrl(request))
    const found = url === undefined ? undefined : Endpoint.find(request.method, url.pathname)
    const entry: Entry = {
      operation: found?._tag === "Found" ? found.operation : undefined,
      method: request.method,
      path: url === undefined ? request.url : url.pathname + url.search,
      attempt: attempt?.number,
      idempotencyKey: request.headers["idempotency-key"],
      headers: redact(request.headers),
      ...(yield* read(found, request, url)),
      outcome: "pending"
    }
    entries.push(entry)
    return entry
  })

  // The parts match the operation because its endpoint decoded them, which types cannot express.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const snapshot = (): ReadonlyArray<Recorded> => entries.map((entry) => ({ ...entry }) as Recorded)

  return {
    requests: Effect.sync(snapshot),
    of: (operation) => Effect.sync(() => snapshot().filter(isOf(operation))),
    clear: Effect.sync(() => {
      entries = []
    }),
    record: (client) =>
      HttpClient.transform(client, (answer, request) =>
        Effect.flatMap(add(request), (entry) =>
          Effect.onExit(answer, (exit) =>
            Effect.sync(() => {
              entry.outcome = Exit.isSuccess(exit)
                ? exit.value.status
                : Cause.hasFails(exit.cause)
                  ? "cut"
                  : "abandoned"
            })
          )
        )
      )
  }
})

interface Entry extends Sent {
  readonly operation: OperationName | undefined
  readonly request: object | undefined
  outcome: Outcome
}

const isOf =
  <Op extends OperationName>(operation: Op) =>
  (recorded: Recorded): recorded is Extract<Recorded, RecordedOf<Op>> =>
    recorded.operation === operation

const read = (
  found: ReturnType<typeof Endpoint.find>,
  request: HttpClientRequest.HttpClientRequest,
  url: URL | undefined
): Effect.Effect<Pick<Entry, "request" | "issues">> =>
  found?._tag !== "Found" || url === undefined
    ? Effect.succeed({ request: undefined, issues: [] })
    : Effect.match(Endpoint.decode(found, request, url), {
        onSuccess: (parts) => ({ request: { operation: found.operation, ...parts }, issues: [] }),
        onFailure: (issues): Pick<Entry, "request" | "issues"> => ({ request: undefined, issues })
      })

const redact = (headers: { readonly [name: string]: string }): { readonly [name: string]: string } =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, name === "authorization" ? "<redacted>" : value])
  )

/**
 * All requests so far, oldest first.
 *
 * @category getters
 * @since 0.1.0
 */
export const requests: Effect.Effect<ReadonlyArray<Recorded>, never, Recorder> = Effect.flatMap(
  Recorder,
  (recorder) => recorder.requests
)

/**
 * The requests of one operation, oldest first.
 *
 * @category getters
 * @since 0.1.0
 */
export const of = <Op extends OperationName>(
  operation: Op
): Effect.Effect<ReadonlyArray<RecordedOf<Op>>, never, Recorder> =>
  Effect.flatMap(Recorder, (recorder) => recorder.of(operation))

/**
 * Adds a recorder to the `HttpClient` in the context, which can be a real one.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Recorder | HttpClient.HttpClient, never, HttpClient.HttpClient> = Layer.effectContext(
  Effect.gen(function* () {
    const recorder = yield* make
    const client = recorder.record(yield* HttpClient.HttpClient)
    return Context.make(Recorder, recorder).pipe(Context.add(HttpClient.HttpClient, client))
  })
)
