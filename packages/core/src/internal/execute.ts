/**
 * Runs any operation of the contract over an `HttpClient`: retries by the policy, and decodes the
 * response with the operation's schemas.
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
import { isRetryableStatus, statusOf } from "../GatewayError.ts"
import type { Operation } from "../Operation.ts"
import * as RetryBudget from "../RetryBudget.ts"
import { CurrentAttempt, RetryPolicy, type RetryReason } from "../RetryPolicy.ts"
import { idempotencyKeys, isHeader, type Parts, pathWriter, requestOf } from "./request.ts"

/** The decoded success of an operation. */
export type Success<E extends Operation> = E["success"]["Type"]

/** The errors for the statuses of an operation. */
type StatusError<E extends Operation> = E["error"][number]["Type"]

/** The errors of a call: the operation's statuses and the client errors. */
export type Failure<E extends Operation> = StatusError<E> | ClientError

/** Calls the operations of the contract. */
export interface Execute {
  /** Returns the decoded response. */
  readonly call: <E extends Operation>(endpoint: E) => (parts: Parts) => Effect.Effect<Success<E>, Failure<E>>
  /**
   * Returns a stream of the response's bytes once its headers arrive. A broken stream is not
   * retried.
   */
  readonly open: <E extends Operation>(
    endpoint: E
  ) => (parts: Parts) => Effect.Effect<Stream.Stream<Uint8Array, TransportError>, Failure<E>>
}

/** A failed attempt: whether and when to retry, and the error of the call if it is not retried. */
interface AttemptFailure<E extends Operation> {
  /** Undefined: do not retry. */
  readonly reason: RetryReason | undefined
  /** Seconds to wait, as requested by the service. */
  readonly retryAfter?: number | undefined
  readonly error: (attempts: number) => Effect.Effect<Failure<E>>
}

/** The failure of an attempt whose response violates the contract in the described way. */
const invalid = (operation: string, response: HttpClientResponse, description: string) => ({
  reason: isRetryableStatus(response.status) ? response.status : undefined,
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
 * Makes an executor over one `HttpClient`, with one retry budget for all its calls.
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
    onSuccess: (response: HttpClientResponse, attempts: number) => Effect.Effect<A, AttemptFailure<E>>
  ) => {
    const operation = endpoint.identifier
    const onStatus = statusDecoder(endpoint)
    const path = pathWriter(endpoint.path)
    const authorize = authorizer(operation, credential)
    const repeatable = endpoint.idempotency !== "never"
    const hasKey = endpoint.idempotency === "by key"

    const onResponse = (response: HttpClientResponse, attempts: number): Effect.Effect<A, AttemptFailure<E>> =>
      response.status >= 200 && response.status < 300
        ? onSuccess(response, attempts)
        : Effect.flatMap(readText(operation, response), (text) => onStatus(response, text))

    return Effect.fnUntraced(function* (parts: Parts): Effect.fn.Return<A, Failure<E>> {
      const policy = yield* RetryPolicy
      const startedAt = yield* Clock.monotonicTimeNanos
      const deadline = Duration.toMillis(policy.deadline)
      const limit = policy.attemptTimeout === undefined ? deadline : Duration.toMillis(policy.attemptTimeout)
      const nextDelay = makeNextDelay(policy)
      const givenKey = parts.headers?.["idempotency-key"]
      if (givenKey !== undefined && !isHeader.test(givenKey)) {
        const cause = new Error("the idempotency key has characters that are not allowed in an HTTP header")
        return yield* Effect.fail(yield* invalidRequest(operation, cause).error(1))
      }
      const request = requestOf(
        endpoint.method,
        config.baseUrl + path(parts.params),
        parts,
        hasKey && givenKey === undefined ? yield* idempotencyKey : givenKey
      )

      let sent: string | undefined
      let isAnswerLost = false
      for (let attempts = 1, left = deadline; ; attempts++) {
        // The service scopes an idempotency key to the credential. If the work may have been done,
        // a retry with another credential could do and charge it a second time.
        const authorized: typeof authorize = isAnswerLost && sent !== undefined ? Effect.succeed(sent) : authorize
        const result = yield* Effect.flatMap(authorized, (authorization) => {
          sent = authorization
          return Effect.mapError(client.execute(request(authorization)), requestFailure(operation))
        }).pipe(
          Effect.flatMap((response) => onResponse(response, attempts)),
          Effect.timeoutOrElse({
            duration: Math.min(left, limit),
            orElse: () => Effect.fail(timedOut(operation, left < limit ? deadline : limit))
          }),
          Effect.provideService(CurrentAttempt, { operation, number: attempts }),
          Effect.result
        )
        if (Result.isSuccess(result)) {
          budget.deposit()
          return result.success
        }
        const failure = result.failure
        isAnswerLost ||= hasKey && (failure.reason === "transport" || failure.reason === "timeout")
        left = deadline - Number((yield* Clock.monotonicTimeNanos) - startedAt) / 1e6
        const mayRepeat = repeatable || failure.reason === 429 || failure.reason === 503
        const wait =
          failure.reason !== undefined && mayRepeat && attempts <= policy.maxRetries
            ? yield* nextDelay(failure.reason, failure.retryAfter)
            : undefined
        if (wait === undefined || wait >= left || !(yield* budget.take)) {
          return yield* Effect.fail(yield* failure.error(attempts))
        }
        yield* Effect.sleep(wait)
        left -= wait
      }
    })
  }

  return {
    call: (endpoint) => {
      compile(endpoint.success)
      return run(endpoint, successDecoder(endpoint))
    },
    open: (endpoint) =>
      run(endpoint, ({ stream }, attempts) =>
        Effect.succeed(Stream.mapError(stream, (error) => connectionError(endpoint.identifier, error, attempts)))
      )
  }
}

/** Gets a fresh bearer token and formats it as a header. */
const authorizer = (
  operation: string,
  credential: Effect.Effect<Redacted.Redacted<string>, unknown>
): Effect.Effect<string, AttemptFailure<never>> =>
  Effect.flatMap(Effect.mapError(credential, credentialFailure(operation)), (token) => {
    const text = Redacted.value(token)
    return isToken.test(text)
      ? Effect.succeed(`Bearer ${text}`)
      : // Checked here because the platform's own error would quote the token.
        Effect.fail(
          credentialFailure(operation)(
            new Error("it is empty or has characters that are not allowed in an HTTP header")
          )
        )
  })

const isToken = /^[\x21-\x7e]+$/

const credentialFailure =
  (operation: string) =>
  (cause: unknown): AttemptFailure<never> => ({
    reason: undefined,
    error: (attempts) =>
      Effect.succeed(new TransportError({ operation, reason: "credential", cause, attempts: attempts - 1 }))
  })

const requestFailure =
  (operation: string) =>
  (error: HttpClientError): AttemptFailure<never> =>
    error.reason._tag === "InvalidUrlError" || error.reason._tag === "EncodeError"
      ? invalidRequest(operation, error.reason.cause ?? new Error(`${error.reason.request.url} is not a valid URL`))
      : {
          reason: "transport",
          error: (attempts) => Effect.succeed(connectionError(operation, error, attempts))
        }

/** Keeps only the platform's error: Effect's contains the request, and with it the bearer token. */
const connectionError = (operation: string, { reason: { cause } }: HttpClientError, attempts: number) =>
  new TransportError({ operation, reason: "connection", cause, attempts })

/** The request cannot be built. A retry would fail in the same way. */
const invalidRequest = (operation: string, cause: unknown): AttemptFailure<never> => ({
  reason: undefined,
  error: (attempts) =>
    Effect.succeed(new TransportError({ operation, reason: "request", cause, attempts: attempts - 1 }))
})

const timedOut = (operation: string, milliseconds: number): AttemptFailure<never> => ({
  reason: "timeout",
  error: (attempts) => Effect.succeed(new TimeoutError({ operation, milliseconds, attempts }))
})

/** The delays of one call. Each reason has its own schedule, which starts from its beginning. */
const makeNextDelay = (policy: RetryPolicy) => {
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

const readText = (operation: string, response: HttpClientResponse): Effect.Effect<string, AttemptFailure<never>> =>
  Effect.mapError(response.text, requestFailure(operation))

/** Returns undefined if the text is not JSON. No JSON text parses to undefined. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const successDecoder = <E extends Operation>(endpoint: E) => {
  const decode = decoder<Success<E>>(endpoint.success)
  return (response: HttpClientResponse): Effect.Effect<Success<E>, AttemptFailure<E>> =>
    Effect.flatMap(readText(endpoint.identifier, response), (text) => {
      const json = parse(text)
      if (json === undefined) {
        return Effect.fail({ ...invalid(endpoint.identifier, response, "a body that is not JSON"), reason: undefined })
      }
      return Effect.mapError(decode(json), (error) => ({
        // The work is done and may have been charged: a retry would only repeat it.
        ...invalid(endpoint.identifier, response, `a body that does not match the contract ${where(error)}`),
        reason: undefined
      }))
    })
}

/**
 * Chooses the error class by status, and adds data from the headers and the client to its envelope.
 */
const statusDecoder = <E extends Operation>(endpoint: E) => {
  const decoders = new Map(endpoint.error.map((schema) => [statusOf(schema), decoder<StatusError<E>>(schema)]))
  return (response: HttpClientResponse, text: string): Effect.Effect<never, AttemptFailure<E>> => {
    const decode = decoders.get(response.status)
    const envelope = parse(text)
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const retryAfter = retryAfterOf(response, envelope, now)
      if (decode === undefined || !isEnvelope(envelope)) {
        const description =
          decode === undefined ? "a status that the operation does not return" : "a body that is not an error envelope"
        return Effect.fail({ ...invalid(endpoint.identifier, response, description), retryAfter })
      }
      return Effect.fail({
        reason: isRetryableStatus(response.status) ? response.status : undefined,
        retryAfter,
        error: (attempts: number) =>
          Effect.catch(decode(complete(envelope, response, retryAfter, attempts)), () =>
            invalid(endpoint.identifier, response, "a body that is not an error envelope").error(attempts)
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
 * Seconds to wait, from the `Retry-After` header or else from the envelope. A date in the header is
 * compared with the response's `Date`, or with the local clock if a browser hides that header.
 */
const retryAfterOf = (response: HttpClientResponse, envelope: unknown, now: number): number | undefined => {
  const header = response.headers["retry-after"]
  if (header !== undefined) {
    const date = response.headers["date"]
    // `Date.parse` alone would accept "-3" as a day in March 2001.
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

/** The path of the first value in the body that does not match. */
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
