/**
 * ByteDance's Seedance models on BytePlus ModelArk: tasks that make a video.
 *
 * Protocol: https://docs.byteplus.com/en/docs/ModelArk/1520757 and
 * https://docs.byteplus.com/en/docs/ModelArk/1521309. Errors:
 * https://docs.byteplus.com/en/docs/ModelArk/1299023. Prices:
 * https://docs.byteplus.com/en/docs/ModelArk/1544106. Fields and answers are those of the SDK
 * `@ai-sdk/bytedance` 1.0.29; what each family takes is in
 * https://github.com/byteplus-sa/modelark-mcp/blob/main/docs/models.md.
 *
 * @since 0.1.0
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import { Duration, Effect, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import type { Adapter, Upstream } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import { nullable } from "./internal/nullable.ts"
import * as VideoInput from "./internal/videoInput.ts"
import * as VideoJobs from "./internal/videoJobs.ts"
import type { VideoModel } from "@model-gateway/offers/Model"
import type { VideoOffer } from "@model-gateway/offers/Offer"
import type * as Passthrough from "@model-gateway/offers/Passthrough"
import { maxCount, videoCost } from "@model-gateway/offers/Pricing"
import { OutOfCredit, type ProviderError, type Reason, UnknownModel } from "@model-gateway/offers/ProviderError"
import type * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
import type { VideoRequest } from "@model-gateway/offers/Video"

// Configuration

const {
  aspect_ratios,
  audio,
  default_duration,
  default_resolution,
  durations,
  image_required,
  max_reference_images,
  options,
  prompt_optional,
  refused_options,
  resolutions
} = VideoInput.Parameters.fields

/**
 * The `parameters` of a model.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Parameters = Schema.Struct({
  durations,
  default_duration,
  resolutions,
  default_resolution,
  aspect_ratios,
  /** The model's table of pixels, by which the tokens of a video are quoted. */
  sizes: Schema.NonEmptyArray(VideoInput.Size),
  /** Whether a video has audio if the request does not say. Default: the model makes none. */
  audio,
  /** Whether it takes a seed. Default: false. */
  seed: Schema.optionalKey(Schema.Boolean),
  /** Whether it takes a last frame too. Default: false. */
  last_frame: Schema.optionalKey(Schema.Boolean),
  /** The maximum number of images in `input_references`. Default: it takes no references. */
  max_reference_images,
  /**
   * The maximum number of audio files in `input_references`, beside an image. Default: it ignores
   * them.
   */
  max_reference_audios: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))),
  image_required,
  prompt_optional,
  options,
  refused_options
})

type Parameters = typeof Parameters.Type

/** The names of ModelArk's fields are the same for all models. */
const inputOf = ({
  last_frame = false,
  max_reference_audios,
  seed = false,
  ...parameters
}: Parameters): VideoInput.Parameters => ({
  ...parameters,
  fields: {
    duration: "duration",
    resolution: "resolution",
    aspect_ratio: "ratio",
    ...(seed ? { seed: "seed" } : {}),
    ...(parameters.audio === undefined ? {} : { generate_audio: "generate_audio" }),
    first_frame: "first_frame",
    ...(last_frame ? { last_frame: "last_frame" } : {}),
    ...(parameters.max_reference_images === undefined ? {} : { reference_images: "reference_images" }),
    ...(max_reference_audios === undefined ? {} : { reference_audios: "reference_audios" })
  },
  audio_needs_image: true,
  frames_or_references: true,
  resolution_names: { "4K": "4k" }
})

// Request mapping

const refused: Passthrough.Declaration["refused"] = {
  request: ["content", "prompt", "first_frame", "last_frame", "reference_images", "reference_audios"],
  // A search on the web is billed apart.
  price: ["tools"],
  account: ["draft_task", "draft_task_id"]
}

/**
 * Seedance 1 reads parameters in the text, too, such as `--dur 12 --rs 1080p`. They change the
 * price.
 */
const command = /(?:^|\s)--(?:dur|duration|fps|frames|framespersecond|ratio|resolution|rs|rt)\b/i

const issueOf = (
  { publicId }: VideoModel,
  { max_reference_audios = Infinity }: Parameters,
  request: VideoRequest
): Issue | undefined => {
  const audios = (request.input_references ?? []).filter(({ type }) => type === "audio_url").length
  if (audios > max_reference_audios) {
    return {
      path: "input_references",
      message: `${publicId} takes at most ${max_reference_audios} audio files, not ${audios}`
    }
  }
  return command.test(request.prompt ?? "")
    ? {
        path: "prompt",
        message: `${publicId} would read commands in the prompt, such as --duration. Use the fields of the request`
      }
    : undefined
}

const itemsOf = (type: string, role: string, urls: Schema.Json | undefined) =>
  (Array.isArray(urls) ? urls : urls === undefined ? [] : [urls]).map((url: Schema.Json) => ({
    type,
    [type]: { url },
    role
  }))

/** The prompt and all files are items of one list. */
const bodyOf = (model: VideoModel, parameters: VideoInput.Parameters, request: VideoRequest) => {
  const { first_frame, last_frame, prompt, reference_audios, reference_images, ...written } = VideoInput.inputOf(
    parameters,
    request
  )
  return {
    ...written,
    model: model.upstreamId,
    content: [
      ...(prompt === undefined ? [] : [{ type: "text", text: prompt }]),
      ...itemsOf("image_url", "first_frame", first_frame),
      ...itemsOf("image_url", "last_frame", last_frame),
      ...itemsOf("image_url", "reference_image", reference_images),
      ...itemsOf("audio_url", "reference_audio", reference_audios)
    ]
  }
}

// Money

const framesPerSecond = 24

const pixelsOf = (size: string): number => size.split("x").reduce((product, side) => product * Number(side), 1)

/**
 * The most tokens of a video. Without an aspect ratio the model chooses one, so that the largest
 * counts. Videos have one frame more than the documented formula says.
 */
const tokensOf = (parameters: Parameters, request: VideoRequest): number => {
  const { default_resolution, durations, resolutions, sizes } = parameters
  const { duration = parameters.default_duration ?? durations[0] } = request
  const resolution = request.resolution ?? default_resolution ?? resolutions[0]
  const pixels = sizes
    .filter((size) => (resolution ?? size.resolution) === size.resolution)
    .filter((size) => (request.aspect_ratio ?? size.aspect_ratio) === size.aspect_ratio)
    .map(({ size }) => pixelsOf(size))
  const most = Math.max(...(pixels.length === 0 ? sizes.map(({ size }) => pixelsOf(size)) : pixels))
  return Math.ceil((most * (framesPerSecond * duration + 1)) / 1024)
}

const costOf = ({ pricing }: VideoModel, parameters: Parameters, request: VideoRequest, tokens: number) =>
  videoCost(pricing, {
    seconds: request.duration ?? parameters.default_duration ?? parameters.durations[0],
    resolution: request.resolution ?? parameters.default_resolution ?? parameters.resolutions[0],
    audio: request.generate_audio ?? parameters.audio,
    tokens
  })

// Response mapping

const Created = Schema.Struct({ id: Schema.String.check(Schema.isPattern(/^[\w-]{1,128}$/)) })

const Task = Schema.Struct({
  status: Schema.String,
  content: nullable(Schema.Struct({ video_url: nullable(Schema.String) })),
  usage: nullable(
    Schema.Struct({
      completion_tokens: nullable(Schema.Number)
    })
  ),
  error: nullable(Schema.Struct({ code: nullable(Schema.String) }))
})

type Task = typeof Task.Type

/** The tokens of the video. Undefined if ModelArk does not say, or says what cannot be. */
const countOf = ({ usage }: Task): number | undefined => {
  const tokens = usage?.completion_tokens
  return typeof tokens === "number" && Number.isInteger(tokens) && tokens >= 0 && tokens <= maxCount
    ? tokens
    : undefined
}

const linksOf = ({ content }: Task): ReadonlyArray<string> =>
  typeof content?.video_url === "string" && content.video_url !== "" ? [content.video_url] : []

const failureOf = ({ error }: Task): string => {
  const code = error?.code ?? ""
  if (/^Output\w*SensitiveContent/.test(code)) return "the provider's content moderation rejected the video"
  return /SensitiveContent|RiskDetection/.test(code)
    ? "the provider's content moderation rejected the input"
    : "the provider could not make the video"
}

// Error mapping

/** ModelArk says what it means by a status in its code. */
const reasonOf = ({ codes, model }: UpstreamHttp.Failure): Reason | undefined => {
  if (codes.includes("AccountOverdueError")) return new OutOfCredit()
  return codes.some((code) => /^(?:ModelNotOpen|InvalidEndpoint)/.test(code)) ? new UnknownModel({ model }) : undefined
}

// Offers

const path = "contents/generations/tasks"

const video = (
  http: UpstreamHttp.UpstreamHttp,
  upstream: Upstream,
  model: VideoModel,
  parameters: Parameters
): VideoOffer => {
  const input = inputOf(parameters)
  const general = VideoInput.of(upstream.name, model, input, refused)
  const quote = (request: VideoRequest) => costOf(model, parameters, request, tokensOf(parameters, request))
  const read = (id: string, send: VideoJobs.Send) => send(HttpClientRequest.get(`${path}/${id}`), Task)
  const statusOf = (task: Task, request: VideoRequest): Effect.Effect<VideoJobs.Status, ProviderError> => {
    switch (task.status) {
      case "queued":
      case "running":
        return Effect.succeed({ status: "in_progress" })
      case "succeeded": {
        const tokens = countOf(task)
        return Effect.succeed({
          status: "completed",
          outputs: linksOf(task).length,
          ...(tokens === undefined
            ? {}
            : { usage: { output_tokens: tokens }, billed: costOf(model, parameters, request, tokens) })
        })
      }
      case "failed":
        return Effect.succeed(VideoJobs.failed(failureOf(task)))
      case "cancelled":
        return Effect.succeed(VideoJobs.failed("the provider canceled the job"))
      case "expired":
        return Effect.succeed(VideoJobs.failed("the provider did not make the video in time"))
      default:
        return Effect.fail(VideoJobs.badResponse("an unknown status"))
    }
  }
  return VideoJobs.offer<string>(http, upstream, model, {
    module: "ModelArk",
    input: {
      ...general,
      quote,
      charge: (request, handle, videos) => ({ ...general.charge(request, handle, videos), cost: quote(request) })
    },
    pollInterval: Duration.seconds(5),
    issueOf: (request) => issueOf(model, parameters, request),
    isHandle: Schema.is(Created.fields.id),
    notAHandle: "no handle of ModelArk",
    submit: (request, send) => {
      const body = HttpClientRequest.bodyJsonUnsafe(bodyOf(model, input, request))
      return Effect.map(send(body(HttpClientRequest.post(path)), Created), ({ id }) => id)
    },
    poll: (id, send, request) => Effect.flatMap(read(id, send), (task) => statusOf(task, request)),
    links: (id, send) => Effect.map(read(id, send), linksOf),
    // Only a job that waits can be canceled. One that is over is deleted.
    cancel: (id) => HttpClientRequest.delete(`${path}/${id}`),
    notCancelable: [400, 404, 409]
  })
}

/**
 * BytePlus ModelArk: `ARK_API_KEY`, `ARK_BASE_URL`. See {@link Parameters}.
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "modelark",
  title: "BytePlus ModelArk",
  variables: { apiKey: "ARK_API_KEY", baseUrl: "ARK_BASE_URL" },
  defaultBaseUrl: "https://ark.ap-southeast.bytepluses.com/api/v3",
  credential: "required",
  kinds: ["video"],
  ...Catalog.of("modelark"),
  offers: VideoJobs.offers({ reasonOf, countsTokens: true, parameters: Parameters, offer: video })
}
