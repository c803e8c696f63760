/**
 * Follows a video job: as a Stream of its changes, or as an Effect that waits for its end.
 *
 * Follow a job with the client that submitted it: a key can read only the jobs of its workspace. If
 * the client's credential is an Effect, it runs for every request, so that short-lived tokens can
 * be renewed while a job runs. Only an ephemeral key with `own_files` must outlive the job, because
 * no other key with `own_files` can read it.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { NodeInspectSymbol } from "effect/Inspectable"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { GatewayClient } from "./GatewayClient.ts"
import { call } from "./internal/call.ts"
import * as Description from "./internal/description.ts"
import * as Video from "./Video.ts"

/**
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /**
   * Time between two requests while nothing changes. A new status arrives at once, because the
   * service answers each request when the status changes. Default: 1 second. Values below 100 ms or
   * above 60 seconds are clamped to that range.
   */
  readonly interval?: Duration.Input | undefined
}

/**
 * Emits the job's current state, then every change of its status or progress, up to and including
 * its final state.
 *
 * Requests use the client's credential and its retry policy. A restart of the service does not end
 * the Stream: each request is retried up to 30 times, with the policy's delays, within its
 * deadline. With the default policy, the Stream fails with the last error after an outage of about
 * 4 minutes. A `Retry-After` beyond the policy's maximum and an error that no retry can help fail
 * it at once. With `RetryPolicy.none`, every error does.
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
 * @category calls
 * @since 0.1.0
 */
export const watch = (id: string, options?: Options): Stream.Stream<Video.Job, Video.Failure, GatewayClient> => {
  const interval = Math.max(
    100,
    Math.min(Duration.toMillis(Duration.fromInputUnsafe(options?.interval ?? "1 second")), 60_000)
  )
  return Stream.paginate<Video.Job | undefined, Video.Job, Video.Failure, GatewayClient>(
    undefined,
    Effect.fnUntraced(function* (previous) {
      const asked = yield* Clock.monotonicTimeNanos
      const wait = previous === undefined ? undefined : interval / 1000
      const job = yield* call(Video.getVideoOperation, { params: { id }, query: { wait }, longPoll: wait ?? 0 })
      const changed = previous?.status !== job.status || previous.progress !== job.progress
      // A service that ignores `wait` answers at once. Wait here instead, to keep the interval.
      const early = interval - Number((yield* Clock.monotonicTimeNanos) - asked) / 1e6
      if (previous !== undefined && previous.status === job.status && early > 0) yield* Effect.sleep(early)
      return [changed ? [job] : [], Video.isFinal(job.status) ? Option.none() : Option.some(job)] as const
    })
  )
}

/**
 * @category models
 * @since 0.1.0
 */
export interface NotCompletedFields {
  /** The job in its final state. If it failed, its `error` says why. */
  readonly job: Video.Job
}

/**
 * The job ended without a video: its status is `failed`, `cancelled` or `expired`.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotCompleted extends Data.TaggedError("VideoNotCompleted")<NotCompletedFields> {
  constructor(fields: NotCompletedFields) {
    super(fields)
    Description.removeFrames(this)
  }

  /** The operation that returned the job. */
  get operation(): string {
    return Video.getVideoOperation.identifier
  }

  override get message(): string {
    const { error, id, status } = this.job
    return `${this.operation}: video job ${id} ended as ${status}${error === undefined ? "" : `: ${Description.oneLine(error)}`}`
  }

  /** Always false: the job never changes again. */
  get isRetryable(): boolean {
    return false
  }

  override toJSON(): unknown {
    const { _tag, isRetryable, job, message, operation } = this
    return { _tag, operation, message, isRetryable, job }
  }

  /** One line. */
  override [NodeInspectSymbol](): string {
    return String(this)
  }
}

/**
 * The errors of {@link awaitFinal}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Video.Failure | NotCompleted

/**
 * Waits until the job has completed and returns it. Fails with {@link NotCompleted} if the job ends
 * in any other state, and as {@link watch} does.
 *
 * @example
 * ```ts
 * import { VideoProgress } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * const program = VideoProgress.awaitFinal("video_1").pipe(
 *   Effect.catchTag("VideoNotCompleted", ({ job }) => Effect.fail(job.error ?? job.status))
 * )
 * ```
 *
 * @category calls
 * @since 0.1.0
 */
export const awaitFinal = (id: string, options?: Options): Effect.Effect<Video.Job, Failure, GatewayClient> =>
  Stream.runLast(watch(id, options)).pipe(
    Effect.map(Option.getOrThrow),
    Effect.filterOrFail(
      ({ status }) => status === "completed",
      (job) => new NotCompleted({ job })
    )
  )
