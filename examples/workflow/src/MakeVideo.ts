/**
 * The workflow that makes the video of an order.
 *
 * Its steps are activities: the engine stores the result of each, and after a crash runs only those
 * that have none. A crash between the gateway's response and the engine's write repeats the
 * submission. Its `Idempotency-Key` is derived from the execution, so the gateway then returns the
 * first job again instead of charging for a second one.
 */
import { Video, VideoProgress } from "@model-gateway/core"
import { Effect, Schedule, Schema } from "effect"
import * as Activity from "effect/workflow/Activity"
import * as Workflow from "effect/workflow/Workflow"

/** Why there is no video. It is stored, so it has only what is worth keeping. */
export class VideoFailed extends Schema.TaggedError<VideoFailed>()("VideoFailed", {
  message: Schema.String
}) {}

/** The finished video. */
export class FinishedVideo extends Schema.Class<FinishedVideo>("FinishedVideo")({
  id: Schema.String,
  /** In credits. */
  cost: Schema.Finite
}) {}

/** One execution for each order: to execute it again is to wait for the same one. */
export const MakeVideo = Workflow.make("MakeVideo", {
  payload: { order: Schema.String, prompt: Schema.String },
  idempotencyKey: ({ order }) => order,
  success: FinishedVideo,
  error: VideoFailed
})

/**
 * Outlasts an outage of the gateway. The client's own retries end after minutes, and the failure of
 * an activity is final: the engine stores it, too.
 */
const outlastOutages = <A, E extends { readonly message: string; readonly isRetryable: boolean }, R>(
  call: Effect.Effect<A, E, R>
): Effect.Effect<A, VideoFailed, R> =>
  call.pipe(
    Effect.retry({
      while: ({ isRetryable }) => isRetryable,
      // The gateway keeps the response for an Idempotency-Key for 24 hours.
      schedule: Schedule.spaced("1 minute").pipe(Schedule.upTo({ duration: "23 hours" }))
    }),
    Effect.mapError(({ message }) => new VideoFailed({ message }))
  )

/** Submits the job of the order, and returns its id. */
export const submit = (order: string, prompt: string, callback_url?: string) =>
  Activity.make({
    name: "submit",
    success: Schema.String,
    error: VideoFailed,
    execute: Effect.gen(function* () {
      const idempotencyKey = yield* Activity.idempotencyKey("submit")
      const request = { model: "sandbox/title-card", prompt, duration: 1, size: "320x240", user: order, callback_url }
      const { id } = yield* outlastOutages(Video.submitVideo(request, { idempotencyKey }))
      return id
    })
  })

/** Waiting changes nothing, so a crash only means to wait again. */
export const awaitVideo = (id: string) =>
  Activity.make({
    name: "await",
    success: FinishedVideo,
    error: VideoFailed,
    execute: outlastOutages(VideoProgress.awaitFinal(id)).pipe(
      Effect.map(({ usage }) => new FinishedVideo({ id, cost: usage?.cost ?? 0 }))
    )
  })

/** Carries the workflow out. */
export const layer = MakeVideo.toLayer(
  Effect.fnUntraced(function* ({ order, prompt }) {
    const id = yield* submit(order, prompt)
    yield* Effect.log(`Submitted ${id}`)
    return yield* awaitVideo(id)
  })
)
