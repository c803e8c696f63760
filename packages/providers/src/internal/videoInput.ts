/**
 * Video models whose upstream takes one JSON object with fields that each model names itself, such
 * as those of Replicate and fal: what such a model accepts, and how its input is written.
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import { AspectRatio, Resolution } from "@model-gateway/core/Video"
import { Effect, Schema } from "effect"
import type { MicroCredits } from "../MicroCredits.ts"
import type { VideoModel } from "../Model.ts"
import { type Charge, videoCost } from "../Pricing.ts"
import { invalidFields, type ProviderError } from "../ProviderError.ts"
import { unsupported, usedReferences, type VideoCapabilities, type VideoRequest } from "../Video.ts"

const Seconds = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3600 }))

/** The model's names of the fields. A field without a name is one that the model does not have. */
const Fields = Schema.Struct({
  /** Default: `prompt`. */
  prompt: Schema.optionalKey(Schema.String),
  duration: Schema.optionalKey(Schema.String),
  resolution: Schema.optionalKey(Schema.String),
  aspect_ratio: Schema.optionalKey(Schema.String),
  seed: Schema.optionalKey(Schema.String),
  generate_audio: Schema.optionalKey(Schema.String),
  first_frame: Schema.optionalKey(Schema.String),
  last_frame: Schema.optionalKey(Schema.String),
  /** A list of URLs. */
  reference_images: Schema.optionalKey(Schema.String),
  /** A list of URLs. */
  reference_audios: Schema.optionalKey(Schema.String),
  /** A list of URLs. */
  reference_videos: Schema.optionalKey(Schema.String)
})

/** The `parameters` of a model. */
export const Parameters = Schema.Struct({
  fields: Fields,
  /** The durations in seconds that the model can make. */
  durations: Schema.NonEmptyArray(Seconds),
  /** Default: the first of `durations`. */
  default_duration: Schema.optionalKey(Seconds),
  /** How a duration is written: `8`, `"8"` or `"8s"`. Default: `number`. */
  duration_form: Schema.optionalKey(Schema.Literals(["number", "string", "string_s"])),
  /** Empty if the upstream does not say which resolution its videos have. */
  resolutions: Schema.Array(Resolution),
  /** Default: the first of `resolutions`. */
  default_resolution: Schema.optionalKey(Resolution),
  /** The model's names of resolutions, where they differ: `{ "4K": "4k" }`. */
  resolution_names: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  /** Empty if the video has the aspect ratio of its image. */
  aspect_ratios: Schema.Array(AspectRatio),
  /** Sent if the request has none. Default: the model decides. */
  default_aspect_ratio: Schema.optionalKey(AspectRatio),
  /**
   * The model's table of pixels: the `size` that each pair of resolution and aspect ratio has. An
   * exact size in a request must be one of them. Default: not known, so that none is taken.
   */
  sizes: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        size: Schema.String.check(Schema.isPattern(/^[1-9]\d{0,5}x[1-9]\d{0,5}$/)),
        resolution: Resolution,
        aspect_ratio: AspectRatio
      })
    )
  ),
  /** The most images in `input_references`. Default: no limit. */
  max_reference_images: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))),
  /** Whether audio is used only beside an image in `input_references`. Default: false. */
  audio_needs_image: Schema.optionalKey(Schema.Boolean),
  /** Whether the video has audio if the request does not say. Default: false. */
  audio: Schema.optionalKey(Schema.Boolean),
  /** Whether the model needs a first frame. Default: false. */
  image_required: Schema.optionalKey(Schema.Boolean),
  /** Whether images without a prompt are enough. Default: false. */
  prompt_optional: Schema.optionalKey(Schema.Boolean),
  /** The fields that callers may set through `provider.options`. Default: none. */
  options: Schema.optionalKey(Schema.Array(Schema.String))
})

/** The `parameters` of a model. */
export type Parameters = typeof Parameters.Type

const defaultDuration = ({ default_duration, durations }: Parameters): number => default_duration ?? durations[0]

const resolutionOf = (parameters: Parameters, { resolution }: VideoRequest): Resolution | undefined =>
  resolution ?? parameters.default_resolution ?? parameters.resolutions[0]

const audioOf = (parameters: Parameters, { generate_audio }: VideoRequest): boolean =>
  generate_audio ?? parameters.audio ?? false

/** What a model with these parameters supports. */
export const capabilitiesOf = (parameters: Parameters): VideoCapabilities => ({
  resolutions: parameters.resolutions,
  aspect_ratios: parameters.aspect_ratios,
  default_duration: defaultDuration(parameters),
  max_duration: Math.max(...parameters.durations),
  prompt_optional: parameters.prompt_optional ?? false,
  frame_images: parameters.fields.first_frame !== undefined,
  generate_audio: parameters.audio ?? false,
  upscale: false,
  sizes: parameters.sizes ?? [],
  durations: parameters.durations,
  seed: parameters.fields.seed !== undefined,
  references: [
    ...(parameters.fields.reference_images === undefined ? [] : ["image" as const]),
    ...(parameters.fields.reference_audios === undefined ? [] : ["audio" as const]),
    ...(parameters.fields.reference_videos === undefined ? [] : ["video" as const])
  ],
  audio_needs_image: parameters.audio_needs_image ?? false,
  ...(parameters.max_reference_images === undefined ? {} : { max_reference_images: parameters.max_reference_images }),
  passthrough: parameters.options ?? []
})

const frameOf = ({ frame_images }: VideoRequest, type: "first_frame" | "last_frame"): string | undefined =>
  frame_images?.find(({ frame_type }) => frame_type === type)?.image_url.url

const issue = (isWrong: boolean, path: string, message: string): ReadonlyArray<Issue> =>
  isWrong ? [{ path, message }] : []

/** What the model does not support in the request, beyond what its capabilities say. */
const furtherIssues = (
  provider: string,
  { publicId: id }: VideoModel,
  parameters: Parameters,
  request: VideoRequest
): ReadonlyArray<Issue> => {
  const { durations, fields, options = [] } = parameters
  const { duration, options: given = {} } = request
  const first = frameOf(request, "first_frame")
  const last = frameOf(request, "last_frame")
  return [
    ...issue(
      duration !== undefined && !durations.includes(duration),
      "duration",
      `${id} makes videos of ${durations.join(", ")} seconds`
    ),
    ...issue(
      fields.generate_audio === undefined && audioOf(parameters, request) !== (parameters.audio ?? false),
      "generate_audio",
      `${id} makes videos ${parameters.audio === true ? "with" : "without"} audio`
    ),
    ...issue(parameters.image_required === true && first === undefined, "frame_images", `${id} needs a first frame`),
    ...issue(
      last !== undefined && (fields.last_frame === undefined || first === undefined),
      "frame_images",
      fields.last_frame === undefined ? `${id} takes no last frame` : `${id} takes a last frame with a first one only`
    ),
    ...Object.keys(given).flatMap((name) =>
      issue(!options.includes(name), `provider.options.${provider}.${name}`, `${id} has no such option`)
    )
  ]
}

/** Fails if the model does not support the request. */
export const check = (
  provider: string,
  model: VideoModel,
  parameters: Parameters,
  request: VideoRequest
): Effect.Effect<void, ProviderError> => {
  const [first, ...others] = [
    ...unsupported(request, capabilitiesOf(parameters), model.publicId),
    ...furtherIssues(provider, model, parameters, request)
  ]
  return first === undefined ? Effect.void : Effect.fail(invalidFields([first, ...others]))
}

const durationIn = ({ duration_form = "number" }: Parameters, seconds: number): number | string => {
  switch (duration_form) {
    case "number":
      return seconds
    case "string":
      return String(seconds)
    case "string_s":
      return `${seconds}s`
  }
}

/**
 * The model's input. Everything that the price depends on is written out, so that the upstream's
 * own defaults do not matter.
 */
export const inputOf = (parameters: Parameters, request: VideoRequest): Readonly<Record<string, Schema.Json>> => {
  const { fields, resolution_names = {} } = parameters
  const resolution = resolutionOf(parameters, request)
  const { input_references = [] } = request
  const used = usedReferences(request, capabilitiesOf(parameters))
  const images = input_references.flatMap((each) => (each.type === "image_url" ? [each.image_url.url] : []))
  const audios = input_references.flatMap((each) => (each.type === "audio_url" ? [each.audio_url.url] : []))
  const videos = input_references.flatMap((each) => (each.type === "video_url" ? [each.video_url.url] : []))
  const values: ReadonlyArray<readonly [string | undefined, Schema.Json | undefined]> = [
    [fields.prompt ?? "prompt", request.prompt],
    [fields.duration, durationIn(parameters, request.duration ?? defaultDuration(parameters))],
    [fields.resolution, resolution === undefined ? undefined : (resolution_names[resolution] ?? resolution)],
    [fields.aspect_ratio, request.aspect_ratio ?? parameters.default_aspect_ratio],
    [fields.seed, request.seed],
    [fields.generate_audio, audioOf(parameters, request)],
    [fields.first_frame, frameOf(request, "first_frame")],
    [fields.last_frame, frameOf(request, "last_frame")],
    [fields.reference_images, used.includes("image") ? images : undefined],
    [fields.reference_audios, used.includes("audio") ? audios : undefined],
    [fields.reference_videos, used.includes("video") ? videos : undefined]
  ]
  // The options come first, so that they cannot replace what the request says.
  return Object.fromEntries([
    ...Object.entries(request.options ?? {}),
    ...values.flatMap(([name, value]) => (name === undefined || value === undefined ? [] : [[name, value] as const]))
  ])
}

/** The price of the request. */
export const costOf = ({ pricing }: VideoModel, parameters: Parameters, request: VideoRequest): MicroCredits =>
  videoCost(pricing, {
    seconds: request.duration ?? defaultDuration(parameters),
    resolution: resolutionOf(parameters, request),
    audio: audioOf(parameters, request)
  })

/** The charge of the finished request. The upstreams bill by what was asked for. */
export const chargeOf = (model: VideoModel, parameters: Parameters, request: VideoRequest, videos: number): Charge => ({
  cost: costOf(model, parameters, request),
  usage: { seconds: request.duration ?? defaultDuration(parameters), videos }
})
