/**
 * Video models whose upstream takes one JSON object with fields that each model names itself, such
 * as those of Replicate and fal: what such a model accepts, and how its input is written.
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import { AspectRatio, Resolution } from "@model-gateway/core/Video"
import { Schema } from "effect"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { VideoModel } from "@model-gateway/offers/Model"
import * as Passthrough from "@model-gateway/offers/Passthrough"
import { type Charge, videoCost } from "@model-gateway/offers/Pricing"
import { unsupported, usedReferences, type VideoCapabilities, type VideoRequest } from "@model-gateway/offers/Video"

const Seconds = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3600 }))

/** In micro-credits. */
const Price = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

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

/** A row of a model's table of pixels. */
export const Size = Schema.Struct({
  size: Schema.String.check(Schema.isPattern(/^[1-9]\d{0,5}x[1-9]\d{0,5}$/)),
  resolution: Resolution,
  aspect_ratio: AspectRatio
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
  sizes: Schema.optionalKey(Schema.Array(Size)),
  /** The maximum number of images in `input_references`. Default: no limit. */
  max_reference_images: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))),
  /** Whether a request has frame images or image references, but not both. Default: false. */
  frames_or_references: Schema.optionalKey(Schema.Boolean),
  /** Whether audio is used only beside an image in `input_references`. Default: false. */
  audio_needs_image: Schema.optionalKey(Schema.Boolean),
  /** What each image of a request costs in addition, in micro-credits. Default: nothing. */
  image_price: Schema.optionalKey(Price),
  /** What each audio that is used costs in addition, in micro-credits. Default: nothing. */
  audio_price: Schema.optionalKey(Price),
  /** Whether the video has audio if the request does not say. Default: false. */
  audio: Schema.optionalKey(Schema.Boolean),
  /** Whether the model needs a first frame. Default: false. */
  image_required: Schema.optionalKey(Schema.Boolean),
  /** Whether images without a prompt are enough. Default: false. */
  prompt_optional: Schema.optionalKey(Schema.Boolean),
  /** The further fields that the model documents, for lists of models. Default: none. */
  options: Schema.optionalKey(Schema.Array(Schema.String)),
  /**
   * The further fields that change the price, so that callers may not set them through
   * `provider.options`. Default: those that usually do.
   */
  refused_options: Schema.optionalKey(Schema.Array(Schema.String))
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
  last_frame: parameters.fields.last_frame !== undefined,
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
  ...(parameters.max_reference_images === undefined ? {} : { max_reference_images: parameters.max_reference_images })
})

/** What models of videos are billed by, under the names that models give it. */
export const billed = [
  "aspect_ratio",
  "audio",
  "draft",
  "duration",
  "enable_audio",
  "extend",
  "fps",
  "frame_rate",
  "frames",
  "frames_per_second",
  "generate_audio",
  "height",
  "input_video",
  "interpolate",
  "length",
  "mode",
  "multi_prompt",
  "num_frames",
  "num_videos",
  "number_of_videos",
  "quality",
  "ratio",
  "reference_video",
  "reference_video_urls",
  "reference_videos",
  "resolution",
  "seconds",
  "shots",
  "size",
  "target_fps",
  "target_resolution",
  "tier",
  "upscale",
  "upscale_factor",
  "variant",
  "video",
  "video_length",
  "video_uri",
  "video_url",
  "video_urls",
  "videos",
  "voice_ids",
  "width",
  "with_audio"
]

/**
 * What such a model takes of `provider.options`. `prompt` and `seed` may be replaced. Images and
 * references may not: those of the request are checked, and deleted with the job's request.
 */
const passthroughOf = (
  provider: string,
  { fields, options = [], refused_options = [] }: Parameters,
  refused: Passthrough.Declaration["refused"] = {}
): Passthrough.Passthrough => {
  const { prompt: _prompt, seed: _seed, ...decided } = fields
  return Passthrough.make(provider, {
    documented: options,
    refused: {
      ...refused,
      price: [...billed, ...refused_options, ...(refused.price ?? [])],
      request: [...Object.values(decided), ...(refused.request ?? [])]
    }
  })
}

const frameOf = ({ frame_images }: VideoRequest, type: "first_frame" | "last_frame"): string | undefined =>
  frame_images?.find(({ frame_type }) => frame_type === type)?.image_url.url

const issue = (isWrong: boolean, path: string, message: string): ReadonlyArray<Issue> =>
  isWrong ? [{ path, message }] : []

/** The issues of a request with both frame images and image references. Either may be left out. */
export const mixedIssues = (id: string, request: VideoRequest): ReadonlyArray<Issue> => {
  const { frame_images = [], input_references = [] } = request
  const isMixed = frame_images.length > 0 && input_references.some(({ type }) => type === "image_url")
  return ["input_references", "frame_images"].flatMap((path) =>
    issue(isMixed, path, `${id} takes frame images or references, not both`)
  )
}

/** What the model does not support in the request, beyond what its capabilities say. */
const furtherIssues = (
  { publicId: id }: VideoModel,
  parameters: Parameters,
  request: VideoRequest
): ReadonlyArray<Issue> => {
  const { durations, fields } = parameters
  const { duration } = request
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
      last !== undefined && fields.last_frame !== undefined && first === undefined,
      "frame_images",
      `${id} takes a last frame with a first one only`
    ),
    ...(parameters.frames_or_references === true ? mixedIssues(id, request) : [])
  ]
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

/** Fields of a model's input, of which a model need not have every one. */
type Fields = ReadonlyArray<readonly [name: string | undefined, value: Schema.Json | undefined]>

const present = (fields: Fields) =>
  fields.flatMap(([name, value]) => (name === undefined || value === undefined ? [] : [[name, value] as const]))

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
  const replaceable: Fields = [
    [fields.prompt ?? "prompt", request.prompt],
    [fields.seed, request.seed]
  ]
  const decided: Fields = [
    [fields.duration, durationIn(parameters, request.duration ?? defaultDuration(parameters))],
    [fields.resolution, resolution === undefined ? undefined : (resolution_names[resolution] ?? resolution)],
    [fields.aspect_ratio, request.aspect_ratio ?? parameters.default_aspect_ratio],
    [fields.generate_audio, audioOf(parameters, request)],
    [fields.first_frame, frameOf(request, "first_frame")],
    [fields.last_frame, frameOf(request, "last_frame")],
    [fields.reference_images, used.includes("image") ? images : undefined],
    [fields.reference_audios, used.includes("audio") ? audios : undefined],
    [fields.reference_videos, used.includes("video") ? videos : undefined]
  ]
  return Object.fromEntries([...present(replaceable), ...Object.entries(request.options ?? {}), ...present(decided)])
}

/** The price of the images and the audio of the request. */
const mediaCostOf = (parameters: Parameters, request: VideoRequest): number => {
  const { frame_images = [], input_references = [] } = request
  const used = usedReferences(request, capabilitiesOf(parameters))
  const images = input_references.filter(({ type }) => type === "image_url").length
  const audios = input_references.filter(({ type }) => type === "audio_url").length
  return (
    (frame_images.length + (used.includes("image") ? images : 0)) * (parameters.image_price ?? 0) +
    (used.includes("audio") ? audios : 0) * (parameters.audio_price ?? 0)
  )
}

/** The price of the request. */
const costOf = ({ pricing }: VideoModel, parameters: Parameters, request: VideoRequest): MicroCredits.MicroCredits =>
  MicroCredits.make(
    videoCost(pricing, {
      seconds: request.duration ?? defaultDuration(parameters),
      resolution: resolutionOf(parameters, request),
      audio: audioOf(parameters, request)
    }) + mediaCostOf(parameters, request)
  )

/** The charge of the finished request. The upstreams bill by what was asked for. */
const chargeOf = (model: VideoModel, parameters: Parameters, request: VideoRequest, videos: number): Charge => ({
  cost: costOf(model, parameters, request),
  usage: { seconds: request.duration ?? defaultDuration(parameters), videos }
})

/** What a model takes and costs. `Handle` is what the adapter stores of a job. */
export interface Input<in Handle> {
  readonly capabilities: VideoCapabilities
  readonly passthrough: Passthrough.Passthrough
  /** What the model does not support in the request. */
  readonly issues: (request: VideoRequest) => ReadonlyArray<Issue>
  /** What the model ignores of the request. Default: what follows from the capabilities. */
  readonly ignored?: (request: VideoRequest) => ReadonlyArray<string>
  readonly quote: (request: VideoRequest) => MicroCredits.MicroCredits
  /** The charge of a finished job. */
  readonly charge: (request: VideoRequest, handle: Handle, videos: number) => Charge
}

/** What a model with these parameters takes and costs. */
export const of = (
  provider: string,
  model: VideoModel,
  parameters: Parameters,
  refused?: Passthrough.Declaration["refused"]
): Input<unknown> => {
  const capabilities = capabilitiesOf(parameters)
  const passthrough = passthroughOf(provider, parameters, refused)
  return {
    capabilities,
    passthrough,
    issues: (request) => [
      ...unsupported(request, capabilities, model.publicId),
      ...furtherIssues(model, parameters, request),
      ...passthrough.issues(request.options ?? {})
    ],
    quote: (request) => costOf(model, parameters, request),
    charge: (request, _handle, videos) => chargeOf(model, parameters, request, videos)
  }
}
