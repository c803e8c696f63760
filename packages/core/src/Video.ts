/**
 * Video generation jobs: submits, reads, downloads and cancels them.
 *
 * Specification: "POST /videos", "Video job".
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { ClientError } from "./ClientError.ts"
import { type CallOptions, GatewayClient, type PageOptions, type RangeOptions } from "./GatewayClient.ts"
import {
  BadRequest,
  Forbidden,
  InternalServerError,
  NotFound,
  PayloadTooLarge,
  PaymentRequired,
  TooManyRequests,
  Unauthorized
} from "./GatewayError.ts"
import { idempotencyHeaders } from "./internal/idempotencyHeaders.ts"
import { Decimal, EndUser, HttpsUrl, KeyHash, ModelId, Page, Timestamp, VideoId, WorkspaceId } from "./Identifiers.ts"
import { isMaxBytes, isMaxItems } from "./internal/bounds.ts"
import { call } from "./internal/call.ts"
import { download } from "./internal/download.ts"
import { rateLimitedErrors } from "./internal/errorSets.ts"
import { type Open, open } from "./internal/open.ts"
import * as Operation from "./Operation.ts"
import * as Routing from "./Routing.ts"
import * as Trace from "./Trace.ts"
import type { Written } from "./internal/written.ts"

/**
 * Width to height of a video.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AspectRatio = Schema.Literals(["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "21:9", "9:21"])

/**
 * @category models
 * @since 0.1.0
 */
export type AspectRatio = typeof AspectRatio.Type

/**
 * The size class of a video: the pixels of its shorter side (`480p` to `1080p`) or of its longer
 * one in thousands (`1K` to `4K`).
 *
 * @category schemas
 * @since 0.1.0
 */
export const Resolution = Schema.Literals(["480p", "720p", "768p", "1080p", "1K", "2K", "4K"])

/**
 * @category models
 * @since 0.1.0
 */
export type Resolution = typeof Resolution.Type

/**
 * The exact size in pixels, `WIDTHxHEIGHT`. An alternative to `resolution` and `aspect_ratio`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Size = Schema.String.check(
  Schema.isPattern(/^[1-9]\d*x[1-9]\d*$/u, {
    expected: "WIDTHxHEIGHT in pixels, such as 1280x720"
  })
)

/**
 * Where an image, audio or video is.
 *
 * @category schemas
 * @since 0.1.0
 */
export const MediaUrl = Schema.Struct({
  /** An HTTPS URL, or a `data:` URI in base64 with the media type of the content. */
  url: Schema.String.check(Schema.isMinLength(1))
})

/**
 * @category models
 * @since 0.1.0
 */
export type MediaUrl = { [Field in keyof typeof MediaUrl.Type]: (typeof MediaUrl.Type)[Field] }

/**
 * Which frame of a video an image is.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FrameType = Schema.Literals(["first_frame", "last_frame"])

/**
 * @category models
 * @since 0.1.0
 */
export type FrameType = typeof FrameType.Type

/**
 * An image used as the video's first or last frame.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FrameImage = Schema.Struct({
  /** Always `image_url`. */
  type: Schema.Literal("image_url"),
  /** The image. */
  image_url: MediaUrl,
  frame_type: FrameType
})

/**
 * @category models
 * @since 0.1.0
 */
export type FrameImage = { [Field in keyof typeof FrameImage.Type]: (typeof FrameImage.Type)[Field] }

/**
 * An image, audio or video that guides the generation. Providers that do not support audio or video
 * references ignore them, and the job's `warnings` say so. An image that the model does not take is
 * a 400.
 *
 * @category schemas
 * @since 0.1.0
 */
export const InputReference = Schema.Union([
  Schema.Struct({
    /** Says which kind of reference this is: `image_url`, `audio_url` or `video_url`. */
    type: Schema.Literal("image_url"),
    /** The image. */
    image_url: MediaUrl
  }),
  Schema.Struct({
    type: Schema.Literal("audio_url"),
    /** The audio. */
    audio_url: MediaUrl
  }),
  Schema.Struct({
    type: Schema.Literal("video_url"),
    /** The video. */
    video_url: MediaUrl
  })
]).annotate({ expected: "an object whose type is image_url, audio_url or video_url, with the url under that name" })

/**
 * @category models
 * @since 0.1.0
 */
export type InputReference = typeof InputReference.Type

/** Otherwise the second image for a frame would have to be ignored. */
const isOneOfEach = Schema.makeFilter(
  (images: ReadonlyArray<typeof FrameImage.Type>) => {
    const at = images.findIndex(({ frame_type }, index) =>
      images.slice(0, index).some((earlier) => earlier.frame_type === frame_type)
    )
    return at < 0
      ? undefined
      : { path: [at, "frame_type"], issue: `Expected at most one image with ${images[at]?.frame_type}` }
  },
  { expected: "at most one image for each frame_type" }
)

/**
 * The video to generate.
 *
 * @example
 * ```ts
 * import type { Request } from "@model-gateway/core/Video"
 *
 * const request: Request = {
 *   model: "sandbox/title-card",
 *   prompt: "Dawn over the harbor",
 *   duration: 3,
 *   resolution: "720p",
 *   aspect_ratio: "16:9"
 * }
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const Request = Schema.Struct({
  /** Identifier of the video model, as GET `/models` lists it. */
  model: ModelId,
  /**
   * What the video shows, at most 64 KiB of UTF-8. Optional only for models that can work from
   * images alone, and for those that upscale.
   */
  prompt: Schema.optionalKey(Schema.String.check(isMaxBytes(65_536))),
  /** Whole seconds, at least 1. Default: the model's own. */
  duration: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))),
  /** Default: the model's own. A 400 if the model does not support it. */
  resolution: Schema.optionalKey(Resolution),
  /** Default: the model's own. A 400 if the model does not support it. */
  aspect_ratio: Schema.optionalKey(AspectRatio),
  /**
   * The exact size in pixels, such as `1280x720`: an alternative to `resolution` and
   * `aspect_ratio`. A 400 if the model does not support the size, or if it contradicts these two.
   * Default: the size that they determine.
   */
  size: Schema.optionalKey(Size),
  /**
   * An HTTPS URL that is called when the job reaches a final state. Default: the workspace's
   * `default_callback_url`.
   */
  callback_url: Schema.optionalKey(HttpsUrl),
  /** Images for the first and the last frame, at most one of each. */
  frame_images: Schema.optionalKey(Schema.Array(FrameImage).check(isMaxItems(2), isOneOfEach)),
  /** Images, audio and videos that guide the generation, at most 64 items. */
  input_references: Schema.optionalKey(Schema.Array(InputReference).check(isMaxItems(64))),
  /** Whether the video has sound. Default: the model's own. */
  generate_audio: Schema.optionalKey(Schema.Boolean),
  /**
   * Makes results repeatable, as far as the model supports it. A model that takes none ignores it,
   * and the job's `warnings` say so. Any integer. Default: random.
   */
  seed: Schema.optionalKey(Schema.Int),
  /** How freely the model upscales. For upscaling models only: a 400 for others. */
  creativity: Schema.optionalKey(Schema.Finite),
  /**
   * By how much the model upscales the video in `input_references`. Greater than 0. For upscaling
   * models only: a 400 for others.
   */
  upscale_factor: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0))),
  provider: Schema.optionalKey(Routing.Preferences),
  trace: Schema.optionalKey(Trace.Metadata),
  user: Schema.optionalKey(EndUser)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Request = { [Field in keyof typeof Request.Type]: Written<typeof Request.Type, Field> }

/**
 * A job's state: `pending` → `in_progress` → `completed` or `failed`. From `pending` and
 * `in_progress` it can also become `cancelled` or `expired`. The last four are final: the job never
 * changes again.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Status = Schema.Literals(["pending", "in_progress", "completed", "failed", "cancelled", "expired"])

/**
 * @category models
 * @since 0.1.0
 */
export type Status = typeof Status.Type

/**
 * What a completed job cost.
 *
 * @category schemas
 * @since 0.1.0
 */
export const JobUsage = Schema.Struct({
  /**
   * Credits. With `is_byok` they are not charged: the provider bills the owner of the key. Null or
   * absent: not known.
   */
  cost: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
  /** Whether the caller's provider key was used. */
  is_byok: Schema.optionalKey(Schema.Boolean)
})

/**
 * @category models
 * @since 0.1.0
 */
export type JobUsage = { [Field in keyof typeof JobUsage.Type]: (typeof JobUsage.Type)[Field] }

/**
 * A video job.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Job = Schema.Struct({
  /** Identifies the job. */
  id: Schema.String,
  /** The path of the job: `/api/v1/videos/{id}`. Requires a key of the same workspace. */
  polling_url: Schema.String,
  status: Status,
  /**
   * The id of the paid request, for GET `/generation`. Present once a provider has accepted the
   * job.
   */
  generation_id: Schema.optionalKey(Schema.String),
  /** Present once the job is `completed`. */
  usage: Schema.optionalKey(JobUsage),
  /**
   * Paths of the finished videos, present once the job is `completed`. Downloading them requires a
   * key of the same workspace.
   */
  unsigned_urls: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Why the job `failed`. */
  error: Schema.optionalKey(Schema.String),
  /** The model of the request. */
  model: Schema.optionalKey(Schema.String),
  /** The completed fraction, from 0 to 1, if the provider reports it. */
  progress: Schema.optionalKey(Schema.Finite),
  /** When the job was submitted, in ISO 8601 UTC. */
  created_at: Schema.optionalKey(Timestamp),
  /**
   * What the provider ignored of the request: a sentence for each, such as one about an audio
   * reference. Absent if it used everything.
   */
  warnings: Schema.optionalKey(Schema.Array(Schema.String))
})

/**
 * The job as {@link submitVideo} returns it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SubmittedJob = Job.annotate({ httpApiStatus: 202 })

/**
 * A service that is not this one may have more states, and give `created_at` another offset than
 * `Z`.
 */
const DecodedJob = Schema.Struct({
  ...Job.fields,
  status: open<Status>(),
  created_at: Schema.optionalKey(Schema.String)
})

/**
 * A job as the client returns it, from this service or another one. Its `status` may be one that
 * this version does not know, which is not final.
 *
 * @category models
 * @since 0.1.0
 */
export type Job = { [Field in keyof typeof DecodedJob.Type]: (typeof DecodedJob.Type)[Field] }

const listedFields = {
  /** When it reached a final state, in ISO 8601 UTC. Null: it has not. */
  finished_at: Schema.NullOr(Timestamp),
  /** The workspace that pays. */
  workspace_id: Schema.String,
  /**
   * The hash of the API key that pays: for an ephemeral key, its parent. Only for a management key.
   */
  key_hash: Schema.optionalKey(Schema.String),
  /** The name of that API key, which may be deleted. Only for a management key. */
  key_name: Schema.optionalKey(Schema.String)
}

/**
 * A video job in a list: also when it ended, and who pays.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListedJob = Schema.Struct({ ...Job.fields, ...listedFields })

const DecodedListedJob = Schema.Struct({
  ...DecodedJob.fields,
  ...listedFields,
  finished_at: Schema.optionalKey(Schema.NullOr(Schema.String)),
  workspace_id: Schema.optionalKey(Schema.String)
})

/**
 * A job of a list as the client returns it, from this service or another one.
 *
 * @category models
 * @since 0.1.0
 */
export type ListedJob = { [Field in keyof typeof DecodedListedJob.Type]: (typeof DecodedListedJob.Type)[Field] }

/**
 * Jobs, newest first. A page looks at a limited number of jobs, so a page of a filtered list may
 * have fewer jobs than `limit`, or none. Continue with `next` as `after` until it is null.
 *
 * @category schemas
 * @since 0.1.0
 */
export const JobList = Schema.Struct({
  /** The jobs of this page. */
  data: Schema.Array(ListedJob),
  /** Whether the list goes on after this page: `next` is not null. */
  has_more: Schema.Boolean,
  /** The `after` of the next page. Null on the last page. */
  next: Schema.NullOr(VideoId)
})

const DecodedJobList = Schema.Struct({
  ...JobList.fields,
  data: Schema.Array(DecodedListedJob),
  next: Schema.optionalKey(Schema.NullOr(Schema.String))
})

/**
 * @category models
 * @since 0.1.0
 */
export type JobList = { [Field in keyof typeof DecodedJobList.Type]: (typeof DecodedJobList.Type)[Field] }

/**
 * Whether the state is final: the job never changes again. An unknown state is not.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isFinal = (status: Open<Status>): boolean =>
  status === "completed" || status === "failed" || status === "cancelled" || status === "expired"

/**
 * @category operations
 * @since 0.1.0
 */
export const submitVideoOperation = Operation.make("submitVideo", "POST", "/videos", {
  access: "ordinary key",
  idempotency: "by key",
  bodyLimit: { json: "videos" },
  success: DecodedJob.annotate({ httpApiStatus: 202 }),
  error: [
    BadRequest,
    Unauthorized,
    PaymentRequired,
    Forbidden,
    NotFound,
    PayloadTooLarge,
    TooManyRequests,
    InternalServerError
  ]
})

const pendingExample = () =>
  ({
    id: "video_019aab3e5c7f7d3e9a41c2f0b6d84e11",
    polling_url: "/api/v1/videos/video_019aab3e5c7f7d3e9a41c2f0b6d84e11",
    status: "pending",
    model: "sandbox/title-card",
    created_at: "2026-11-20T22:30:00.000Z"
  }) as const

const completedExample = () =>
  ({
    ...pendingExample(),
    status: "completed",
    generation_id: "gen_019aab3e5c807a529d3c61f4e2b7a905",
    progress: 1,
    usage: { cost: 0.08, is_byok: false },
    unsigned_urls: ["/api/v1/videos/video_019aab3e5c7f7d3e9a41c2f0b6d84e11/content?index=0"]
  }) as const

/**
 * @category endpoints
 * @since 0.1.0
 */
export const submitVideoEndpoint = Operation.endpoint(submitVideoOperation, () => ({
  success: SubmittedJob,
  headers: idempotencyHeaders,
  payload: Request,
  reference: {
    summary: "Submit a video",
    example: {
      request: {
        model: "sandbox/title-card",
        prompt: "Dawn over the harbor, seen from a drone",
        duration: 8,
        resolution: "720p",
        aspect_ratio: "16:9"
      },
      response: pendingExample()
    }
  }
}))

const video = {
  /** The job's `id`. */
  id: VideoId
}

const exampleParams = () => ({ id: pendingExample().id })

/**
 * @category operations
 * @since 0.1.0
 */
export const listVideosOperation = Operation.make("listVideos", "GET", "/videos", {
  access: "any key",
  unknownFields: "refused",
  success: DecodedJobList,
  error: rateLimitedErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listVideosEndpoint = Operation.endpoint(listVideosOperation, () => ({
  success: JobList,
  query: {
    /**
     * A workspace, or `all` that the key sees: those of the organization for a management key.
     * Default: the caller's default workspace.
     */
    workspace_id: Schema.optionalKey(Schema.Union([Schema.Literal("all"), WorkspaceId])),
    /** Only jobs in this state. Default: jobs in any state. */
    status: Schema.optionalKey(Status),
    /** Only jobs that the API key with this hash pays. */
    key_hash: Schema.optionalKey(KeyHash),
    /** Only jobs for this model. */
    model: Schema.optionalKey(ModelId),
    /** Jobs submitted at this time or later: ISO 8601, in UTC with `Z`. */
    from: Schema.optionalKey(Timestamp),
    /** Jobs submitted before this time: ISO 8601, in UTC with `Z`. */
    to: Schema.optionalKey(Timestamp),
    /**
     * The `next` of the page before, or the `id` of a job. Default: the page starts with the newest
     * job.
     */
    after: Schema.optionalKey(VideoId),
    /** How many jobs to list, from 1 to 1000. Default: 100. */
    limit: Page.limit
  },
  reference: {
    summary: "List videos",
    example: {
      query: { status: "completed", limit: "20" },
      response: {
        data: [
          {
            ...completedExample(),
            finished_at: "2026-11-20T22:31:12.000Z",
            workspace_id: "6b1f3c1e-3b0a-4c55-9f0e-2d5a7c9e1b11",
            key_hash: "3f7a9c…",
            key_name: "Studio"
          }
        ],
        has_more: false,
        next: null
      }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const getVideoOperation = Operation.make("getVideo", "GET", "/videos/:id", {
  access: "any key",
  success: DecodedJob,
  error: rateLimitedErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const getVideoEndpoint = Operation.endpoint(getVideoOperation, () => ({
  success: Job,
  params: video,
  query: {
    /** Seconds to wait for the status to change, from 0 to 60. Default: 0. */
    wait: Schema.optionalKey(Decimal.check(Schema.isBetween({ minimum: 0, maximum: 60 })))
  },
  reference: {
    summary: "Get a video",
    example: { params: exampleParams(), query: { wait: "30" }, response: completedExample() }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const videoContentOperation = Operation.make("videoContent", "GET", "/videos/:id/content", {
  access: "any key",
  success: Schema.Void,
  error: rateLimitedErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const videoContentEndpoint = Operation.endpoint(videoContentOperation, () => ({
  success: HttpApiSchema.StreamUint8Array({ contentType: "video/mp4" }),
  params: video,
  query: {
    /** Which of the job's videos, counted from 0. Default: 0. */
    index: Schema.optionalKey(Decimal.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(0)))
  },
  reference: {
    summary: "Download a video",
    example: { params: exampleParams(), query: { index: "0" } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const cancelVideoOperation = Operation.make("cancelVideo", "POST", "/videos/:id/cancel", {
  access: "any key",
  idempotency: "always",
  success: DecodedJob,
  error: rateLimitedErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const cancelVideoEndpoint = Operation.endpoint(cancelVideoOperation, () => ({
  success: Job,
  params: video,
  reference: {
    summary: "Cancel a video",
    example: { params: exampleParams(), response: { ...pendingExample(), status: "cancelled" } }
  }
}))

/**
 * The errors of {@link submitVideo}.
 *
 * @category errors
 * @since 0.1.0
 */
export type SubmitFailure = Operation.ErrorOf<typeof submitVideoOperation> | ClientError

/**
 * The errors of {@link listVideos}, {@link getVideo}, {@link videoContent} and {@link cancelVideo}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof getVideoOperation> | ClientError

/**
 * Submits a video job. The cost is reserved, and charged when the job completes. Poll the job, or
 * give a `callback_url`. An error of the provider fails the job later, not this request.
 *
 * @remarks
 * `VideoProgress` follows the job.
 *
 * @category calls
 * @since 0.1.0
 */
export const submitVideo = (
  request: Request,
  options?: CallOptions
): Effect.Effect<Job, SubmitFailure, GatewayClient> => call(submitVideoOperation, { ...options, json: request })

/**
 * Which jobs to list.
 *
 * @category options
 * @since 0.1.0
 */
export interface ListOptions extends PageOptions {
  /**
   * A workspace, or `all` that the key sees. Default: the workspace of the configuration, else the
   * caller's default workspace.
   */
  readonly workspace_id?: string | undefined
  /** Only jobs in this state. */
  readonly status?: Status | undefined
  /** Only jobs that the API key with this hash pays. */
  readonly key_hash?: string | undefined
  /** Only jobs for this model. */
  readonly model?: string | undefined
  /** Jobs submitted at this time or later, in ISO 8601 with `Z`. */
  readonly from?: string | undefined
  /** Jobs submitted before this time. */
  readonly to?: string | undefined
}

/**
 * Lists the video jobs of a workspace, newest first. A management key chooses a workspace of its
 * organization, or `all`. An ephemeral key with `own_files` sees only its own jobs.
 *
 * @remarks
 * A page may have fewer jobs than `limit`, or none, although more follow: see {@link JobList}.
 *
 * @category calls
 * @since 0.1.0
 */
export const listVideos = (options?: ListOptions): Effect.Effect<JobList, Failure, GatewayClient> =>
  Effect.flatMap(GatewayClient, ({ workspaceId }) =>
    call(listVideosOperation, { query: { ...options, workspace_id: options?.workspace_id ?? workspaceId } })
  )

/**
 * Returns a job. With `wait`, the service responds when the status changes or after that many
 * seconds, at most 60.
 *
 * @remarks
 * `wait` is a duration, such as `"30 seconds"`. It extends the time limits, and the call is retried
 * through an outage of the service, as `VideoProgress.watch` describes.
 *
 * @category calls
 * @since 0.1.0
 */
export const getVideo = (
  id: string,
  options?: { readonly wait?: Duration.Input | undefined }
): Effect.Effect<Job, Failure, GatewayClient> => {
  const wait = options?.wait === undefined ? undefined : Duration.toSeconds(options.wait)
  return call(getVideoOperation, { params: { id }, query: { wait }, longPoll: wait })
}

/**
 * Downloads a video of a job that is `completed`. A `Range` header asks for a part of it, such as
 * `bytes=0-1023`.
 *
 * @remarks
 * Default for `index`: 0, the first. A download that is interrupted continues with the bytes that
 * are missing: after a lost connection, after a body that ends early, and after the policy's
 * `stallTimeout` without a byte. It fails if the content has changed meanwhile. A time in which the
 * reader requests no bytes does not count.
 *
 * @category calls
 * @since 0.1.0
 */
export const videoContent = (
  id: string,
  options?: RangeOptions & { readonly index?: number | undefined }
): Stream.Stream<Uint8Array, Failure, GatewayClient> =>
  download(videoContentOperation, { params: { id }, query: { index: options?.index } }, options?.range)

/**
 * Cancels a job and returns it. A job in a final state stays as it is. A canceled job costs
 * nothing.
 *
 * @category calls
 * @since 0.1.0
 */
export const cancelVideo = (id: string): Effect.Effect<Job, Failure, GatewayClient> =>
  call(cancelVideoOperation, { params: { id } })
