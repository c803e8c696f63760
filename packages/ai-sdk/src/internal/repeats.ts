/**
 * Recognizes a call that the SDK repeats after a failure. A repeated call has the idempotency key of
 * the first, and takes a token of the retry budget.
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
import { type Failure, Final } from "./errors.ts"

interface Failed {
  readonly input: unknown
  readonly idempotencyKey: string
  readonly failure: Final["failure"]
}

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
      const idempotencyKey = given ?? earlier?.idempotencyKey ?? (yield* makeKey)
      return yield* send(idempotencyKey).pipe(
        Effect.provideService(RetryPolicy, none),
        Effect.tapError((failure) =>
          Effect.sync(() => {
            if (identity === undefined || !failure.isRetryable || failure._tag === "VideoNotCompleted") return
            const entries = failures.get(identity) ?? new Map<string, Failed>()
            failures.set(identity, entries.set(name, { input, idempotencyKey, failure }))
          })
        )
      )
    })
}

export type Attempt = ReturnType<typeof make>
