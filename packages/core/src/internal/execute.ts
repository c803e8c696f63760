/**
 * Runs any operation of the contract over an `HttpClient`: retries by the policy, and decodes the
 * response with the operation's schemas.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { Call, ClientError } from "../ClientError.ts"
import { type GatewayConfig, RefusedToken } from "../GatewayConfig.ts"
import type { ErrorOf, Operation } from "../Operation.ts"
import * as RetryBudget from "../RetryBudget.ts"
import { CurrentAttempt, RetryPolicy, type RetryReason } from "../RetryPolicy.ts"
import { UploadMonitor } from "../UploadMonitor.ts"
import { type AttemptFailure, notSent, requestFailure, timedOut } from "./attempt.ts"
import { authorizer } from "./credential.ts"
import { makeNextDelay } from "./delays.ts"
import type { Observer, Recorder } from "./observer.ts"
import { generatedKeys, isHeader, pathOf, type Request, requestOf } from "./request.ts"
import { onStatus, readText, successDecoder } from "./response.ts"
import type { Source } from "./source.ts"
import * as TimeLimit from "./timeLimit.ts"

/** The service did nothing. After any other failure it may have done the work. */
const isNothingDone = (reason: RetryReason): boolean => reason === 429 || reason === 503 || reason === 529

/** The retries of a long poll. With the default delays they take about 4 minutes. */
const patience = 30

/**
 * Makes an executor over one `HttpClient`, with one retry budget for all its calls.
 */
export const make = (
  client: HttpClient.HttpClient,
  config: GatewayConfig["Service"],
  compile: (schema: Schema.Top) => void,
  defaultPolicy: RetryPolicy,
  observer: Observer | undefined
) => {
  const budget = RetryBudget.make(config.retryBudget)
  const authorize = authorizer(config.credential)
  const authorizeAgain = (refused: string) =>
    Effect.provideService(authorize, RefusedToken, Redacted.make(refused.slice("Bearer ".length)))
  const currentPolicy = Effect.map(
    Effect.context<never>(),
    (context) => Context.getOrUndefined(context, RetryPolicy) ?? defaultPolicy
  )
  const idempotencyKeys = generatedKeys()

  const run = Effect.fnUntraced(function* <E extends Operation, A>(
    endpoint: E,
    parts: Request,
    onSuccess: (response: HttpClientResponse, call: Call) => Effect.Effect<A, AttemptFailure<E>>,
    recorder?: Recorder,
    continued?: { readonly policy: RetryPolicy; readonly maxRetries: number; readonly earlier: number }
  ): Effect.fn.Return<A, ErrorOf<E> | ClientError> {
    const operation = endpoint.identifier
    const repeatable = endpoint.idempotency !== "never"
    const hasKey = endpoint.idempotency === "by key"

    const onResponse = (response: HttpClientResponse, call: Call): Effect.Effect<A, AttemptFailure<E>> =>
      response.status >= 200 && response.status < 300
        ? onSuccess(response, call)
        : Effect.flatMap(readText(response, config.maxResponseBytes), (text) =>
            onStatus(endpoint, response, text, config.wireNames)
          )

    const policy = continued?.policy ?? (yield* currentPolicy)
    const clock = yield* Clock.Clock
    const startedAt = clock.monotonicTimeNanosUnsafe()
    const isPatient = parts.longPoll !== undefined && policy.maxRetries > 0
    const maxRetries = continued?.maxRetries ?? (isPatient ? Math.max(policy.maxRetries, patience) : policy.maxRetries)
    const pollMillis = Math.max(parts.longPoll ?? 0, 0) * 1000
    const deadline = pollMillis + Duration.toMillis(policy.deadline)
    const limit =
      pollMillis +
      (policy.attemptTimeout === undefined ? endpoint.timeLimit * 1000 : Duration.toMillis(policy.attemptTimeout))
    const stall = Duration.toMillis(policy.stallTimeout)
    /** Made by the first retry: most calls have none. */
    let nextDelay: ReturnType<typeof makeNextDelay> | undefined
    const idempotencyKey = parts.idempotencyKey ?? (hasKey ? yield* idempotencyKeys : undefined)
    /** The number of requests that were sent. */
    let attempts = continued?.earlier ?? 0
    const callNow = (): Call => ({ operation, attempts, idempotencyKey })
    if (idempotencyKey !== undefined && !isHeader.test(idempotencyKey)) {
      const cause = new Error("the idempotency key has characters that are not allowed in an HTTP header")
      return yield* Effect.fail(yield* notSent("request", cause).error(callNow()))
    }
    const url = config.baseUrl + pathOf(endpoint.path, parts.params)
    const sentParts = config.wireNames?.toWire.request(endpoint.path, parts) ?? parts
    const request = requestOf(endpoint.method, url, sentParts, idempotencyKey)

    let sent: string | undefined
    let isOutcomeUnknown = false
    /** The token in place of one that the service rejected. */
    let renewed: string | undefined
    /** Milliseconds in which uploads made progress. */
    let uploading = 0
    const timeLeft = () => deadline + uploading - Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1e6
    for (let retries = 0; ;) {
      // The service scopes an idempotency key to the credential. If the work may have been done,
      // a retry with another credential could do and charge it a second time.
      const known = isOutcomeUnknown ? sent : renewed
      const authorized: typeof authorize = known === undefined ? authorize : Effect.succeed(known)
      const left = timeLeft()
      const limits = TimeLimit.make(clock, {
        response: Math.min(left, limit),
        stall,
        late: left < limit ? timedOut("deadline", deadline) : timedOut("attempt", limit)
      })
      // Only the request belongs to the attempt. The credential Effect may send others.
      const send = (authorization: string) => {
        sent = authorization
        attempts++
        const response = client.execute(request(authorization))
        return Effect.mapError(recorder?.attempt(response, attempts) ?? response, requestFailure).pipe(
          Effect.provideService(UploadMonitor, limits.monitor),
          Effect.provideService(CurrentAttempt, { operation, number: attempts, isLongPoll: pollMillis > 0 })
        )
      }
      const result = yield* Effect.flatMap(authorized, send).pipe(
        Effect.flatMap((response) => onResponse(response, callNow())),
        limits.limit,
        Effect.result
      )
      if (Result.isSuccess(result)) {
        budget.deposit()
        return result.success
      }
      const failure = result.failure
      uploading += limits.moved()
      if (failure.status === 401 && sent !== undefined && renewed === undefined && !isOutcomeUnknown) {
        renewed = yield* Effect.timeoutOrElse(authorizeAgain(sent), {
          duration: Math.min(timeLeft(), limit),
          orElse: () => Effect.fail(failure)
        }).pipe(Effect.orElseSucceed(() => sent))
        if (renewed !== sent) {
          // Not a retry of the policy: nothing was done, and the next request is another one.
          if (recorder !== undefined) yield* recorder.retry({ reason: 401, wait: 0, attempt: attempts })
          continue
        }
      }
      isOutcomeUnknown ||= hasKey && failure.reason !== undefined && !isNothingDone(failure.reason)
      const mayRepeat = repeatable || failure.reason === 429 || failure.reason === 503
      const reason = mayRepeat && retries < maxRetries ? failure.reason : undefined
      const wait =
        reason === undefined ? undefined : yield* (nextDelay ??= makeNextDelay(policy))(reason, failure.retryAfter)
      if (reason === undefined || wait === undefined || wait >= timeLeft() || !(isPatient || (yield* budget.take))) {
        return yield* Effect.fail(yield* failure.error(callNow()))
      }
      retries++
      if (recorder !== undefined) yield* recorder.retry({ reason, wait, attempt: attempts })
      yield* Effect.sleep(wait)
    }
  })

  const compiled = new Set<Operation>()

  return {
    call: <E extends Operation>(
      operation: E,
      request: Request
    ): Effect.Effect<E["success"]["Type"], ErrorOf<E> | ClientError> => {
      if (!compiled.has(operation)) {
        compiled.add(operation)
        compile(operation.success)
      }
      const decode = successDecoder(operation, config)
      const begin = (recorder?: Recorder) => run(operation, request, decode, recorder)
      return observer?.call({ operation, baseUrl: config.baseUrl, request }, begin) ?? begin()
    },
    open: <E extends Operation, A, F>(
      operation: E,
      request: Request,
      read: (source: Source<ErrorOf<E> | ClientError>) => Effect.Effect<Stream.Stream<A, F>, ErrorOf<E> | ClientError>
    ): Effect.Effect<Stream.Stream<A, F>, ErrorOf<E> | ClientError> => {
      const begin = (recorder?: Recorder) =>
        Effect.flatMap(currentPolicy, (policy) =>
          read({
            policy,
            send: (request, earlier, maxRetries) =>
              run(operation, request, (response, call) => Effect.succeed({ response, call }), recorder, {
                policy,
                maxRetries,
                earlier
              }),
            onRetry: (retry) => recorder?.retry(retry) ?? Effect.void
          })
        )
      return observer?.open({ operation, baseUrl: config.baseUrl, request }, begin) ?? begin()
    }
  }
}
