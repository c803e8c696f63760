/**
 * Stops the work on a video job as soon as the job has ended: it was canceled, or it expired.
 *
 * A process learns of its own changes at once, and of those of other processes within
 * {@link readInterval}.
 */
import { isFinal } from "@model-gateway/core/Video"
import { Duration, Effect, Exit, Fiber, Option } from "effect"
import * as UnresolvedVideo from "./UnresolvedVideo.ts"
import type { VideoJob } from "./VideoJob.ts"
import type { VideoJobs } from "./VideoJobs.ts"
import type { VideoSignals } from "./VideoSignals.ts"
import type { Slot, VideoSlots } from "./VideoSlots.ts"

/** How often a worker that waits for an upstream reads the job's row. */
export const readInterval = Duration.seconds(2)

/** How long a worker that is stopped waits for the answer to a submission. */
const stopGrace = Duration.seconds(5)

/** Makes the two ways to stop. */
export const make = (jobs: VideoJobs["Service"], signals: VideoSignals["Service"], slots: VideoSlots) => {
  /** Completes when the job has ended. */
  const ended = Effect.fnUntraced(function* (job: VideoJob) {
    const changed = yield* signals.watch(job.id)
    while (true) {
      yield* Effect.race(changed.await, Effect.sleep(readInterval))
      yield* changed.close
      // While the database does not answer, the upstream's answer is still worth waiting for.
      const now = yield* Effect.catch(jobs.find(job.id), () => Effect.succeed(job))
      if (now === null || isFinal(now.status)) return
    }
  }, Effect.scoped)

  /** Interrupts the effect if the job ends. Returns none then. */
  const unlessEnded = <A, E, R>(job: VideoJob, effect: Effect.Effect<A, E, R>): Effect.Effect<Option.Option<A>, E, R> =>
    Effect.raceFirst(Effect.map(effect, Option.some), Effect.as(ended(job), Option.none<A>()))

  /**
   * Runs a submission. If the job ends before the upstream answers, its slot becomes free at once.
   * The submission then goes on in a slot for ended jobs, because its answer says what to cancel
   * upstream. If none is free, it is interrupted, and the job's next delivery deals with that.
   *
   * When the worker is stopped, waits a moment for a submission that cannot be repeated, because a
   * job whose answer is lost fails. The submission runs in a fiber of its own for that.
   */
  const submission = <E, R>(
    job: VideoJob,
    slot: Slot,
    { isRepeatable }: { readonly isRepeatable: boolean },
    submit: Effect.Effect<void, E, R>
  ) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.forkDetach(restore(submit)), (fiber) => {
        const stopped = isRepeatable
          ? Fiber.interrupt(fiber)
          : Fiber.await(fiber).pipe(Effect.timeoutOption(stopGrace), Effect.andThen(Fiber.interrupt(fiber)))
        const answered = Effect.gen(function* () {
          if (Option.isNone(yield* unlessEnded(job, Fiber.await(fiber)))) {
            yield* slot.release
            if (Exit.isFailure(yield* Effect.exit(slots.endedNow(job)))) {
              yield* Fiber.interrupt(fiber)
              return yield* new UnresolvedVideo.NotResolved({ provider: job.provider })
            }
          }
          yield* Fiber.join(fiber)
        })
        return Effect.onInterrupt(restore(answered), () => stopped)
      })
    )

  return { submission, unlessEnded }
}
