/** The time limits of one attempt. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { type Progress, UploadMonitor } from "../UploadMonitor.ts"
import { type AttemptFailure, timedOut } from "./attempt.ts"

/** In milliseconds. */
export interface Limits {
  /** For the response, from the end of the upload, and what this limit is. */
  readonly response: number
  readonly kind: "attempt" | "deadline"
  /** For a time without progress of the upload. */
  readonly stall: number
}

/**
 * Limits an attempt that uploads a file, by what the `HttpClient` reports of the upload. `onEnd`
 * gets the milliseconds in which the upload made progress.
 */
export const limitedUpload = Effect.fnUntraced(function* <A, E, R>(
  attempt: Effect.Effect<A, E, R>,
  { kind, response, stall }: Limits,
  onEnd: (moving: number) => void
): Effect.fn.Return<A, E | AttemptFailure<never>, R> {
  const clock = yield* Clock.Clock
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  const startedAt = now()
  let movedAt = startedAt
  let isUploading = false
  const monitor = ({ sent, total }: Progress) => {
    movedAt = now()
    isUploading = sent !== total
  }
  const late = timedOut(kind, response)
  const stalled = timedOut("stall", stall)
  const watch = Effect.gen(function* () {
    for (;;) {
      const limit = isUploading ? stall : response
      const left = movedAt + limit - now()
      if (left <= 0) return yield* Effect.fail(isUploading ? stalled : late)
      // The upload may begin or stall while this sleeps.
      yield* Effect.sleep(Math.min(left, stall))
    }
  })
  return yield* Effect.raceFirst(Effect.provideService(attempt, UploadMonitor, monitor), watch).pipe(
    Effect.ensuring(Effect.sync(() => onEnd(movedAt - startedAt)))
  )
})
