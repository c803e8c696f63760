/** The tools that make a video, follow it and cancel it. */
import { Gateway } from "@model-gateway/core/Gateway"
import * as Video from "@model-gateway/core/Video"
import * as VideoProgress from "@model-gateway/core/VideoProgress"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Reservation } from "../CreditLimit.ts"
import * as Estimate from "../Estimate.ts"
import { Session } from "../Session.ts"
import * as Paid from "./paid.ts"
import * as Tool from "./tool.ts"
import * as VideoUri from "./videoUri.ts"

/**
 * Seconds to wait for a video unless the agent chooses others: less than the 60 seconds after which
 * the clients of the protocol's own SDKs give up a call.
 */
const defaultWait = 50

const waitField = {
  wait_seconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3600 }))).annotate({
    description:
      `How long to wait for the video, from 0 to 3600. Default: ${defaultWait}. A job that has not ended then goes on: ` +
      "call follow_video with its job_id"
  })
}

const jobField = { job_id: Schema.NonEmptyString.annotate({ description: "The job_id that make_video returned" }) }

const output = Schema.Struct({
  job_id: Schema.optionalKey(Schema.String).annotate({ description: "For follow_video and cancel_video" }),
  status: Schema.String.annotate({
    description: "pending, in_progress, completed, failed, cancelled, expired, or estimated with estimate_only"
  }),
  progress: Schema.optionalKey(Schema.Finite).annotate({ description: "The completed fraction, from 0 to 1" }),
  error: Schema.optionalKey(Schema.String).annotate({ description: "Why the job failed" }),
  videos: Schema.Array(
    Schema.Struct({
      uri: Schema.String.annotate({ description: "Resource of this server that has the video" }),
      url: Schema.optionalKey(Schema.String).annotate({
        description: "Where a person downloads it, with the gateway's key as bearer token"
      })
    })
  ).annotate({ description: "The finished videos" }),
  warnings: Schema.optionalKey(Schema.Array(Schema.String)),
  ...Paid.outputFields
})

const unknownEstimate: Estimate.Estimate = { credits: undefined, maxPrice: undefined }

/** A job as it was last seen. */
interface Followed {
  readonly job: Video.Job
  /** Why it could not be followed longer. */
  readonly warning?: string | undefined
}

/** The job as a result. */
const resultOf = Effect.fnUntraced(function* ({ job, warning }: Followed, estimate: Estimate.Estimate) {
  const { baseUrl } = yield* Session
  const warnings = [...(job.warnings ?? []), ...(warning === undefined ? [] : [warning])]
  const videos = (job.unsigned_urls ?? []).map((path, index) => ({
    uri: VideoUri.of(job.id, index),
    ...(baseUrl === undefined ? {} : { url: new URL(path, baseUrl).href })
  }))
  return {
    output: {
      job_id: job.id,
      status: job.status,
      ...(job.progress === undefined ? {} : { progress: job.progress }),
      ...(job.error === undefined ? {} : { error: job.error }),
      videos,
      ...(warnings.length === 0 ? {} : { warnings }),
      ...(yield* Paid.price(estimate, costOf(job)))
    },
    links: videos.map(({ uri }, index) => ({ uri, name: `${job.id}-${index}.mp4`, mimeType: VideoUri.mimeType }))
  }
})

/** What a job has cost. Undefined: it has not ended, or its cost is not known. */
const costOf = ({ status, usage }: Video.Job): number | undefined =>
  status === "completed" ? (usage?.cost ?? undefined) : Video.isFinal(status) ? 0 : undefined

/** Replaces what was reserved for a job that has ended by what it cost. */
const settle = Effect.fnUntraced(function* (job: Video.Job) {
  const { jobs } = yield* Session
  const reservation = jobs.get(job.id)
  if (reservation === undefined || !Video.isFinal(job.status)) return
  jobs.delete(job.id)
  yield* reservation.settle(costOf(job))
})

/** Jobs of a session whose cost is not known yet. Of more, the oldest count as spent. */
const maxJobs = 1000

/** Keeps what a job may cost until it has ended. */
const keep = Effect.fnUntraced(function* (id: string, reservation: Reservation) {
  const { jobs } = yield* Session
  const [oldest] = jobs
  if (oldest !== undefined && jobs.size >= maxJobs) {
    jobs.delete(oldest[0])
    yield* oldest[1].settle(undefined)
  }
  jobs.set(id, reservation)
})

/** The greatest time between two reports, so that a client that counts from the last one waits on. */
const heartbeat = "10 seconds"

/**
 * Follows a job until it ends, at most for so many seconds, and reports each change. If the gateway
 * cannot be asked any longer, the job is returned as it was: the agent must learn its id, or it would
 * make, and pay for, the video again.
 */
const follow = Effect.fnUntraced(function* (submitted: Video.Job, seconds: number, { report }: Tool.Call) {
  let job = submitted
  let reported = 0
  // Reports must grow, also while the provider reports no progress.
  const tell = Effect.suspend(() => {
    reported = Math.max(reported + 0.001, (job.progress ?? 0) * 100)
    return report(reported, `video job ${job.id} is ${job.status}`)
  })
  yield* tell
  if (Video.isFinal(job.status) || seconds === 0) return { job }
  const changes = VideoProgress.watch(job.id).pipe(
    Stream.runForEach((next) => {
      job = next
      return tell
    })
  )
  const beats = Effect.forever(Effect.andThen(Effect.sleep(heartbeat), tell))
  const warning = yield* Effect.timeoutOption(Effect.raceFirst(changes, beats), `${seconds} seconds`).pipe(
    Effect.as(undefined),
    Effect.catch((error) =>
      Effect.succeed(`The job goes on, but could not be followed: ${error.message} Call follow_video with its job_id.`)
    )
  )
  yield* settle(job)
  return { job, warning }
})

/** A job that is canceled while nobody waits for it must not hold the end of the call for long. */
const cancelTimeout = "10 seconds"

/**
 * Cancels the job of a call that was canceled, or whose agent is gone. If the gateway does not
 * confirm it, what the job may cost stays reserved.
 */
const abandon = (id: string) =>
  Effect.gen(function* () {
    const gateway = yield* Gateway
    if ((yield* Session).keepsJobs()) return
    yield* settle(yield* gateway.cancelVideo(id))
  }).pipe(Effect.timeout(cancelTimeout), Effect.ignore)

/** The price of a video. Only the list of video models says how long a video is by default. */
const estimateOf = Effect.fnUntraced(function* (id: string, duration: number | undefined) {
  const gateway = yield* Gateway
  const { data } = yield* gateway.listVideoModels
  const model = data.find((each) => each.id === id)
  return model === undefined ? unknownEstimate : Estimate.video(model, duration)
})

const frame = (url: string | undefined, frame_type: Video.FrameType) =>
  url === undefined ? [] : [{ type: "image_url" as const, image_url: { url }, frame_type }]

export const makeVideoTool = Tool.make({
  name: "make_video",
  title: "Make a video",
  description:
    "Generates a video from a prompt, and from images if the model takes them. It takes from seconds to many minutes: progress is reported, " +
    "and canceling the call cancels the job, which then costs nothing. Paid: the result states the cost once the job has ended. " +
    "`models` lists models, what they can do and their prices.",
  input: Schema.Struct({
    model: Schema.NonEmptyString.annotate({ description: "Id of a video model, as `models` lists it" }),
    prompt: Schema.optionalKey(Schema.String).annotate({ description: "What the video shows" }),
    duration: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))).annotate({
      description: "Seconds. Default: the model's own"
    }),
    resolution: Schema.optionalKey(Video.Resolution),
    aspect_ratio: Schema.optionalKey(Video.AspectRatio),
    generate_audio: Schema.optionalKey(Schema.Boolean),
    seed: Schema.optionalKey(Schema.Int),
    first_frame: Schema.optionalKey(Schema.String).annotate({
      description: "Image of the first frame: an HTTPS URL or a data: URI"
    }),
    last_frame: Schema.optionalKey(Schema.String).annotate({
      description: "Image of the last frame: an HTTPS URL or a data: URI"
    }),
    ...waitField,
    ...Paid.inputFields
  }),
  output,
  hints: { readOnly: false, destructive: false, idempotent: false },
  run: Effect.fn("Mcp.makeVideo")(function* (
    { estimate_only, first_frame, last_frame, wait_seconds = defaultWait, ...request },
    call
  ) {
    const gateway = yield* Gateway
    const estimate = yield* estimateOf(request.model, request.duration)
    if (estimate_only === true) {
      return { output: { status: "estimated", videos: [], ...(yield* Paid.price(estimate, null)) } }
    }
    const frames = [...frame(first_frame, "first_frame"), ...frame(last_frame, "last_frame")]
    const preferences = yield* Paid.preferences(estimate)
    return yield* Paid.reserved(estimate, (reservation, restore) =>
      Effect.gen(function* () {
        // Not interrupted, because a job whose id nobody got could not be canceled.
        const job = yield* Effect.tapCause(
          gateway.submitVideo({ ...request, ...(frames.length === 0 ? {} : { frame_images: frames }), ...preferences }),
          (cause) => reservation.settle(Paid.costOfFailure(cause))
        )
        yield* keep(job.id, reservation)
        const followed = yield* Effect.onInterrupt(restore(follow(job, wait_seconds, call)), () => abandon(job.id))
        return yield* resultOf(followed, estimate)
      })
    )
  })
})

export const followVideoTool = Tool.make({
  name: "follow_video",
  title: "Follow a video",
  description: "Waits for a video that make_video started, and returns it once it is finished. Costs nothing.",
  input: Schema.Struct({ ...jobField, ...waitField }),
  output,
  hints: { readOnly: true, destructive: false, idempotent: true },
  run: Effect.fn("Mcp.followVideo")(function* ({ job_id, wait_seconds = defaultWait }, call) {
    const gateway = yield* Gateway
    const job = yield* gateway.getVideo(job_id)
    yield* settle(job)
    return yield* resultOf(yield* follow(job, wait_seconds, call), unknownEstimate)
  })
})

export const cancelVideoTool = Tool.make({
  name: "cancel_video",
  title: "Cancel a video",
  description: "Cancels a video that make_video started and that is not finished. A canceled video costs nothing.",
  input: Schema.Struct(jobField),
  output,
  hints: { readOnly: false, destructive: true, idempotent: true },
  run: Effect.fn("Mcp.cancelVideo")(function* ({ job_id }) {
    const gateway = yield* Gateway
    const job = yield* gateway.cancelVideo(job_id)
    yield* settle(job)
    return yield* resultOf({ job }, unknownEstimate)
  })
})

/** How many jobs are asked for at a time, so that it does not use up the rate limit of the key. */
const askedJobs = 20

/**
 * Asks for jobs of the session that may have ended, so that the limit counts what they cost. A job
 * that cannot be read stays reserved. Those that were asked for are last the next time.
 */
export const settleJobs: Effect.Effect<void, never, Gateway | Session> = Effect.gen(function* () {
  const gateway = yield* Gateway
  const { jobs } = yield* Session
  const ask = ([id, reservation]: readonly [string, Reservation]) =>
    Effect.gen(function* () {
      jobs.delete(id)
      jobs.set(id, reservation)
      yield* settle(yield* gateway.getVideo(id))
    }).pipe(Effect.ignore)
  yield* Effect.forEach([...jobs].slice(0, askedJobs), ask, { concurrency: 4, discard: true })
})
