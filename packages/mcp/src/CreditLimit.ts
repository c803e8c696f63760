/**
 * What one session of an agent may spend. It is counted here, beside the limits that the gateway
 * keeps for the key: those hold whatever an agent or its program does, this one stops an agent
 * early and tells it why.
 *
 * Amounts are credits. Inside they are integer micro-credits, because ten deposits of 0.1 sum to
 * slightly under 1.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/**
 * @category models
 * @since 0.1.0
 */
export interface LimitReachedFields {
  /** The limit of the session. */
  readonly maxCredits: number
  /** What its calls have cost. */
  readonly spent: number
  /** What its calls in progress may cost. */
  readonly reserved: number
  /** What this call would cost, if that is known before. */
  readonly needed: number | undefined
}

/**
 * The session's limit does not allow this paid call. Nothing was sent.
 *
 * @category errors
 * @since 0.1.0
 */
export class LimitReached extends Data.TaggedError("CreditLimitReached")<LimitReachedFields> {
  override get message(): string {
    const { maxCredits, needed, reserved, spent } = this
    const running = reserved === 0 ? "" : `, ${reserved} are reserved by calls and videos in progress`
    const wanted = needed === undefined ? "the price of this call is not known before" : `this call needs ${needed}`
    return (
      `The credit limit of this session is reached: ${spent} of ${maxCredits} credits are spent${running}, and ${wanted}. ` +
      "Nothing was called or charged. Do not repeat the call: only the user can raise the limit, and calls to free models still work." +
      (reserved === 0 ? "" : " `usage` gives back what is reserved for videos that have ended.")
    )
  }
}

/**
 * What a call may cost, taken from the limit until it is known what it did cost.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reservation {
  /**
   * Replaces the reservation by the cost. Undefined: the cost is not known, and the reservation
   * counts as spent. Only the first call has an effect.
   */
  readonly settle: (cost: number | undefined) => Effect.Effect<void>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Status {
  readonly spent: number
  readonly reserved: number
  /** Null: no limit. */
  readonly limit: number | null
  /** What is neither spent nor reserved, at least 0. Null: no limit. */
  readonly remaining: number | null
}

/**
 * @category models
 * @since 0.1.0
 */
export interface CreditLimit {
  readonly status: Effect.Effect<Status>
  /**
   * Takes what a call may cost. A call whose price is not known before takes all that is left, so
   * that only one such call can exceed the limit, by what it costs. A free call needs nothing.
   */
  readonly reserve: (estimate: number | undefined) => Effect.Effect<Reservation, LimitReached>
}

const micro = 1_000_000

/** A price never rounds down to nothing: a session without credits makes only free calls. */
const toMicro = (credits: number): number => (credits > 0 ? Math.max(1, Math.ceil(credits * micro - 1e-6)) : 0)

/**
 * Counts from nothing. Without `maxCredits` it only counts.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (maxCredits?: number): CreditLimit => {
  const limit = maxCredits === undefined ? undefined : Math.floor(maxCredits * micro + 1e-6)
  let spent = 0
  let reserved = 0
  const left = () => (limit === undefined ? undefined : Math.max(0, limit - spent - reserved))

  return {
    status: Effect.sync(() => {
      const remaining = left()
      return {
        spent: spent / micro,
        reserved: reserved / micro,
        limit: limit === undefined ? null : limit / micro,
        remaining: remaining === undefined ? null : remaining / micro
      }
    }),
    reserve: (estimate) =>
      Effect.suspend(() => {
        const remaining = left()
        const needed = estimate === undefined ? undefined : toMicro(estimate)
        if (remaining !== undefined && (needed === undefined ? remaining === 0 : needed > remaining)) {
          return Effect.fail(
            new LimitReached({
              maxCredits: (limit ?? 0) / micro,
              spent: spent / micro,
              reserved: reserved / micro,
              needed: estimate
            })
          )
        }
        const held = needed ?? remaining ?? 0
        let isSettled = false
        reserved += held
        return Effect.succeed({
          settle: (cost) =>
            Effect.sync(() => {
              if (isSettled) return
              isSettled = true
              reserved -= held
              spent += cost === undefined ? held : toMicro(cost)
            })
        })
      })
  }
}
