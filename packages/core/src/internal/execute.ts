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
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { Call, ClientError } from "../ClientError.ts"
import type { GatewayConfig } from "../GatewayConfig.ts"
import type { ErrorOf, Operation } from "../Operation.ts"
import * as RetryBudget from "../RetryBudget.ts"
import { CurrentAttempt, RetryPolicy, type RetryReason } from "../RetryPolicy.ts"
import { UploadMonitor } from "../unstable/UploadMonitor.ts"
import { type AttemptFailure, notSent, requestFailure, timedOut } from "./attempt.ts"
import * as Credential from "./credential.ts"
import { makeNextDelay } from "./delays.ts"
import type { Observer, Recorder, Retry } from "./observer.ts"
import { generatedKeys, isHeader, pathOf, type Request, requestOf } from "./request.ts"
import { onStatus, readText, successDecoder } from "./response.ts"
import type { Source } from "./source.ts"
import * as TimeLimit from "./timeLimit.ts"

/** The service did nothing. After any other failure it may have done the work. */
const isNothingDone = (reason: RetryReason): boolean => reason === 429 || reason === 503 || reason === 529

/** The retries of a long poll. With the default delays they take about 4 minutes. */
const maxLongPollRetries = 30

/** The limits of a call. Times are in milliseconds. */
interface Limits {
  readonly isLongPoll: boolean
  /** A long poll that may be retried, whatever the retry budget. */
  readonly isPatient: boolean
  readonly maxRetries: number
  /**
   * For all attempts and the delays between them, without the time in which uploads make progress.
   */
  readonly deadline: number
  readonly attempt: number
  readonly stall: number
}

/** The time for which the service may keep a long poll open extends the limits of the policy. */
const limitsOf = (
  operation: Operation,
  longPoll: number | undefined,
  policy: RetryPolicy,
  maxRetries: number | undefined
): Limits => {
  const pollMillis = Math.max(longPoll ?? 0, 0) * 1000
  const isPatient = longPoll !== undefined && policy.maxRetries > 0
  return {
    isLongPoll: pollMillis > 0,
    isPatient,
    maxRetries: maxRetries ?? (isPatient ? Math.max(policy.maxRetries, maxLongPollRetries) : policy.maxRetries),
    deadline: pollMillis + Duration.toMillis(policy.deadline),
    attempt:
      pollMillis +
      (policy.attemptTimeout === undefined ? operation.timeLimit * 1000 : Duration.toMillis(policy.attemptTimeout)),
    stall: Duration.toMillis(policy.stallTimeout)
  }
}

/** What the attempts of a call change. */
interface State extends Credential.Headers {
  /** The number of requests that were sent. */
  attempts: number
  /** The number of retries by the policy. */
  retries: number
  /** Milliseconds in which uploads made progress. */
  uploaded: number
  /** Made by the first retry: most calls have none. */
  nextDelay: ReturnType<typeof makeNextDelay> | undefined
}

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
  const { retryBudget } = config
  const budget = retryBudget !== undefined && "take" in retryBudget ? retryBudget : RetryBudget.make(retryBudget)
  const credential = Credential.make(config.credential)
  const currentPolicy = Effect.map(
    Effect.context<never>(),
    (context) => Context.getOrUndefined(context, RetryPolicy) ?? defaultPolicy
  )
  const idempotencyKeys = generatedKeys()

  /** The retry after a failure, by the policy and the budget. Undefined: the call fails. */
  const nextRetry = Effect.fnUntraced(function* (
    { idempotency }: Operation,
    policy: RetryPolicy,
    { isPatient, maxRetries }: Limits,
    state: State,
    { reason, retryAfter }: AttemptFailure<Operation>,
    timeLeft: () => number
  ): Effect.fn.Return<Omit<Retry, "attempt"> | undefined> {
    if (reason === undefined) return undefined
    state.isOutcomeUnknown ||= idempotency === "by key" && !isNothingDone(reason)
    const mayRepeat = idempotency !== "never" || reason === 429 || reason === 503
    if (!mayRepeat || state.retries >= maxRetries) return undefined
    const wait = yield* (state.nextDelay ??= makeNextDelay(policy))(reason, retryAfter)
    if (wait === undefined || wait >= timeLeft() || !(isPatient || (yield* budget.take))) return undefined
    state.retries++
    return { reason, wait }
  })

  const run = Effect.fnUntraced(function* <E extends Operation, A>(
    operation: E,
    parts: Request,
    onSuccess: (response: HttpClientResponse, call: Call) => Effect.Effect<A, AttemptFailure<E>>,
    recorder?: Recorder,
    continued?: { readonly policy: RetryPolicy; readonly maxRetries: number; readonly earlier: number }
  ): Effect.fn.Return<A, ErrorOf<E> | ClientError> {
    const policy = continued?.policy ?? (yield* currentPolicy)
    const clock = yield* Clock.Clock
    const startedAt = clock.monotonicTimeNanosUnsafe()
    const limits = limitsOf(operation, parts.longPoll, policy, continued?.maxRetries)
    const state: State = {
      attempts: continued?.earlier ?? 0,
      retries: 0,
      uploaded: 0,
      nextDelay: undefined,
      sent: undefined,
      renewed: undefined,
      isOutcomeUnknown: false
    }
    const timeLeft = () => limits.deadline + state.uploaded - Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1e6

    const idempotencyKey =
      parts.idempotencyKey ?? (operation.idempotency === "by key" ? yield* idempotencyKeys : undefined)
    const callNow = (): Call => ({ operation: operation.identifier, attempts: state.attempts, idempotencyKey })
    if (idempotencyKey !== undefined && !isHeader.test(idempotencyKey)) {
      const cause = new Error("the idempotency key has characters that are not allowed in an HTTP header")
      return yield* Effect.fail(yield* notSent("request", cause).error(callNow()))
    }
    const request = requestOf(
      operation.method,
      config.baseUrl + pathOf(operation.path, parts.params),
      config.wireNames?.toWire.request(operation.path, parts) ?? parts,
      idempotencyKey
    )

    for (;;) {
      const left = timeLeft()
      const timeLimit = TimeLimit.make(clock, {
        response: Math.min(left, limits.attempt),
        stall: limits.stall,
        late: left < limits.attempt ? timedOut("deadline", limits.deadline) : timedOut("attempt", limits.attempt)
      })
      // Only the request belongs to the attempt. The credential Effect may send others.
      const send = (authorization: string) => {
        state.sent = authorization
        const number = ++state.attempts
        const response = client.execute(request(authorization))
        return Effect.mapError(recorder?.attempt(response, number) ?? response, requestFailure).pipe(
          Effect.provideService(UploadMonitor, timeLimit.monitor),
          Effect.provideService(CurrentAttempt, {
            operation: operation.identifier,
            number,
            isLongPoll: limits.isLongPoll
          })
        )
      }
      const result = yield* Effect.flatMap(credential.next(state), send).pipe(
        Effect.flatMap((response): Effect.Effect<A, AttemptFailure<E>> =>
          response.status >= 200 && response.status < 300
            ? onSuccess(response, callNow())
            : Effect.flatMap(readText(response, config.maxResponseBytes), (text) =>
                onStatus(operation, response, text, config.wireNames)
              )
        ),
        timeLimit.limit,
        Effect.result
      )
      if (Result.isSuccess(result)) {
        budget.deposit()
        return result.success
      }
      const failure = result.failure
      state.uploaded += timeLimit.moved()
      const isRenewed = failure.status === 401 && (yield* credential.renew(state, Math.min(timeLeft(), limits.attempt)))
      const retry = isRenewed
        ? // Not a retry of the policy: nothing was done, and the next request is another one.
          { reason: 401 as const, wait: 0 }
        : yield* nextRetry(operation, policy, limits, state, failure, timeLeft)
      if (retry === undefined) return yield* Effect.fail(yield* failure.error(callNow()))
      if (recorder !== undefined) yield* recorder.retry({ ...retry, attempt: state.attempts })
      if (retry.wait > 0) yield* Effect.sleep(retry.wait)
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
