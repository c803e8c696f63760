/** The video models. */
import {
  type Experimental_VideoModelV4 as VideoModelV4,
  type Experimental_VideoModelV4CallOptions as CallOptions,
  type Experimental_VideoModelV4File as VideoFile,
  type Experimental_VideoModelV4VideoData as VideoData,
  InvalidArgumentError,
  type JSONObject,
  type JSONValue,
  type SharedV4Warning
} from "@ai-sdk/provider"
import { GatewayClient } from "@model-gateway/core/GatewayClient"
import * as RetryPolicy from "@model-gateway/core/RetryPolicy"
import * as Video from "@model-gateway/core/Video"
import * as VideoProgress from "@model-gateway/core/VideoProgress"
import * as Base64 from "effect/encoding/Base64"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { Final } from "./errors.ts"
import type { Exchange } from "./exchange.ts"
import * as Options from "./options.ts"
import { now, type Runner } from "./runner.ts"

/** A `data:` URI for what is not a URL already. */
const urlOf = (file: VideoFile): string =>
  file.type === "url"
    ? file.url
    : `data:${file.mediaType};base64,${typeof file.data === "string" ? file.data : Base64.encode(file.data)}`

const referenceOf = (file: VideoFile): JSONObject => {
  const [kind = ""] = (file.mediaType ?? "image/").split("/")
  const type = kind === "video" || kind === "audio" ? `${kind}_url` : "image_url"
  return { type, [type]: { url: urlOf(file) } }
}

const framesOf = ({ frameImages = [], image }: CallOptions): ReadonlyArray<JSONObject> => {
  const given = frameImages.map(({ frameType, image }) => ({ frameType, image }))
  // The SDK also passes the first of the frames as `image`.
  const isFirstThere = given.some(({ frameType }) => frameType === "first_frame")
  const frames = image === undefined || isFirstThere ? given : [{ frameType: "first_frame" as const, image }, ...given]
  return frames.map(({ frameType, image }) => ({
    type: "image_url",
    image_url: { url: urlOf(image) },
    frame_type: frameType
  }))
}

const requestOf = (call: CallOptions, modelId: string, webhookUrl: string | undefined): JSONObject => {
  const frames = framesOf(call)
  const references = call.inputReferences?.map(referenceOf) ?? []
  return {
    prompt: call.prompt,
    duration: call.duration,
    size: call.resolution,
    aspect_ratio: call.aspectRatio === "adaptive" ? undefined : call.aspectRatio,
    seed: call.seed,
    generate_audio: call.generateAudio,
    frame_images: frames.length === 0 ? undefined : frames,
    input_references: references.length === 0 ? undefined : references,
    ...Options.fields(call.providerOptions),
    ...(webhookUrl === undefined ? undefined : { callback_url: webhookUrl }),
    model: modelId
  }
}

/** What the gateway has no field for. */
const ignoredOf = ({ aspectRatio, fps, n }: CallOptions): Array<SharedV4Warning> => [
  ...(fps === undefined ? [] : [unsupported("fps", "The model chooses the frames per second.")]),
  ...(aspectRatio === "adaptive"
    ? [unsupported("aspectRatio", "The gateway has no adaptive ratio. The model's default is used.")]
    : []),
  ...(n > 1 ? [unsupported("n", "A call generates one video.")] : [])
]

const unsupported = (feature: string, details: string): SharedV4Warning => ({ type: "unsupported", feature, details })

/** The client has retried the effect by its own policy. The SDK would multiply these retries. */
const retried = <A, R>(effect: Effect.Effect<A, Video.Failure, R>, id: string): Effect.Effect<A, Final, R> =>
  Effect.mapError(effect, (failure) => new Final({ failure, reason: `The video job is ${id}.` }))

/** The SDK downloads without the key, only from public addresses. So the bytes are read here. */
const videosOf = (job: Video.Job): Effect.Effect<Array<VideoData>, Final, GatewayClient> =>
  Effect.forEach(job.unsigned_urls ?? [], (_, index) =>
    Effect.map(retried(Stream.mkUint8Array(Video.videoContent(job.id, { index })), job.id), (data): VideoData => ({
      type: "binary",
      data,
      mediaType: "video/mp4"
    }))
  )

const metadataOf = (job: Video.Job, requestId: string | undefined) => ({
  [Options.name]: {
    // The SDK joins the lists of several calls, and of the start and the end of a job.
    videos: [
      {
        jobId: job.id,
        generationId: job.generation_id,
        requestId,
        cost: job.usage?.cost,
        isByok: job.usage?.is_byok
      }
    ]
  }
})

const responseOf = (job: Video.Job, modelId: string, exchange: Exchange) =>
  Effect.map(now, (timestamp) => ({
    timestamp,
    modelId: job.model ?? modelId,
    headers: exchange.responseHeaders
  }))

/** A job whose result nobody will read. Not awaited, because the caller wants to go on. */
const cancel = (id: string): Effect.Effect<void, never, GatewayClient> =>
  Video.cancelVideo(id).pipe(
    Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none),
    Effect.ignore,
    Effect.forkDetach({ startImmediately: true }),
    Effect.asVoid
  )

const { path } = Video.submitVideoOperation

export const make =
  ({ attempts, run }: Runner) =>
  (modelId: string): VideoModelV4 => {
    const attempt = attempts()

    const submit = (call: CallOptions, exchange: Exchange, webhookUrl?: string) =>
      attempt({ identity: call, idempotencyKey: exchange.idempotencyKey }, (idempotencyKey) =>
        Effect.flatMap(GatewayClient, (client) =>
          client.call(Video.submitVideoOperation, { idempotencyKey, json: requestOf(call, modelId, webhookUrl) })
        )
      )

    return {
      specificationVersion: "v4",
      provider: `${Options.name}.video`,
      modelId,
      maxVideosPerCall: 1,

      doGenerate: (call) =>
        run(
          { path, modelId, abortSignal: call.abortSignal, headers: call.headers },
          Effect.fnUntraced(function* (exchange) {
            const { id } = yield* submit(call, exchange)
            const requestId = Options.requestIdOf(exchange)
            return yield* Effect.gen(function* () {
              const job = yield* retried(followed(id), id)
              if (job.status !== "completed") return yield* new VideoProgress.NotCompleted({ job })
              return {
                response: yield* responseOf(job, modelId, exchange),
                videos: yield* videosOf(job),
                warnings: [...ignoredOf(call), ...Options.warningsOf(job.warnings)],
                providerMetadata: metadataOf(job, requestId)
              }
            }).pipe(Effect.onInterrupt(() => cancel(id)))
          })
        ),

      handleWebhookOption: async ({ webhook }) => {
        const { received, url } = await webhook()
        return { webhookUrl: url, received }
      },

      doStart: (call) =>
        run(
          { path, modelId, abortSignal: call.abortSignal, headers: call.headers },
          Effect.fnUntraced(function* (exchange) {
            const job = yield* submit(call, exchange, call.webhookUrl)
            return {
              operation: job.id,
              warnings: ignoredOf(call),
              providerMetadata: { [Options.name]: { jobId: job.id, requestId: Options.requestIdOf(exchange) } },
              response: yield* responseOf(job, modelId, exchange)
            }
          })
        ),

      doStatus: ({ abortSignal, headers, operation }) =>
        run(
          { path: Video.getVideoOperation.path, modelId, abortSignal, headers },
          Effect.fnUntraced(function* (exchange) {
            const id = yield* jobIdOf(operation)
            const job = yield* attempt({ identity: headers, content: id, idempotencyKey: undefined }, () =>
              Video.getVideo(id)
            )
            const response = yield* responseOf(job, modelId, exchange)
            const providerMetadata = metadataOf(job, Options.requestIdOf(exchange))
            if (!Video.isFinal(job.status)) {
              const { progress, status } = job
              return {
                status: "pending" as const,
                providerMetadata: { [Options.name]: { status, progress } },
                response
              }
            }
            if (job.status !== "completed") {
              const { message } = new VideoProgress.NotCompleted({ job })
              return { status: "error" as const, error: message, providerMetadata, response }
            }
            const videos = yield* videosOf(job)
            const warnings = Options.warningsOf(job.warnings)
            return { status: "completed" as const, videos, warnings, providerMetadata, response }
          })
        )
    }
  }

/** The job in its final state. Requests are long polls, which outlast a restart of the gateway. */
const followed = (id: string): Effect.Effect<Video.Job, Video.Failure, GatewayClient> =>
  Stream.runLast(VideoProgress.watch(id)).pipe(Effect.map(Option.getOrThrow))

const jobIdOf = (operation: JSONValue): Effect.Effect<string, Error> =>
  typeof operation === "string"
    ? Effect.succeed(operation)
    : Effect.fail(
        new InvalidArgumentError({ argument: "operation", message: "The operation is not the id of a video job." })
      )
