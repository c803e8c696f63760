/**
 * Google's video models on the Gemini API: Gemini Omni, by background interactions.
 *
 * Protocol: https://ai.google.dev/gemini-api/docs/omni and
 * https://ai.google.dev/gemini-api/docs/interactions. Errors:
 * https://ai.google.dev/gemini-api/docs/troubleshooting. Prices:
 * https://ai.google.dev/gemini-api/docs/pricing.
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
import { OutOfCredit, type ProviderError, type Reason, Unauthorized } from "@model-gateway/offers/ProviderError"
import * as SafeMessage from "@model-gateway/offers/SafeMessage"
import type * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
import type { VideoRequest } from "@model-gateway/offers/Video"

// Configuration

const {
  aspect_ratios,
  default_duration,
  default_resolution,
  durations,
  max_reference_images,
  options,
  prompt_optional,
  refused_options,
  resolutions,
  sizes
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
  sizes,
  /** The maximum number of images in `input_references`. Default: it takes none. */
  max_reference_images,
  /** Whether it takes a last frame too. Default: false. */
  last_frame: Schema.optionalKey(Schema.Boolean),
  /** The longest video with a last frame, in seconds. Default: as without one. */
  max_last_frame_duration: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))),
  prompt_optional,
  options,
  refused_options
})

type Parameters = typeof Parameters.Type

/** The names of Google's fields are the same for all models, and every video has audio. */
const inputOf = ({
  last_frame,
  max_last_frame_duration: _longest,
  ...parameters
}: Parameters): VideoInput.Parameters => ({
  ...parameters,
  frames_or_references: true,
  fields: {
    duration: "duration",
    resolution: "resolution",
    aspect_ratio: "aspect_ratio",
    seed: "seed",
    first_frame: "image",
    ...(last_frame === true ? { last_frame: "last_image" } : {}),
    ...(parameters.max_reference_images === undefined ? {} : { reference_images: "images" })
  },
  duration_form: "string_s",
  resolution_names: { "4K": "4k" },
  audio: true
})

// Request mapping

const dataUri = /^data:(image\/[\w.+-]+);base64,([A-Za-z0-9+/]+={0,2})$/

/** Fields of an interaction. */
const refused: Passthrough.Declaration["refused"] = {
  request: ["input"],
  model: ["agent", "agent_config"],
  price: ["generation_config", "tools"],
  response: ["background", "response_format", "response_modalities", "store"],
  account: ["cached_content", "environment", "previous_interaction_id"]
}

/** Images are sent inline. Google does not fetch URLs. */
const inline = (url: string) => {
  const [, mime_type, data] = dataUri.exec(url) ?? []
  return { type: "image", mime_type, data }
}

/** The request's images with their paths: references, or the first frame and then the last one. */
const imagesOf = ({ frame_images = [], input_references = [] }: VideoRequest) => [
  ...(["first_frame", "last_frame"] as const).flatMap((type) =>
    frame_images.flatMap(({ frame_type, image_url: { url } }, index) =>
      frame_type === type ? [{ path: `frame_images.${index}`, url }] : []
    )
  ),
  ...input_references.flatMap((reference, index) =>
    reference.type === "image_url" ? [{ path: `input_references.${index}`, url: reference.image_url.url }] : []
  )
]

const taskOf = ({ frame_images = [] }: VideoRequest, images: number): string =>
  images === 0 ? "text_to_video" : frame_images.length > 0 ? "image_to_video" : "reference_to_video"

const hasLastFrame = ({ frame_images = [] }: VideoRequest): boolean =>
  frame_images.some(({ frame_type }) => frame_type === "last_frame")

const issueOf = (
  { publicId }: VideoModel,
  { default_duration, durations, max_last_frame_duration = Infinity }: Parameters,
  request: VideoRequest
): Issue | undefined => {
  const images = imagesOf(request)
  const linked = images.find(({ url }) => !dataUri.test(url))
  if (linked !== undefined) {
    return {
      path: `${linked.path}.image_url.url`,
      message: `${publicId} takes images as data:image/…;base64, URIs only`
    }
  }
  const { duration = default_duration ?? durations[0] } = request
  if (hasLastFrame(request) && duration > max_last_frame_duration) {
    return {
      path: "duration",
      message: `${publicId} makes videos of at most ${max_last_frame_duration} seconds with a last frame`
    }
  }
  return undefined
}

const bodyOf = (model: VideoModel, parameters: Parameters, request: VideoRequest) => {
  const written = VideoInput.inputOf(inputOf(parameters), request)
  const { aspect_ratio, duration, prompt, resolution, seed, ...rest } = written
  const { image: _image, images: _images, last_image: _last, ...options } = rest
  const images = imagesOf(request).map(({ url }) => inline(url))
  return {
    ...options,
    model: model.upstreamId,
    input: [...images, ...(prompt === undefined ? [] : [{ type: "text", text: prompt }])],
    // Otherwise the response comes when the video is made.
    background: true,
    store: true,
    response_format: { type: "video", delivery: "uri", duration, resolution, aspect_ratio },
    generation_config: { seed, video_config: { task: taskOf(request, images.length) } }
  }
}

// Response mapping

const Id = Schema.String.check(Schema.isPattern(/^[\w-][\w.~=+-]{0,1023}$/))

const Created = Schema.Struct({ id: Id })

const Interaction = Schema.Struct({
  status: Schema.String,
  steps: nullable(
    Schema.Array(
      Schema.Struct({
        type: Schema.String,
        content: nullable(Schema.Array(Schema.Struct({ type: Schema.String, uri: nullable(Schema.String) })))
      })
    )
  ),
  errors: nullable(Schema.Array(Schema.Struct({ message: nullable(Schema.String) }))),
  usage: nullable(
    Schema.Struct({ total_input_tokens: nullable(Schema.Finite), total_output_tokens: nullable(Schema.Finite) })
  )
})

type Interaction = typeof Interaction.Type

const linksOf = ({ steps }: Interaction): ReadonlyArray<string> =>
  (steps ?? []).flatMap(({ content, type }) =>
    type === "model_output"
      ? (content ?? []).flatMap(({ type, uri }) => (type === "video" && typeof uri === "string" ? [uri] : []))
      : []
  )

/** The link to the bytes. Without `alt=media` it describes the file. */
const downloadOf = (link: string): string => {
  const url = URL.parse(link)
  url?.searchParams.set("alt", "media")
  return url?.href ?? link
}

/** What the bill is made of, for reconciliation. */
const tokensOf = ({ usage }: Interaction): Readonly<Record<string, number>> => ({
  ...(typeof usage?.total_input_tokens === "number" ? { input_tokens: usage.total_input_tokens } : {}),
  ...(typeof usage?.total_output_tokens === "number" ? { output_tokens: usage.total_output_tokens } : {})
})

const statusOf = (interaction: Interaction): Effect.Effect<VideoJobs.Status, ProviderError> => {
  const outputs = linksOf(interaction).length
  switch (interaction.status) {
    case "queued":
    case "in_progress":
      return Effect.succeed({ status: "in_progress" })
    case "completed":
      return Effect.succeed(
        outputs === 0
          ? // The model answers in words if it may not make the video.
            VideoJobs.failed("the provider made no video, as when its safety filters reject the input")
          : { status: "completed", outputs, usage: tokensOf(interaction) }
      )
    case "failed": {
      const said = interaction.errors?.[0]?.message ?? ""
      return Effect.succeed(VideoJobs.failed(SafeMessage.make(said) ?? "the provider could not make the video"))
    }
    case "cancelled":
    case "incomplete":
    case "budget_exceeded":
    case "requires_action":
    case "requires_continuation":
      return Effect.succeed(VideoJobs.failed("the provider ended the job without a video"))
    default:
      return Effect.fail(VideoJobs.badResponse("an unknown status"))
  }
}

// Error mapping

/** Google reports a wrong key, and an account without billing, as a 400. */
const reasonOf = ({ codes, status }: UpstreamHttp.Failure): Reason | undefined => {
  if (codes.some((code) => code.startsWith("API_KEY_"))) return new Unauthorized()
  if (status === 400 && codes.includes("FAILED_PRECONDITION")) return new OutOfCredit()
  return undefined
}

// Offers

const video = (
  http: UpstreamHttp.UpstreamHttp,
  upstream: Upstream,
  model: VideoModel,
  parameters: Parameters
): VideoOffer => {
  const path = (id: string) => `interactions/${encodeURIComponent(id)}`
  const read = (id: string, send: VideoJobs.Send) =>
    Effect.mapError(send(HttpClientRequest.get(path(id)), Interaction), (error) =>
      // Nothing of the caller's is in this request.
      error.reason._tag === "InvalidRequest" && !/invalid interaction/i.test(error.reason.message)
        ? VideoJobs.badResponse("status 400", error.status)
        : error
    )
  return VideoJobs.offer<string>(http, upstream, model, {
    module: "Google",
    input: VideoInput.of(upstream.name, model, inputOf(parameters), refused),
    pollInterval: Duration.seconds(5),
    issueOf: (request) => issueOf(model, parameters, request),
    isHandle: Schema.is(Id),
    notAHandle: "no handle of Google",
    submit: (request, send) => {
      const body = HttpClientRequest.bodyJsonUnsafe(bodyOf(model, parameters, request))
      return Effect.map(send(body(HttpClientRequest.post("interactions")), Created), ({ id }) => id)
    },
    poll: (id, send) =>
      Effect.flatMap(read(id, send), statusOf).pipe(
        // An id that Google does not know is a 400.
        Effect.catchIf(
          ({ reason }) => reason._tag === "InvalidRequest",
          () => Effect.succeed(VideoJobs.failed("the provider no longer has the job"))
        )
      ),
    links: (id, send) => Effect.map(read(id, send), (interaction) => linksOf(interaction).map(downloadOf)),
    downloadsWithCredential: true,
    cancel: (id) => HttpClientRequest.post(`${path(id)}/cancel`),
    notCancelable: [400, 404]
  })
}

/**
 * Google: `GEMINI_API_KEY`, `GEMINI_BASE_URL`.
 *
 * @example
 * ```ts
 * import { Redacted } from "effect"
 * import * as Google from "@model-gateway/providers/Google"
 * import { gatewayCredential } from "@model-gateway/offers/Offer"
 *
 * declare const apiKey: string
 *
 * const upstream = {
 *   name: "google",
 *   baseUrl: "https://generativelanguage.googleapis.com/v1beta",
 *   credential: gatewayCredential(Redacted.make(apiKey))
 * }
 * const offers = Google.adapter.offers(upstream, Google.adapter.models)
 * ```
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "google",
  title: "Google",
  variables: { apiKey: "GEMINI_API_KEY", baseUrl: "GEMINI_BASE_URL" },
  defaultBaseUrl: "https://generativelanguage.googleapis.com/v1beta",
  credential: "required",
  kinds: ["video"],
  ...Catalog.of("google"),
  offers: VideoJobs.offers({
    authentication: { header: "x-goog-api-key" },
    reasonOf,
    parameters: Parameters,
    offer: video
  })
}
