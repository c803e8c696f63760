/**
 * Follows a video job: as a Stream of its changes, or as an Effect that waits for its final state.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { Gateway } from "./Gateway.ts"
import * as Video from "./Video.ts"

/**
 * @since 0.1.0
 */
export interface Options {
  /**
   * Time between two requests while nothing changes. A new status arrives at once, because the
   * service holds each request until the status changes. Default: 1 second. Values below 100 ms or
   * above 60 seconds are clamped to that range.
   */
  readonly interval?: Duration.Input | undefined
}

/**
 * Emits the job's current state, then every change of its status or progress, up to and including
 * its final state.
 *
 * Requests use the client's credential and its retry policy. An error that remains after the
 * retries fails the Stream.
 *
 * @example
 * ```ts
 * import { Gateway, VideoProgress } from "@model-gateway/core"
 * import { Console, Effect, Stream } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const gateway = yield* Gateway.Gateway
 *   const job = yield* gateway.submitVideo({ model: "sandbox/title-card", prompt: "Dawn", duration: 2 })
 *   yield* VideoProgress.watch(job.id).pipe(
 *     Stream.runForEach((job) => Console.log(job.status, job.progress ?? ""))
 *   )
 * })
 * ```
 *
 * @since 0.1.0
 */
export const watch = (id: string, options?: Options): Stream.Stream<Video.Job, Video.Failure, Gateway> => {
  const interval = Math.max(
    100,
    Math.min(Duration.toMillis(Duration.fromInputUnsafe(options?.interval ?? "1 second")), 60_000)
  )
  return Stream.unwrap(
    Effect.map(Gateway, (gateway) =>
      Stream.paginate<Video.Job | undefined, Video.Job, Video.Failure>(
        undefined,
        Effect.fnUntraced(function* (previous) {
          const asked = yield* Clock.monotonicTimeNanos
          const job = yield* gateway.getVideo(id, previous === undefined ? {} : { wait: interval / 1000 })
          const changed = previous?.status !== job.status || previous.progress !== job.progress
          // A service that ignores `wait` answers at once. Wait here instead, to keep the interval.
          const early = interval - Number((yield* Clock.monotonicTimeNanos) - asked) / 1e6
          if (previous !== undefined && previous.status === job.status && early > 0) yield* Effect.sleep(early)
          return [changed ? [job] : [], Video.isFinal(job.status) ? Option.none() : Option.some(job)] as const
        })
      )
    )
  )
}

/**
 * Waits until the job reaches a final state and returns it. The job may have failed: check
 * `status`.
 *
 * @since 0.1.0
 */
export const awaitFinal = (id: string, options?: Options): Effect.Effect<Video.Job, Video.Failure, Gateway> =>
  Stream.runLast(watch(id, options)).pipe(Effect.map(Option.getOrThrow))
