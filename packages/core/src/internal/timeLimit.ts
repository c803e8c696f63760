/** The time limits of one attempt. */
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Timer from "../unstable/Timer.ts"
import type { Progress } from "../unstable/UploadMonitor.ts"
import { type AttemptFailure, timedOut } from "./attempt.ts"

/** In milliseconds. */
export interface Limits {
  /** For the attempt, without the time in which its upload makes progress. */
  readonly response: number
  /** For a time without progress of the upload. */
  readonly stall: number
  /** The failure of an attempt that exceeds `response`. */
  readonly late: AttemptFailure<never>
}

/** The time limits of an attempt, which begins now. The `HttpClient` reports its upload to them. */
export const make = (clock: Clock.Clock, { late, response, stall }: Limits) => {
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  const startedAt = now()
  let uploadedFrom = startedAt
  let movedAt = startedAt
  let hasReported = false
  /** The upload has begun and not ended. */
  let isUploading = false
  /** Some of its bytes were sent: from then on, only a stall ends it. */
  let isMoving = false

  /** Calls `expire` when a limit is exceeded. Returns a function that stops the watch. */
  const watch = (context: Context.Context<never>, expire: (failure: AttemptFailure<never>) => void): (() => void) => {
    let stop = () => {}
    const check = (): void => {
      const at = now()
      const beforeStall = isUploading ? movedAt + stall - at : Infinity
      const beforeLate = response - (isMoving ? uploadedFrom - startedAt : at - startedAt - (movedAt - uploadedFrom))
      const left = isMoving ? beforeStall : Math.min(beforeStall, beforeLate)
      // Clocks count whole nanoseconds: a shorter sleep would not advance them.
      if (left < 1e-6) return expire(beforeStall < 1e-6 ? timedOut("stall", stall) : late)
      // While this waits, the upload may begin and then stall, or it may end.
      stop = Timer.start(context, isMoving ? Math.min(left, Math.max(beforeLate, 1000)) : Math.min(left, stall), check)
    }
    check()
    return () => stop()
  }

  return {
    /** Limits the attempt, which runs in a fiber of its own. */
    limit: <A, E, R>(attempt: Effect.Effect<A, E, R>): Effect.Effect<A, E | AttemptFailure<never>, R> =>
      Timer.watched<A, E, R, never, AttemptFailure<never>, never>(attempt, (context, expire) =>
        watch(context, (failure) => expire(Effect.fail(failure)))
      ),
    monitor: ({ sent, total }: Progress): void => {
      movedAt = now()
      if (!hasReported) uploadedFrom = movedAt
      hasReported = true
      isUploading = sent !== total
      isMoving = isUploading && sent > 0
    },
    /** The milliseconds in which the upload made progress. */
    moved: (): number => movedAt - uploadedFrom
  }
}
