/**
 * Follow a video job: every change of it as a Stream, or just its end.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { type Failure, Gateway } from "./Gateway.ts"
import * as Video from "./Video.ts"

/**
 * @since 0.1.0
 */
export interface Options {
  /**
   * How often to ask while nothing changes. A changed status is told at once, as
   * the service holds each question until then. Default 1 second, at least 100 ms, at most 60 seconds.
   */
  readonly interval?: Duration.Input | undefined
}

/**
 * The job as it stands now, then each time that its status or progress changed,
 * up to and including its final state.
 *
 * It asks with the client's own credential. A call that fails is retried as any
 * other; what remains ends the Stream.
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
export const watch = (
  id: string,
  options?: Options
): Stream.Stream<Video.Job, Failure<typeof Video.getVideo>, Gateway> => {
  const interval = Math.max(
    100,
    Math.min(Duration.toMillis(Duration.fromInputUnsafe(options?.interval ?? "1 second")), 60_000)
  )
  return Stream.unwrap(
    Effect.map(Gateway, (gateway) =>
      Stream.paginate<Video.Job | undefined, Video.Job, Failure<typeof Video.getVideo>>(
        undefined,
        Effect.fnUntraced(function* (previous) {
          const asked = yield* Clock.monotonicTimeNanos
          const job = yield* gateway.getVideo(id, previous === undefined ? {} : { wait: interval / 1000 })
          const changed = previous?.status !== job.status || previous.progress !== job.progress
          // A service that does not know `wait` answers at once; it is asked no more often for that.
          const early = interval - Number((yield* Clock.monotonicTimeNanos) - asked) / 1e6
          if (previous !== undefined && previous.status === job.status && early > 0) yield* Effect.sleep(early)
          return [changed ? [job] : [], Video.isFinal(job.status) ? Option.none() : Option.some(job)] as const
        })
      )
    )
  )
}

/**
 * The job in its final state, whichever it is: look at `status`.
 *
 * @since 0.1.0
 */
export const awaitFinal = (
  id: string,
  options?: Options
): Effect.Effect<Video.Job, Failure<typeof Video.getVideo>, Gateway> =>
  Stream.runLast(watch(id, options)).pipe(Effect.map(Option.getOrThrow))
