/**
 * What a video offer receives and returns, and what it may state about itself.
 *
 * @since 0.1.0
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import type { AspectRatio, Request, Resolution } from "@model-gateway/core/Video"
import type { Duration, Schema } from "effect"
import type { Charge } from "./Pricing.ts"

/**
 * A video request, as an offer receives it. Without `duration`, the model's default applies.
 *
 * @category models
 * @since 0.1.0
 */
export interface VideoRequest extends Pick<
  typeof Request.Type,
  | "prompt"
  | "duration"
  | "resolution"
  | "aspect_ratio"
  | "size"
  | "seed"
  | "frame_images"
  | "input_references"
  | "generate_audio"
  | "creativity"
  | "upscale_factor"
> {
  /** The provider's entry of `provider.options`, unchanged. */
  readonly options?: Schema.JsonObject
}

/**
 * The upstream's own name of a job: any JSON but null that the adapter needs to find the job again.
 * The service stores it and passes it back unchanged.
 *
 * @category models
 * @since 0.1.0
 */
export type JobHandle = Exclude<Schema.Json, null>

/**
 * A video to make, and the token that identifies the submission.
 *
 * @category models
 * @since 0.1.0
 */
export interface VideoSubmission {
  readonly request: VideoRequest
  /**
   * At an idempotent offer, submissions with the same token are one upstream job: the second one
   * returns the handle of the first, and starts and costs nothing more, from any process. A job
   * whose response was lost, because a process or a connection died, is therefore submitted again.
   * The service uses the same token, with the same request, while a job stays with one offer, and
   * never the same token for two jobs.
   *
   * At most 64 letters, digits, `_` and `-`, so that it fits in an idempotency header. It contains
   * nothing secret.
   */
  readonly token: string
}

/**
 * One job at an upstream. It includes the request, because a job outlives the process that
 * submitted it, and not every upstream keeps a copy.
 *
 * @category models
 * @since 0.1.0
 */
export interface SubmittedVideo {
  readonly handle: JobHandle
  readonly request: VideoRequest
}

/**
 * The upstream's status of a video.
 *
 * @category models
 * @since 0.1.0
 */
export type VideoStatus = (
  | {
      readonly status: "in_progress"
      /** From 0 to 1. */
      readonly progress?: number
      /** The time to wait before the next poll, if the upstream says so. */
      readonly retryAfter?: Duration.Duration
    }
  | {
      readonly status: "completed"
      /** How many videos came out. */
      readonly outputs: number
      readonly charge: Charge
    }
  | { readonly status: "failed"; readonly message: string }
) & {
  /**
   * What the upstream says that it ignored, a sentence for each. Added to the offer's `ignored`.
   */
  readonly warnings?: ReadonlyArray<string>
}

/**
 * A kind of reference asset.
 *
 * @category models
 * @since 0.1.0
 */
export type ReferenceKind = "image" | "audio" | "video"

/**
 * A size that a model makes, and what it is called otherwise.
 *
 * @category models
 * @since 0.1.0
 */
export interface VideoSize {
  /** `WIDTHxHEIGHT` in pixels. */
  readonly size: string
  readonly resolution: Resolution
  readonly aspect_ratio: AspectRatio
}

/**
 * @category models
 * @since 0.1.0
 */
export interface VideoCapabilities {
  readonly resolutions: ReadonlyArray<Resolution>
  readonly aspect_ratios: ReadonlyArray<AspectRatio>
  /**
   * Duration in seconds if the request has none. 0 if the model chooses it, or if it is that of the
   * video to upscale.
   */
  readonly default_duration: number
  /** Maximum duration in seconds. */
  readonly max_duration: number
  /** Whether images without a prompt are enough. */
  readonly prompt_optional: boolean
  /** Whether it uses a `prompt`. Otherwise it ignores one. Default: true. */
  readonly prompt?: boolean
  /** Whether it supports `frame_images`. */
  readonly frame_images: boolean
  /** Whether it takes a last frame too. Default: true, if it supports `frame_images`. */
  readonly last_frame?: boolean
  /** Whether it generates audio by default. */
  readonly generate_audio: boolean
  /**
   * Whether it supports `upscale_factor` and `creativity`, and upscales a given video instead of
   * making one.
   */
  readonly upscale: boolean
  /** The least and the greatest `upscale_factor`. Default: not known. */
  readonly upscale_factors?: { readonly min: number; readonly max: number }
  /**
   * The model's table of pixels: requests may have these as `size`. Absent: not known, so that the
   * offer's own check decides.
   */
  readonly sizes?: ReadonlyArray<VideoSize>
  /** The durations in seconds. Absent: every whole second up to `max_duration`. */
  readonly durations?: ReadonlyArray<number>
  /** Whether it takes a `seed`. Otherwise it ignores one. Default: true. */
  readonly seed?: boolean
  /**
   * The kinds of `input_references` that it takes. It ignores audio and video of another kind, and
   * refuses images. Absent: not known, so that all are passed on.
   */
  readonly references?: ReadonlyArray<ReferenceKind>
  /** Whether it ignores references to images instead of refusing them. Default: false. */
  readonly ignores_images?: boolean
  /** Whether it uses references to audio only beside one to an image. Default: false. */
  readonly audio_needs_image?: boolean
  /** The maximum number of references to images. Default: no limit of the model's own. */
  readonly max_reference_images?: number
}

/**
 * The request with `resolution` and `aspect_ratio` for its `size`, from the model's table.
 *
 * @category converting
 * @since 0.1.0
 */
export const sized = (request: VideoRequest, { sizes = [] }: VideoCapabilities): VideoRequest => {
  const entry = sizes.find(
    ({ aspect_ratio, resolution, size }) =>
      size === request.size &&
      (request.resolution ?? resolution) === resolution &&
      (request.aspect_ratio ?? aspect_ratio) === aspect_ratio
  )
  return entry === undefined ? request : { ...request, resolution: entry.resolution, aspect_ratio: entry.aspect_ratio }
}

/** A resolution in `p` names the shorter side in pixels. */
const shorterSide: Readonly<Partial<Record<Resolution, number>>> = {
  "480p": 480,
  "720p": 720,
  "768p": 768,
  "1080p": 1080
}

/**
 * A resolution in `K` names the longer side. For 2K and 4K, both the cinema width and the
 * television width are in use.
 */
const longerSides: Readonly<Partial<Record<Resolution, ReadonlyArray<number>>>> = {
  "1K": [1024],
  "2K": [1920, 2048, 2560],
  "4K": [3840, 4096]
}

const hasResolution = (width: number, height: number, resolution: Resolution): boolean =>
  shorterSide[resolution] === Math.min(width, height) ||
  longerSides[resolution]?.includes(Math.max(width, height)) === true

const hasRatio = (width: number, height: number, ratio: AspectRatio): boolean => {
  const [across = 1, down = 1] = ratio.split(":").map(Number)
  const expected = across / down
  // Codecs need even sides, and the nearest even length may be off by one pixel on either side.
  return Math.abs(width - height * expected) <= 1 + expected
}

/**
 * Whether a size agrees with what else a request says of its pixels, for a model whose table is not
 * known.
 */
const contradictions = (size: string, { aspect_ratio, resolution }: VideoRequest): ReadonlyArray<Issue> => {
  const [width = Number.NaN, height = Number.NaN] = size.split("x").map(Number)
  return [
    ...(resolution === undefined || hasResolution(width, height, resolution)
      ? []
      : [{ path: "size", message: `${size} contradicts resolution ${resolution}` }]),
    ...(aspect_ratio === undefined || hasRatio(width, height, aspect_ratio)
      ? []
      : [{ path: "size", message: `${size} contradicts aspect_ratio ${aspect_ratio}` }])
  ]
}

const sizeIssues = (request: VideoRequest, { sizes, upscale }: VideoCapabilities, id: string): ReadonlyArray<Issue> => {
  const { aspect_ratio, resolution, size } = request
  if (size === undefined) return []
  if (sizes === undefined) return contradictions(size, request)
  if (sizes.length === 0) {
    if (upscale) return [{ path: "size", message: `${id} makes the size that upscale_factor says` }]
    return [{ path: "size", message: `the sizes of ${id} in pixels are not known. Use resolution and aspect_ratio.` }]
  }
  const named = sizes.filter((entry) => entry.size === size)
  if (named.length === 0) {
    const all = [...new Set(sizes.map((entry) => entry.size))]
    return [{ path: "size", message: `${id} does not support ${size}. Choose ${anyOf(all)}.` }]
  }
  const contradicted = [
    ...(resolution === undefined || named.some((entry) => entry.resolution === resolution)
      ? []
      : [`resolution ${resolution}`]),
    ...(aspect_ratio === undefined || named.some((entry) => entry.aspect_ratio === aspect_ratio)
      ? []
      : [`aspect_ratio ${aspect_ratio}`])
  ]
  return contradicted.map((field) => ({ path: "size", message: `${size} contradicts ${field}` }))
}

const kindOf = (reference: NonNullable<VideoRequest["input_references"]>[number]): ReferenceKind => {
  switch (reference.type) {
    case "image_url":
      return "image"
    case "audio_url":
      return "audio"
    case "video_url":
      return "video"
  }
}

/**
 * The kinds of references in the request that the model uses.
 *
 * @category validation
 * @since 0.1.0
 */
export const usedReferences = (
  { input_references = [] }: VideoRequest,
  { audio_needs_image = false, references }: VideoCapabilities
): ReadonlyArray<ReferenceKind> => {
  const given = new Set(input_references.map(kindOf))
  const taken = [...given].filter((kind) => references?.includes(kind) !== false)
  return audio_needs_image && !taken.includes("image") ? taken.filter((kind) => kind !== "audio") : taken
}

/**
 * What the model ignores of the request: a sentence for each field. The specification allows it for
 * references to audio and video, and for `seed`. A model that upscales may have no use for a
 * `prompt`.
 *
 * @category validation
 * @since 0.1.0
 */
export const ignored = (
  request: VideoRequest,
  capabilities: VideoCapabilities,
  publicId: string
): ReadonlyArray<string> => {
  const used = usedReferences(request, capabilities)
  const given = new Set((request.input_references ?? []).map(kindOf))
  const unused = [...given].filter((kind) => !used.includes(kind))
  return [
    ...unused.map((kind) =>
      kind === "audio" && capabilities.references?.includes(kind) === true
        ? `input_references: ${publicId} uses audio only beside an image, so the audio was ignored.`
        : `input_references: ${publicId} takes no ${kind} references, so they were ignored.`
    ),
    ...(request.seed !== undefined && capabilities.seed === false
      ? [`seed: ${publicId} takes no seed, so it was ignored.`]
      : []),
    ...(request.prompt !== undefined && capabilities.prompt === false
      ? [`prompt: ${publicId} takes no prompt, so it was ignored.`]
      : [])
  ]
}

const imageIssues = (
  { input_references = [] }: VideoRequest,
  { ignores_images = false, max_reference_images = Infinity, references }: VideoCapabilities,
  id: string,
  alternatives: ReadonlyArray<string>
): ReadonlyArray<Issue> => {
  const images = input_references.flatMap((reference, index) => (kindOf(reference) === "image" ? [index] : []))
  const path = `input_references.${images[0]}`
  if (images.length === 0 || ignores_images) return []
  if (references?.includes("image") === false) {
    const others = alternatives.length === 0 ? "" : `. Models that take them: ${alternatives.join(", ")}`
    return [{ path, message: `${id} takes no image references${others}` }]
  }
  return images.length <= max_reference_images
    ? []
    : [
        {
          path: "input_references",
          message: `${id} takes at most ${max_reference_images} images, not ${images.length}`
        }
      ]
}

const hasImages = (request: VideoRequest): boolean =>
  (request.frame_images?.length ?? 0) > 0 ||
  (request.input_references?.some((reference) => reference.type === "image_url") ?? false)

const hasLastFrame = ({ frame_images = [] }: VideoRequest): boolean =>
  frame_images.some(({ frame_type }) => frame_type === "last_frame")

const hasPrompt = (request: VideoRequest): boolean => (request.prompt ?? "").trim() !== ""

const promptIssues = (request: VideoRequest, capabilities: VideoCapabilities, id: string): ReadonlyArray<Issue> => {
  if (hasPrompt(request) || capabilities.upscale || (capabilities.prompt_optional && hasImages(request))) return []
  return [
    {
      path: "prompt",
      message: capabilities.prompt_optional ? `${id} needs a prompt or an image` : `${id} needs a prompt`
    }
  ]
}

/** What an upscaled video keeps of the given one, that there is one, and by how much. */
const upscaleIssues = (
  request: VideoRequest,
  { default_duration, generate_audio, upscale, upscale_factors }: VideoCapabilities,
  id: string
): ReadonlyArray<Issue> => {
  if (!upscale) return []
  const { duration = default_duration, input_references = [], upscale_factor } = request
  const { max = Infinity, min = 0 } = upscale_factors ?? {}
  const videos = input_references.filter((reference) => kindOf(reference) === "video").length
  return [
    ...(videos === 1
      ? []
      : [{ path: "input_references", message: `${id} upscales one video, of type video_url, not ${videos}` }]),
    ...(duration === default_duration
      ? []
      : [{ path: "duration", message: `${id} makes a video as long as the given one` }]),
    ...((request.generate_audio ?? generate_audio) === generate_audio
      ? []
      : [{ path: "generate_audio", message: `${id} makes no audio` }]),
    ...(upscale_factor === undefined || (upscale_factor >= min && upscale_factor <= max)
      ? []
      : [{ path: "upscale_factor", message: `${id} upscales by ${min} to ${max}` }])
  ]
}

const anyOf = (names: ReadonlyArray<string>): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(", ")} or ${names.slice(-1).join()}`

const notOneOf = <A extends string>(
  path: string,
  value: A | undefined,
  known: ReadonlyArray<A>,
  model: string
): ReadonlyArray<Issue> =>
  value === undefined || known.includes(value)
    ? []
    : [
        {
          path,
          message:
            known.length === 0
              ? `${model} does not support ${path}`
              : `${model} does not support ${value}. Choose ${anyOf(known)}.`
        }
      ]

/**
 * What the model does not support in the request. Each issue names the field and the supported
 * values. `alternatives` are the models that take references to images, to name them.
 *
 * @category validation
 * @since 0.1.0
 */
export const unsupported = (
  request: VideoRequest,
  capabilities: VideoCapabilities,
  publicId: string,
  alternatives: ReadonlyArray<string> = []
): ReadonlyArray<Issue> => [
  ...promptIssues(request, capabilities, publicId),
  ...upscaleIssues(request, capabilities, publicId),
  ...((request.duration ?? 1) <= capabilities.max_duration
    ? []
    : [{ path: "duration", message: `${publicId} supports at most ${capabilities.max_duration} seconds` }]),
  ...notOneOf("resolution", request.resolution, capabilities.resolutions, publicId),
  ...notOneOf("aspect_ratio", request.aspect_ratio, capabilities.aspect_ratios, publicId),
  ...sizeIssues(request, capabilities, publicId),
  ...imageIssues(request, capabilities, publicId, alternatives),
  ...((request.frame_images?.length ?? 0) === 0 || capabilities.frame_images
    ? []
    : [{ path: "frame_images", message: `${publicId} does not support frame images` }]),
  ...(capabilities.frame_images && capabilities.last_frame === false && hasLastFrame(request)
    ? [{ path: "frame_images", message: `${publicId} takes no last frame` }]
    : []),
  ...(["creativity", "upscale_factor"] as const).flatMap((path) =>
    request[path] === undefined || capabilities.upscale
      ? []
      : [{ path, message: `${publicId} does not support upscaling` }]
  )
]
