/**
 * Recognizes a call that the SDK repeats after a failure. A repeated call has the idempotency key
 * of the first, and takes a token of the retry budget.
 *
 * The SDK does not say that it repeats a call. It passes an object that it makes once for all
 * attempts, the identity of the call: for a reranking the `documents`, for a transcription the
 * `headers`, for a video the options. A failed call is kept under its identity until it is repeated
 * or the object is garbage.
 */
import type { GatewayClient } from "@model-gateway/core/GatewayClient"
import { makeKey } from "@model-gateway/core/IdempotencyKeySource"
import type { RetryBudget } from "@model-gateway/core/RetryBudget"
import { none, RetryPolicy } from "@model-gateway/core/RetryPolicy"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import { type Failure, Final } from "./errors.ts"
import { CurrentExchange } from "./exchange.ts"

interface Failed {
  readonly input: unknown
  readonly idempotencyKey: string
  readonly failure: Final["failure"]
  /** The API key of an attempt that may have done the work. */
  readonly credential: Redacted.Redacted<string> | undefined
}

/** The service did nothing. After any other failure it may have done the work. */
const isNothingDone = ({ status }: Final["failure"]): boolean => status === 429 || status === 503 || status === 529

export interface Call {
  /** Undefined: the call cannot be recognized, and each attempt is a new call. */
  readonly identity: object | undefined
  /** What else has to be equal: the same object with another request is another call. */
  readonly content?: unknown
  /** What has to be the same value, because it is too large to compare. */
  readonly input?: unknown
  /** The caller's own key. */
  readonly idempotencyKey: string | undefined
}

/** Makes the attempts of calls. The client does not retry them: the SDK does. */
export const make = (budget: RetryBudget) => {
  const failures = new WeakMap<object, Map<string, Failed>>()

  return <A, E extends Failure>(
    { content, idempotencyKey: given, identity, input }: Call,
    send: (idempotencyKey: string) => Effect.Effect<A, E, GatewayClient>
  ): Effect.Effect<A, E | Final, GatewayClient> =>
    Effect.gen(function* () {
      const name = JSON.stringify(content) ?? ""
      const failed = identity === undefined ? undefined : failures.get(identity)
      const found = failed?.get(name)
      const earlier = found?.input === input ? found : undefined
      // Attempts follow each other. A call that begins while this one runs is another call.
      failed?.delete(name)
      if (earlier !== undefined && !(yield* budget.take)) {
        return yield* new Final({
          failure: earlier.failure,
          reason: "It was not sent again, because the retry budget is used up."
        })
      }
      const exchange = yield* CurrentExchange
      // The service scopes an idempotency key to the API key. With another one, such as the next
      // short-lived one, it would do and charge the work a second time.
      if (exchange !== undefined) exchange.fixedCredential = earlier?.credential
      const idempotencyKey = given ?? earlier?.idempotencyKey ?? (yield* makeKey)
      return yield* send(idempotencyKey).pipe(
        Effect.provideService(RetryPolicy, none),
        Effect.tapError((failure) =>
          Effect.sync(() => {
            if (identity === undefined || !failure.isRetryable || failure._tag === "VideoNotCompleted") return
            const entries = failures.get(identity) ?? new Map<string, Failed>()
            const credential = earlier?.credential ?? (isNothingDone(failure) ? undefined : exchange?.credential)
            failures.set(identity, entries.set(name, { input, idempotencyKey, failure, credential }))
          })
        )
      )
    })
}

export type Attempt = ReturnType<typeof make>
