/** What a model of Runway accepts, and how a task is written. */
import type { Issue } from "@model-gateway/core/GatewayError"
import { AspectRatio, Resolution } from "@model-gateway/core/Video"
import { Schema } from "effect"
import type { Upstream } from "@model-gateway/offers/Adapter"
import type { VideoModel } from "@model-gateway/offers/Model"
import type * as Passthrough from "@model-gateway/offers/Passthrough"
import { usedReferences, type VideoRequest } from "@model-gateway/offers/Video"
import * as VideoInput from "./videoInput.ts"

// Configuration

const own = VideoInput.Parameters.fields

/**
 * The `parameters` of a model. It takes either `ratios`, which say the pixels, or `resolutions` and
 * `aspect_ratios`.
 */
export const Parameters = Schema.Struct({
  /** The values of Runway's `ratio`. The first that fits the request is used. */
  ratios: Schema.optionalKey(
    Schema.NonEmptyArray(
      Schema.Struct({
        /** As Runway writes it: `1280:720`, or `auto_720p`. */
        ratio: Schema.String.check(Schema.isPattern(/^(?:[1-9]\d*:[1-9]\d*|auto_\w+)$/)),
        resolution: Resolution,
        /** Absent: that of the first frame. */
        aspect_ratio: Schema.optionalKey(AspectRatio),
        /** Whether it is for videos from a first frame only. Default: false. */
        image_only: Schema.optionalKey(Schema.Boolean),
        /** Whether it is for videos without a first frame only. Default: false. */
        text_only: Schema.optionalKey(Schema.Boolean)
      })
    )
  ),
  /** What is sent as `resolution`. */
  resolutions: Schema.optionalKey(Schema.NonEmptyArray(Resolution)),
  resolution_names: own.resolution_names,
  /** Default: that of the first of `ratios`, or the first of `resolutions`. */
  default_resolution: own.default_resolution,
  /** The resolutions of videos from references, where they are fewer. */
  reference_resolutions: Schema.optionalKey(Schema.NonEmptyArray(Resolution)),
  /** What is sent as `ratio`: `16:9`. Default: the model takes none. */
  aspect_ratios: Schema.optionalKey(own.aspect_ratios),
  /** Sent for a video without a first frame if the request has none. Default: the first. */
  default_aspect_ratio: own.default_aspect_ratio,
  /** Whether a video always has the aspect ratio of its first frame. Default: false. */
  image_aspect_ratio: Schema.optionalKey(Schema.Boolean),
  durations: own.durations,
  default_duration: own.default_duration,
  /**
   * Whether the model chooses the duration if the request has none. The longest is then reserved.
   * Default: false.
   */
  auto_duration: Schema.optionalKey(Schema.Boolean),
  /** The most characters of a prompt, in UTF-16 code units. Default: 1000. */
  max_prompt_length: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))),
  /** Whether the model takes a last frame too. Default: false. */
  last_frame: Schema.optionalKey(Schema.Boolean),
  /** Whether the model takes a seed. Default: true. */
  seed: Schema.optionalKey(Schema.Boolean),
  /** Whether a video has audio if the request does not say. Default: the model makes none. */
  audio: own.audio,
  /** Whether a request can say if there is audio, where `audio` is set. Default: true. */
  audio_flag: Schema.optionalKey(Schema.Boolean),
  /** The most images in `input_references`. Default: it takes none. */
  max_reference_images: own.max_reference_images,
  /** Whether the model takes audio in `input_references`. Default: false. */
  reference_audio: Schema.optionalKey(Schema.Boolean),
  audio_needs_image: own.audio_needs_image,
  image_price: own.image_price,
  audio_price: own.audio_price,
  /** What one of Runway's credits costs, in micro-credits. Default: 10,000 (0.01 USD). */
  credit_price: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  image_required: own.image_required,
  prompt_optional: own.prompt_optional,
  options: own.options,
  refused_options: own.refused_options
}).check(
  Schema.makeFilter(({ ratios, resolutions }) =>
    (ratios === undefined) === (resolutions === undefined) ? "has either ratios or resolutions" : undefined
  )
)

export type Parameters = typeof Parameters.Type

/** The names of Runway's fields are the same for all models. */
const inputOf = (parameters: Parameters): VideoInput.Parameters => {
  const {
    aspect_ratios = [],
    audio_flag = true,
    auto_duration: _auto,
    credit_price: _price,
    default_aspect_ratio: _ratio,
    image_aspect_ratio: _ofImage,
    last_frame = false,
    max_prompt_length: _length,
    ratios,
    reference_audio = false,
    reference_resolutions: _ofReferences,
    resolutions,
    seed = true,
    ...shared
  } = parameters
  const table = ratios ?? []
  return {
    ...shared,
    frames_or_references: true,
    fields: {
      prompt: "promptText",
      duration: "duration",
      first_frame: "promptImage",
      ...(seed ? { seed: "seed" } : {}),
      ...(resolutions === undefined ? {} : { resolution: "resolution" }),
      ...(last_frame ? { last_frame: "promptImage" } : {}),
      ...(shared.audio === undefined || !audio_flag ? {} : { generate_audio: "audio" }),
      ...(shared.max_reference_images === undefined ? {} : { reference_images: "references" }),
      ...(reference_audio ? { reference_audios: "referenceAudio" } : {})
    },
    sizes: table.flatMap(({ aspect_ratio, ratio, resolution }) =>
      aspect_ratio === undefined ? [] : [{ size: ratio.replace(":", "x"), resolution, aspect_ratio }]
    ),
    resolutions: resolutions ?? [...new Set(table.map(({ resolution }) => resolution))],
    aspect_ratios: [
      ...new Set([
        ...aspect_ratios,
        ...table.flatMap(({ aspect_ratio }) => (aspect_ratio === undefined ? [] : [aspect_ratio]))
      ])
    ]
  }
}

// Request mapping

/**
 * Files beside the frames and references, of which a video is billed by its length. Other formats
 * than MP4 cost more.
 */
const refused: Passthrough.Declaration["refused"] = {
  request: ["promptImage", "references", "referenceAudio", "referenceImages"],
  price: ["audio", "outputFormat", "promptVideo", "proresProfile", "ratio", "referenceVideos"]
}

const maxDataUriLength = 5 * 1024 * 1024
const maxUrlLength = 2048

const framesOf = ({ frame_images = [] }: VideoRequest) =>
  frame_images.map(({ frame_type, image_url: { url } }) => ({
    uri: url,
    position: frame_type === "first_frame" ? "first" : "last"
  }))

export const hasFrames = (request: VideoRequest): boolean => framesOf(request).length > 0

/** The links that are sent, with their paths. References of other kinds are ignored. */
const linksIn = (parameters: Parameters, request: VideoRequest) => {
  const { frame_images = [], input_references = [] } = request
  const used = usedReferences(request, VideoInput.capabilitiesOf(inputOf(parameters)))
  return [
    ...frame_images.map(({ image_url: { url } }, index) => ({ path: `frame_images.${index}.image_url.url`, url })),
    ...input_references.flatMap((reference, index) => {
      if (reference.type === "image_url" && used.includes("image")) {
        return [{ path: `input_references.${index}.image_url.url`, url: reference.image_url.url }]
      }
      return reference.type === "audio_url" && used.includes("audio")
        ? [{ path: `input_references.${index}.audio_url.url`, url: reference.audio_url.url }]
        : []
    })
  ]
}

const hasImageReferences = ({ input_references = [] }: VideoRequest): boolean =>
  input_references.some(({ type }) => type === "image_url")

/** What is sent for the size of a video. The price is that of the same resolution. */
interface Format {
  readonly ratio?: string | undefined
  readonly resolution: Resolution
}

/** The format from a table of pixels. */
const pixelsFor = (
  { default_resolution }: Parameters,
  ratios: NonNullable<Parameters["ratios"]>,
  request: VideoRequest
): Format | undefined => {
  const fitting = ratios.filter(
    ({ aspect_ratio, image_only = false, ratio, resolution, text_only = false }) =>
      (request.size === undefined || request.size === ratio.replace(":", "x")) &&
      (request.resolution ?? resolution) === resolution &&
      (request.aspect_ratio === undefined || request.aspect_ratio === aspect_ratio) &&
      !(hasFrames(request) ? text_only : image_only)
  )
  const usual = default_resolution ?? ratios[0].resolution
  return fitting.find(({ resolution }) => resolution === usual) ?? fitting[0]
}

/** The format of a model that takes a resolution and an aspect ratio by their names. */
const namesFor = (parameters: Parameters, request: VideoRequest): Format | undefined => {
  const { aspect_ratios = [], default_aspect_ratio, image_aspect_ratio = false, resolutions = [] } = parameters
  const possible = hasImageReferences(request) ? (parameters.reference_resolutions ?? resolutions) : resolutions
  const usual = parameters.default_resolution ?? resolutions[0]
  const wanted = request.resolution ?? possible.find((each) => each === usual) ?? possible[0]
  const resolution = possible.find((each) => each === wanted)
  if (resolution === undefined) return undefined
  if (!hasFrames(request)) {
    return { resolution, ratio: request.aspect_ratio ?? default_aspect_ratio ?? aspect_ratios[0] }
  }
  return image_aspect_ratio && request.aspect_ratio !== undefined
    ? undefined
    : { resolution, ratio: request.aspect_ratio }
}

const formatOf = (parameters: Parameters, request: VideoRequest): Format | undefined =>
  parameters.ratios === undefined ? namesFor(parameters, request) : pixelsFor(parameters, parameters.ratios, request)

/** The request with the resolution that is sent, so that the price is that of the same one. */
const settled = (parameters: Parameters, request: VideoRequest): VideoRequest => {
  const format = formatOf(parameters, request)
  return format === undefined ? request : { ...request, resolution: format.resolution }
}

/** The field that a format does not fit. */
const formatField = ({ ratios, reference_resolutions }: Parameters, request: VideoRequest): string => {
  if (request.size !== undefined) return "size"
  return ratios === undefined && reference_resolutions !== undefined && hasImageReferences(request)
    ? "resolution"
    : "aspect_ratio"
}

/** What Runway does not take in the request, beyond what the model does not support. */
export const issueOf = ({ publicId }: VideoModel, parameters: Parameters, request: VideoRequest): Issue | undefined => {
  const { max_prompt_length = 1000 } = parameters
  const { prompt = "" } = request
  if (prompt.length > max_prompt_length) {
    return { path: "prompt", message: `${publicId} takes at most ${max_prompt_length} characters` }
  }
  if (prompt.trim() === "" && !hasFrames(request)) {
    return { path: "prompt", message: `${publicId} needs a prompt or a first frame` }
  }
  const long = linksIn(parameters, request).find(
    ({ url }) => url.length > (url.startsWith("data:") ? maxDataUriLength : maxUrlLength)
  )
  if (long !== undefined) {
    return {
      path: long.path,
      message: `${publicId} takes a URL of at most ${maxUrlLength} characters, or a data: URI of at most 5 MiB`
    }
  }
  if (formatOf(parameters, request) !== undefined) return undefined
  const from = hasFrames(request)
    ? "from an image"
    : hasImageReferences(request)
      ? "from references"
      : "without an image"
  return {
    path: formatField(parameters, request),
    message: `${publicId} makes no video of this aspect ratio and resolution ${from}`
  }
}

/** References in the form of Runway, of the kinds that the request uses. */
const referencesOf = (
  { references, referenceAudio }: Readonly<Record<string, Schema.Json>>,
  { input_references = [] }: VideoRequest
) => ({
  ...(references === undefined
    ? {}
    : {
        references: input_references.flatMap((each) => (each.type === "image_url" ? [{ uri: each.image_url.url }] : []))
      }),
  ...(referenceAudio === undefined
    ? {}
    : {
        referenceAudio: input_references.flatMap((each) =>
          each.type === "audio_url" ? [{ type: "audio", uri: each.audio_url.url }] : []
        )
      })
})

export const bodyOf = (model: VideoModel, parameters: Parameters, request: VideoRequest) => {
  const written = VideoInput.inputOf(inputOf(parameters), settled(parameters, request))
  return {
    ...written,
    model: model.upstreamId,
    ratio: formatOf(parameters, request)?.ratio,
    ...(parameters.auto_duration === true && request.duration === undefined ? { duration: "auto" } : {}),
    ...(hasFrames(request) ? { promptImage: framesOf(request) } : {}),
    ...referencesOf(written, request)
  }
}

/** What a model takes and costs. */
export const of = (upstream: Upstream, model: VideoModel, parameters: Parameters): VideoInput.Input<unknown> => {
  const { auto_duration = false, durations } = parameters
  const input = VideoInput.of(upstream.name, model, inputOf(parameters), refused)
  const priced = (request: VideoRequest): VideoRequest => ({
    ...settled(parameters, request),
    ...(auto_duration && request.duration === undefined ? { duration: Math.max(...durations) } : {})
  })
  return {
    ...input,
    capabilities: auto_duration ? { ...input.capabilities, default_duration: 0 } : input.capabilities,
    quote: (request) => input.quote(priced(request)),
    charge: (request, handle, videos) => input.charge(priced(request), handle, videos)
  }
}
