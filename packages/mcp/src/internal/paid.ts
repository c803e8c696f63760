/** What the paid tools share: the price before, the limit of the session, and the cost after. */
import * as ClientError from "@model-gateway/core/ClientError"
import { EnvelopeError } from "@model-gateway/core/GatewayError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Cause from "effect/Cause"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { LimitReached, Reservation, Status } from "../CreditLimit.ts"
import type { Estimate } from "../Estimate.ts"
import { Session } from "../Session.ts"

const Credits = Schema.Struct({
  spent: Schema.Finite.annotate({ description: "What this session has spent" }),
  reserved: Schema.Finite.annotate({ description: "What its calls in progress may cost" }),
  limit: Schema.NullOr(Schema.Finite).annotate({ description: "What it may spend. Null: only the key is limited" }),
  remaining: Schema.NullOr(Schema.Finite).annotate({ description: "What it may still spend. Null: see limit" })
}).annotate({ description: "Credits of this session. 1 credit is 1 USD" })

/** Fields of the output of every paid tool. */
export const outputFields = {
  estimated_cost: Schema.NullOr(Schema.Finite).annotate({
    description: "What the call costs by the published price, in credits. Null: not known before the call"
  }),
  cost: Schema.NullOr(Schema.Finite).annotate({
    description: "What was charged, in credits. Null: nothing yet, or not known"
  }),
  session: Credits
}

/** The field of the input of every paid tool. */
export const inputFields = {
  estimate_only: Schema.optionalKey(Schema.Boolean).annotate({
    description: "Return only estimated_cost. Nothing is called or charged"
  })
}

/** The price fields of an output. */
export const price = (
  estimate: Estimate,
  cost: number | null | undefined
): Effect.Effect<
  { readonly estimated_cost: number | null; readonly cost: number | null; readonly session: Status },
  never,
  Session
> =>
  Effect.gen(function* () {
    const { credits } = yield* Session
    return { estimated_cost: estimate.credits ?? null, cost: cost ?? null, session: yield* credits.status }
  })

/** Whether an error says that the gateway charged nothing. A 500 does not. */
const isFree = (error: unknown): boolean =>
  (error instanceof EnvelopeError && error.status !== 500) ||
  (error instanceof ClientError.TransportError && error.reason !== "connection")

/** The cost of a call that failed: 0, or undefined if it may have been charged. */
export const costOfFailure = <E>(cause: Cause.Cause<E>): 0 | undefined => {
  const failure = Cause.findFail(cause)
  return Result.isSuccess(failure) && isFree(failure.success.error) ? 0 : undefined
}

/** Runs a paid call within the limit of the session. */
export const withinLimit = <A, E, R>(
  estimate: Estimate,
  call: Effect.Effect<A, E, R>,
  costOf: (answer: A) => number | undefined
): Effect.Effect<A, E | LimitReached, R | Session> =>
  reserved(estimate, (reservation, restore) =>
    Effect.onExit(restore(call), (exit) =>
      reservation.settle(Exit.isSuccess(exit) ? costOf(exit.value) : costOfFailure(exit.cause))
    )
  )

/** Reserves before `use`, which settles. */
export const reserved = <A, E, R>(
  { credits }: Estimate,
  use: (
    reservation: Reservation,
    restore: <B, F, S>(effect: Effect.Effect<B, F, S>) => Effect.Effect<B, F, S>
  ) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | LimitReached, R | Session> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const session = yield* Session
      return yield* use(yield* session.credits.reserve(credits), restore)
    })
  )

/**
 * The preferences of a call: in a session with a limit, no provider that is dearer than the
 * estimate.
 */
export const preferences = ({ maxPrice }: Estimate) =>
  Effect.gen(function* () {
    const { credits } = yield* Session
    const { limit } = yield* credits.status
    return limit === null || maxPrice === undefined ? {} : { provider: { max_price: maxPrice } }
  })
