/**
 * Runway's video models: tasks that make a video from text or from an image.
 *
 * Protocol: https://docs.dev.runwayml.com/api/. Errors:
 * https://docs.dev.runwayml.com/errors/errors/ and
 * https://docs.dev.runwayml.com/errors/task-failures/. Inputs:
 * https://docs.dev.runwayml.com/assets/inputs/. Prices:
 * https://docs.dev.runwayml.com/guides/pricing/.
 *
 * @since 0.1.0
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import { AspectRatio, Resolution } from "@model-gateway/core/Video"
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
import { OutOfCredit, Overloaded, type Reason } from "@model-gateway/offers/ProviderError"
import * as SafeMessage from "@model-gateway/offers/SafeMessage"
import type * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
import type { VideoRequest } from "@model-gateway/offers/Video"

// Configuration

/**
 * The `parameters` of a model.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Parameters = Schema.Struct({
  /** The sizes in pixels that the model makes. The first that fits the request is used. */
  ratios: Schema.NonEmptyArray(
    Schema.Struct({
      /** As Runway writes it: `1280:720`. */
      ratio: Schema.String.check(Schema.isPattern(/^[1-9]\d*:[1-9]\d*$/)),
      resolution: Resolution,
      aspect_ratio: AspectRatio,
      /** Whether it is for videos from an image only. Default: false. */
      image_only: Schema.optionalKey(Schema.Boolean)
    })
  ),
  durations: VideoInput.Parameters.fields.durations,
  default_duration: VideoInput.Parameters.fields.default_duration,
  /** Whether the model takes a last frame too. Default: false. */
  last_frame: Schema.optionalKey(Schema.Boolean),
  /** Whether a video has audio if the request does not say. Default: the model makes none. */
  audio: VideoInput.Parameters.fields.audio,
  image_required: VideoInput.Parameters.fields.image_required,
  prompt_optional: VideoInput.Parameters.fields.prompt_optional,
  options: VideoInput.Parameters.fields.options,
  refused_options: VideoInput.Parameters.fields.refused_options
})

type Parameters = typeof Parameters.Type

/** The names of Runway's fields are the same for all models. */
const inputOf = ({ last_frame, ratios, ...parameters }: Parameters): VideoInput.Parameters => ({
  ...parameters,
  fields: {
    prompt: "promptText",
    duration: "duration",
    seed: "seed",
    first_frame: "promptImage",
    ...(last_frame === true ? { last_frame: "promptImage" } : {}),
    ...(parameters.audio === undefined ? {} : { generate_audio: "audio" })
  },
  sizes: ratios.map(({ aspect_ratio, ratio, resolution }) => ({
    size: ratio.replace(":", "x"),
    resolution,
    aspect_ratio
  })),
  resolutions: [...new Set(ratios.map(({ resolution }) => resolution))],
  aspect_ratios: [...new Set(ratios.map(({ aspect_ratio }) => aspect_ratio))]
})

// Request mapping

/**
 * Files beside the first and the last frame, of which a video is billed by its length. Other
 * formats than MP4 cost more.
 */
const refused: Passthrough.Declaration["refused"] = {
  request: ["promptImage", "references", "referenceAudio", "referenceImages"],
  price: ["audio", "outputFormat", "promptVideo", "ratio"]
}

const maxPromptLength = 1000
const maxDataUriLength = 5 * 1024 * 1024
const maxUrlLength = 2048

const imagesOf = ({ frame_images = [] }: VideoRequest) =>
  frame_images.map(({ frame_type, image_url: { url } }) => ({
    uri: url,
    position: frame_type === "first_frame" ? "first" : "last"
  }))

const ratioOf = ({ ratios }: Parameters, request: VideoRequest): string | undefined =>
  ratios.find(
    ({ aspect_ratio, image_only = false, ratio, resolution }) =>
      (request.size === undefined || request.size === ratio.replace(":", "x")) &&
      (request.resolution ?? resolution) === resolution &&
      (request.aspect_ratio ?? aspect_ratio) === aspect_ratio &&
      (!image_only || imagesOf(request).length > 0)
  )?.ratio

/** What Runway does not take in the request, beyond what the model does not support. */
const issueOf = ({ publicId }: VideoModel, parameters: Parameters, request: VideoRequest): Issue | undefined => {
  if ((request.prompt ?? "").length > maxPromptLength) {
    return { path: "prompt", message: `${publicId} takes at most ${maxPromptLength} characters` }
  }
  const tooLong = imagesOf(request).findIndex(
    ({ uri }) => uri.length > (uri.startsWith("data:") ? maxDataUriLength : maxUrlLength)
  )
  if (tooLong >= 0) {
    return {
      path: `frame_images.${tooLong}.image_url.url`,
      message: `${publicId} takes a URL of at most ${maxUrlLength} characters, or a data: URI of at most 5 MiB`
    }
  }
  return ratioOf(parameters, request) === undefined
    ? {
        path: request.size === undefined ? "aspect_ratio" : "size",
        message: `${publicId} makes no video of this aspect ratio and resolution ${imagesOf(request).length > 0 ? "from an image" : "without an image"}`
      }
    : undefined
}

const bodyOf = (model: VideoModel, parameters: Parameters, request: VideoRequest) => ({
  ...VideoInput.inputOf(inputOf(parameters), request),
  model: model.upstreamId,
  ratio: ratioOf(parameters, request),
  ...(imagesOf(request).length === 0 ? {} : { promptImage: imagesOf(request) })
})

// Response mapping

const Created = Schema.Struct({ id: Schema.String.check(Schema.isPattern(/^[\w-]{1,64}$/)) })

const Task = Schema.Struct({
  status: Schema.Literals(["PENDING", "THROTTLED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"]),
  progress: nullable(Schema.Finite),
  output: nullable(Schema.Array(Schema.String)),
  failure: nullable(Schema.String),
  failureCode: nullable(Schema.String)
})

type Task = typeof Task.Type

/** Runway asks not to show its codes to users. Its words for an invalid input help them. */
const failureOf = ({ failure, failureCode }: Task): string => {
  const code = failureCode ?? ""
  if (/(?:^|\.)SAFETY\./.test(`${code}.`)) {
    return code.startsWith("SAFETY.OUTPUT")
      ? "the provider's content moderation rejected the video"
      : "the provider's content moderation rejected the input"
  }
  const said = code.startsWith("ASSET.") ? SafeMessage.make(failure ?? "") : undefined
  if (code.startsWith("ASSET.")) return said ?? "the provider could not use an input file"
  return "the provider could not make the video"
}

const statusOf = (task: Task): VideoJobs.Status => {
  switch (task.status) {
    case "PENDING":
    case "THROTTLED":
    case "RUNNING":
      return { status: "in_progress", ...(typeof task.progress === "number" ? { progress: task.progress } : {}) }
    case "SUCCEEDED":
      return { status: "completed", outputs: task.output?.length ?? 0 }
    case "FAILED":
      return VideoJobs.failed(failureOf(task))
    case "CANCELLED":
      return VideoJobs.failed("the provider canceled the job")
  }
}

// Error mapping

/** Runway reports an empty account as a 400, and load that it sheds as a 502. */
const reasonOf = ({ message, retryAfter, status }: UpstreamHttp.Failure): Reason | undefined => {
  if (status === 400 && /\bcredits?\b/i.test(message ?? "")) return new OutOfCredit()
  if (status === 502) return new Overloaded(retryAfter === undefined ? {} : { retryAfter })
  return undefined
}

// Offers

const versioned = HttpClientRequest.setHeaders({ "x-runway-version": "2024-11-06" })

const video = (
  http: UpstreamHttp.UpstreamHttp,
  upstream: Upstream,
  model: VideoModel,
  parameters: Parameters
): VideoOffer => {
  const read = (id: string, send: VideoJobs.Send) => send(versioned(HttpClientRequest.get(`v1/tasks/${id}`)), Task)
  return VideoJobs.offer<string>(http, upstream, model, {
    module: "Runway",
    input: VideoInput.of(upstream.name, model, inputOf(parameters), refused),
    pollInterval: Duration.seconds(5),
    issueOf: (request) => issueOf(model, parameters, request),
    isHandle: Schema.is(Created.fields.id),
    notAHandle: "no handle of Runway",
    submit: (request, send) => {
      const operation = imagesOf(request).length > 0 ? "v1/image_to_video" : "v1/text_to_video"
      const body = HttpClientRequest.bodyJsonUnsafe(bodyOf(model, parameters, request))
      return Effect.map(send(versioned(body(HttpClientRequest.post(operation))), Created), ({ id }) => id)
    },
    poll: (id, send) => Effect.map(read(id, send), statusOf),
    links: (id, send) => Effect.map(read(id, send), ({ output }) => output ?? []),
    cancel: (id) => versioned(HttpClientRequest.delete(`v1/tasks/${id}`)),
    notCancelable: [404]
  })
}

/**
 * Runway: `RUNWAYML_API_SECRET`, `RUNWAYML_BASE_URL`.
 *
 * @example
 * ```ts
 * import { Redacted } from "effect"
 * import { gatewayCredential } from "@model-gateway/offers/Offer"
 * import * as Runway from "@model-gateway/providers/Runway"
 *
 * declare const apiKey: string
 *
 * const upstream = {
 *   name: "runway",
 *   baseUrl: "https://api.dev.runwayml.com",
 *   credential: gatewayCredential(Redacted.make(apiKey))
 * }
 * const offers = Runway.adapter.offers(upstream, Runway.adapter.models)
 * ```
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "runway",
  title: "Runway",
  variables: { apiKey: "RUNWAYML_API_SECRET", baseUrl: "RUNWAYML_BASE_URL" },
  defaultBaseUrl: "https://api.dev.runwayml.com",
  credential: "required",
  kinds: ["video"],
  ...Catalog.of("runway"),
  offers: VideoJobs.offers({ reasonOf, parameters: Parameters, offer: video })
}
