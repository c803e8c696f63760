/**
 * Runs any operation of the contract over an `HttpClient`: the retries by the
 * policy, the answer through the operation's own schemas.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import type { HttpClientError } from "effect/http/HttpClientError"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as Stream from "effect/Stream"
import { type ClientError, InvalidResponse, TimeoutError, TransportError } from "../ClientError.ts"
import type { GatewayConfig } from "../GatewayConfig.ts"
import { type RetryableStatus, retryableStatuses, statusOf } from "../GatewayError.ts"
import type { Operation } from "../Operation.ts"
import * as RetryBudget from "../RetryBudget.ts"
import { CurrentAttempt, RetryPolicy, type RetryReason } from "../RetryPolicy.ts"
import { idempotencyKeys, isHeader, type Parts, pathWriter, requestOf } from "./request.ts"

/** What an operation answers. */
export type Success<E extends Operation> = E["success"]["Type"]

/** The errors of its statuses. */
type StatusError<E extends Operation> = E["error"][number]["Type"]

/** What a call of an operation fails with: its statuses, and what never reached one. */
export type Failure<E extends Operation> = StatusError<E> | ClientError

/** What an endpoint can be told, once. */
export interface Traits {
  /** Costs money: every call carries an `Idempotency-Key`, the same on each of its attempts. */
  readonly paid?: boolean | undefined
  /** Doing it twice is the same as doing it once. Default: true, but for POST. */
  readonly repeatable?: boolean | undefined
}

/** A way to call the endpoints of the contract. */
export interface Execute {
  /** The whole answer, decoded. */
  readonly call: <E extends Operation>(
    endpoint: E,
    traits?: Traits
  ) => (parts: Parts) => Effect.Effect<Success<E>, Failure<E>>
  /** The answer's bytes as they come, as soon as its head is there. What cuts them short is not tried again. */
  readonly open: <E extends Operation>(
    endpoint: E
  ) => (parts: Parts) => Effect.Effect<Stream.Stream<Uint8Array, TransportError>, Failure<E>>
}

/** An attempt that brought no answer: whether and when another is worth it, and the error if none is made. */
interface Setback<E extends Operation> {
  /** Undefined: trying again is of no use. */
  readonly reason: RetryReason | undefined
  /** Seconds that the service asked to wait. */
  readonly retryAfter?: number | undefined
  readonly error: (attempts: number) => Effect.Effect<Failure<E>>
}

/** Ends an attempt for good; `describe` says why the answer is none. */
const invalid = (operation: string, response: HttpClientResponse, description: string) => ({
  reason: isRetryable(response.status) ? response.status : undefined,
  error: (attempts: number) =>
    Effect.succeed(
      new InvalidResponse({
        operation,
        status: response.status,
        requestId: response.headers["x-request-id"],
        description,
        attempts
      })
    )
})

/**
 * An executor over one `HttpClient`, with one retry budget for all calls made
 * through it.
 */
export const make = (
  client: HttpClient.HttpClient,
  config: GatewayConfig["Service"],
  compile: (schema: Schema.Top) => void
): Execute => {
  const budget = RetryBudget.make(config.retryBudget)
  const credential = Redacted.isRedacted(config.credential) ? Effect.succeed(config.credential) : config.credential
  const idempotencyKey = idempotencyKeys()

  const run = <E extends Operation, A>(
    endpoint: E,
    traits: Traits,
    onSuccess: (response: HttpClientResponse, attempts: number) => Effect.Effect<A, Setback<E>>
  ) => {
    const operation = endpoint.identifier
    const onStatus = statusDecoder(endpoint)
    const path = pathWriter(endpoint.path)
    const authorize = authorizer(operation, credential)
    const repeatable = traits.repeatable ?? (traits.paid === true || endpoint.method !== "POST")

    const onResponse = (response: HttpClientResponse, attempts: number): Effect.Effect<A, Setback<E>> =>
      response.status >= 200 && response.status < 300
        ? onSuccess(response, attempts)
        : Effect.flatMap(readText(operation, response), (text) => onStatus(response, text))

    return Effect.fnUntraced(function* (parts: Parts): Effect.fn.Return<A, Failure<E>> {
      const policy = yield* RetryPolicy
      const startedAt = yield* Clock.monotonicTimeNanos
      const deadline = Duration.toMillis(policy.deadline)
      const limit = policy.attemptTimeout === undefined ? deadline : Duration.toMillis(policy.attemptTimeout)
      const nextWait = waiter(policy)
      const givenKey = parts.headers?.["idempotency-key"]
      if (givenKey !== undefined && !isHeader.test(givenKey)) {
        const cause = new Error("the idempotency key has characters that no header can carry")
        return yield* Effect.fail(yield* unmade(operation, cause).error(1))
      }
      const request = requestOf(
        endpoint.method,
        config.baseUrl + path(parts.params),
        parts,
        traits.paid === true && givenKey === undefined ? yield* idempotencyKey : givenKey
      )

      let sent: string | undefined
      let isAnswerLost = false
      for (let attempts = 1, left = deadline; ; attempts++) {
        // An idempotency key belongs to the credential it was sent with. While nobody knows whether
        // the work was done, another credential might have it done, and paid for, again.
        const authorized: typeof authorize = isAnswerLost && sent !== undefined ? Effect.succeed(sent) : authorize
        const result = yield* Effect.flatMap(authorized, (authorization) => {
          sent = authorization
          return Effect.mapError(client.execute(request(authorization)), cutOff(operation))
        }).pipe(
          Effect.flatMap((response) => onResponse(response, attempts)),
          Effect.timeoutOrElse({
            duration: Math.min(left, limit),
            orElse: () => Effect.fail(ranOut(operation, left < limit ? deadline : limit))
          }),
          Effect.provideService(CurrentAttempt, { operation, number: attempts }),
          Effect.result
        )
        if (Result.isSuccess(result)) {
          budget.deposit()
          return result.success
        }
        const setback = result.failure
        isAnswerLost ||= traits.paid === true && (setback.reason === "transport" || setback.reason === "timeout")
        left = deadline - Number((yield* Clock.monotonicTimeNanos) - startedAt) / 1e6
        const mayRepeat = repeatable || setback.reason === 429 || setback.reason === 503
        const wait =
          setback.reason !== undefined && mayRepeat && attempts <= policy.maxRetries
            ? yield* nextWait(setback.reason, setback.retryAfter)
            : undefined
        if (wait === undefined || wait >= left || !(yield* budget.take)) {
          return yield* Effect.fail(yield* setback.error(attempts))
        }
        yield* Effect.sleep(wait)
        left -= wait
      }
    })
  }

  return {
    call: (endpoint, traits = {}) => {
      compile(endpoint.success)
      return run(endpoint, traits, successDecoder(endpoint))
    },
    open: (endpoint) =>
      run(endpoint, {}, ({ stream }, attempts) =>
        Effect.succeed(Stream.mapError(stream, (error) => cut(endpoint.identifier, error, attempts)))
      )
  }
}

const isRetryable = (status: number): status is RetryableStatus =>
  retryableStatuses.some((retryable) => retryable === status)

/** The bearer token as a header, asked for anew. */
const authorizer = (
  operation: string,
  credential: Effect.Effect<Redacted.Redacted<string>, unknown>
): Effect.Effect<string, Setback<never>> =>
  Effect.flatMap(Effect.mapError(credential, unauthorized(operation)), (token) => {
    const text = Redacted.value(token)
    return isToken.test(text)
      ? Effect.succeed(`Bearer ${text}`)
      : // The platform would refuse the header as well, and quote the token in its error.
        Effect.fail(unauthorized(operation)(new Error("it is empty, or has characters that no header can carry")))
  })

const isToken = /^[\x21-\x7e]+$/

const unauthorized =
  (operation: string) =>
  (cause: unknown): Setback<never> => ({
    reason: undefined,
    error: (attempts) =>
      Effect.succeed(new TransportError({ operation, reason: "credential", cause, attempts: attempts - 1 }))
  })

const cutOff =
  (operation: string) =>
  (error: HttpClientError): Setback<never> =>
    error.reason._tag === "InvalidUrlError" || error.reason._tag === "EncodeError"
      ? unmade(operation, error.reason.cause ?? new Error(`${error.reason.request.url} is no URL`))
      : {
          reason: "transport",
          error: (attempts) => Effect.succeed(cut(operation, error, attempts))
        }

/** With the platform's own error alone: Effect's carries the request, and that the bearer token. */
const cut = (operation: string, { reason: { cause } }: HttpClientError, attempts: number) =>
  new TransportError({ operation, reason: "connection", cause, attempts })

/** A request that cannot be put on the wire will be no better the next time. */
const unmade = (operation: string, cause: unknown): Setback<never> => ({
  reason: undefined,
  error: (attempts) =>
    Effect.succeed(new TransportError({ operation, reason: "request", cause, attempts: attempts - 1 }))
})

const ranOut = (operation: string, milliseconds: number): Setback<never> => ({
  reason: "timeout",
  error: (attempts) => Effect.succeed(new TimeoutError({ operation, milliseconds, attempts }))
})

/** The waits of one call: each reason goes through its own schedule, from its start. */
const waiter = (policy: RetryPolicy) => {
  const steps = new Map<RetryReason, Step>()
  return Effect.fnUntraced(function* (
    reason: RetryReason,
    retryAfter: number | undefined
  ): Effect.fn.Return<number | undefined> {
    const step = steps.get(reason) ?? (yield* Schedule.toStep(policy.schedule(reason)))
    steps.set(reason, step)
    const next = yield* step(yield* Clock.currentTimeMillis, reason).pipe(
      Effect.map(([, wait]) => Duration.toMillis(wait)),
      Effect.catch(() => Effect.succeed(undefined))
    )
    if (next === undefined || retryAfter === undefined) return next
    return Math.max(next, Math.min(retryAfter * 1000, Duration.toMillis(policy.maxRetryAfter)))
  })
}

type Step = Effect.Success<ReturnType<typeof Schedule.toStep<unknown, RetryReason, never, never>>>

const readText = (operation: string, response: HttpClientResponse): Effect.Effect<string, Setback<never>> =>
  Effect.mapError(response.text, cutOff(operation))

/** Undefined where the text is no JSON; JSON itself has no undefined. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const successDecoder = <E extends Operation>(endpoint: E) => {
  const decode = decoder<Success<E>>(endpoint.success)
  return (response: HttpClientResponse): Effect.Effect<Success<E>, Setback<E>> =>
    Effect.flatMap(readText(endpoint.identifier, response), (text) => {
      const json = parse(text)
      if (json === undefined) {
        return Effect.fail({ ...invalid(endpoint.identifier, response, "a body that is no JSON"), reason: undefined })
      }
      return Effect.mapError(decode(json), (error) => ({
        // The work is done, and may be paid for: asking again would only repeat it.
        ...invalid(endpoint.identifier, response, `a body that does not fit the contract: ${where(error)}`),
        reason: undefined
      }))
    })
}

/** Picks the error class by the status, and completes its envelope by what only the headers or the client know. */
const statusDecoder = <E extends Operation>(endpoint: E) => {
  const decoders = new Map(endpoint.error.map((schema) => [statusOf(schema), decoder<StatusError<E>>(schema)]))
  return (response: HttpClientResponse, text: string): Effect.Effect<never, Setback<E>> => {
    const decode = decoders.get(response.status)
    const envelope = parse(text)
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const retryAfter = retryAfterOf(response, envelope, now)
      if (decode === undefined || !isEnvelope(envelope)) {
        const description =
          decode === undefined ? "a status the operation does not have" : "a body that is no error envelope"
        return Effect.fail({ ...invalid(endpoint.identifier, response, description), retryAfter })
      }
      return Effect.fail({
        reason: isRetryable(response.status) ? response.status : undefined,
        retryAfter,
        error: (attempts: number) =>
          Effect.catch(decode(complete(envelope, response, retryAfter, attempts)), () =>
            invalid(endpoint.identifier, response, "a body that is no error envelope").error(attempts)
          )
      })
    })
  }
}

type Envelope = { readonly error: object; readonly service_metadata?: unknown }

const isEnvelope = (json: unknown): json is Envelope =>
  Predicate.hasProperty(json, "error") && Predicate.isObject(json.error)

const complete = (
  envelope: Envelope,
  response: HttpClientResponse,
  retryAfter: number | undefined,
  attempts: number
): unknown => {
  const metadata = {
    ...(retryAfter === undefined ? undefined : { retry_after: retryAfter }),
    ...objectAt(envelope.error, "metadata")
  }
  const requestId = response.headers["x-request-id"]
  const serviceMetadata = {
    ...(requestId === undefined ? undefined : { request_id: requestId }),
    ...objectAt(envelope, "service_metadata")
  }
  return { ...envelope, error: { ...envelope.error, metadata }, service_metadata: serviceMetadata, attempts }
}

const objectAt = (self: object, key: string): object | undefined =>
  Predicate.hasProperty(self, key) && Predicate.isObject(self[key]) ? self[key] : undefined

/**
 * Seconds, from the header (a number, or a date told from the response's own, or
 * from ours where a browser hides that) or else from the envelope.
 */
const retryAfterOf = (response: HttpClientResponse, envelope: unknown, now: number): number | undefined => {
  const header = response.headers["retry-after"]
  if (header !== undefined) {
    const date = response.headers["date"]
    // Left to itself, `Date.parse` takes "-3" for a day in March 2001.
    const seconds = /^\d+$/.test(header)
      ? Number(header)
      : header.endsWith("GMT")
        ? (Date.parse(header) - (date === undefined ? now : Date.parse(date))) / 1000
        : undefined
    if (seconds !== undefined && seconds >= 0) return seconds
  }
  const metadata = isEnvelope(envelope) ? objectAt(envelope.error, "metadata") : undefined
  const seconds = Predicate.hasProperty(metadata, "retry_after") ? metadata.retry_after : undefined
  return typeof seconds === "number" && seconds >= 0 ? seconds : undefined
}

/** Where in the body the first thing is that does not fit. */
const where = (error: Schema.SchemaError): string => {
  const path: Array<string> = []
  let issue: SchemaIssue.Issue | undefined = error.issue
  while (issue !== undefined) {
    if (issue._tag === "Pointer") path.push(...issue.path.map(String))
    issue = "issues" in issue ? issue.issues[0] : "issue" in issue ? issue.issue : undefined
  }
  return path.length === 0 ? "at its root" : `at ${path.join(".")}`
}

const decoder = <A>(schema: Schema.Codec<A, unknown>) => Schema.decodeUnknownEffect(schema)
