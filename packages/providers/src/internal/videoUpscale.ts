/**
 * Models that upscale a given video, whose upstream takes one JSON object, such as those of fal.
 *
 * They are billed by the length of the video, so that it must be known before the job is accepted:
 * the video is sent with the request, as a `data:` URI, and measured. The length of a link could
 * change between the quote and the upstream's own download.
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import { Schema } from "effect"
import type { VideoModel } from "@model-gateway/offers/Model"
import * as Passthrough from "@model-gateway/offers/Passthrough"
import { videoCost } from "@model-gateway/offers/Pricing"
import { unsupported, type VideoCapabilities, type VideoRequest } from "@model-gateway/offers/Video"
import { billed, type Input } from "./videoInput.ts"
import { type Measured, measure, ofBase64 } from "@model-gateway/offers/VideoDuration"

const Positive = Schema.Finite.check(Schema.isGreaterThan(0))

const Frames = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))

/** The `parameters` of a model that upscales. */
export const Parameters = Schema.Struct({
  upscale: Schema.Struct({
    /** The model's names of the fields. */
    fields: Schema.Struct({
      video: Schema.String,
      upscale_factor: Schema.String,
      /** Default: it has no creativity. */
      creativity: Schema.optionalKey(Schema.String),
      /** Default: it ignores a prompt. */
      prompt: Schema.optionalKey(Schema.String)
    }),
    /** The least and the greatest `upscale_factor`, and that of a request without one. */
    factors: Schema.Struct({ min: Positive, max: Positive, default: Positive }),
    /** The greatest `creativity`. The least is 0. Default: 1. */
    max_creativity: Schema.optionalKey(Positive),
    /** The longest video in seconds. */
    max_seconds: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3600 })),
    /** The maximum number of frames of a video. Default: no limit. */
    max_frames: Schema.optionalKey(Frames),
    /** The maximum number of frames if there is a prompt. Default: as without one. */
    max_frames_with_prompt: Schema.optionalKey(Frames),
    /** Fields that are sent as they are, such as what the price depends on. Default: none. */
    fixed: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))
  }),
  /** The further fields that the model documents, for lists of models. Default: none. */
  options: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The further fields that change the price. Default: those of `fixed`. */
  refused_options: Schema.optionalKey(Schema.Array(Schema.String))
})

/** The `parameters` of a model that upscales. */
export type Parameters = typeof Parameters.Type

const capabilitiesOf = ({ upscale: { factors, fields, max_seconds } }: Parameters): VideoCapabilities => ({
  resolutions: [],
  aspect_ratios: [],
  // As long as the given video.
  default_duration: 0,
  max_duration: max_seconds,
  prompt_optional: true,
  frame_images: false,
  generate_audio: false,
  upscale: true,
  prompt: fields.prompt !== undefined,
  upscale_factors: { min: factors.min, max: factors.max },
  sizes: [],
  durations: [],
  seed: false,
  references: ["video"]
})

const dataUri = /^data:video\/mp4;base64,(?=[A-Za-z0-9+/]{4})/

/** The videos of the request, with their paths. */
const videosOf = ({ input_references = [] }: VideoRequest) =>
  input_references.flatMap((reference, index) =>
    reference.type === "video_url"
      ? [{ path: `input_references.${index}.video_url.url`, url: reference.video_url.url }]
      : []
  )

/** The given video, or why it cannot be measured. */
const measured = (url: string): Measured | string => {
  const head = dataUri.exec(url)?.[0]
  return head === undefined
    ? "Expected a data:video/mp4;base64, URI, because the length of the video decides the price"
    : measure(ofBase64(url.slice(head.length)))
}

const lengthOf = (request: VideoRequest): number | undefined => {
  const [video] = videosOf(request)
  const found = video === undefined ? undefined : measured(video.url)
  return typeof found === "object" ? found.seconds : undefined
}

const issue = (isWrong: boolean, path: string, message: string): ReadonlyArray<Issue> =>
  isWrong ? [{ path, message }] : []

const videoIssues = (id: string, { upscale }: Parameters, request: VideoRequest): ReadonlyArray<Issue> => {
  const [video] = videosOf(request)
  if (video === undefined) return []
  const found = measured(video.url)
  if (typeof found === "string") {
    return [
      { path: video.path, message: found.startsWith("Expected") ? found : `the MP4 cannot be measured: ${found}` }
    ]
  }
  const { max_frames = Infinity, max_frames_with_prompt = max_frames, max_seconds } = upscale
  const maxFrames = (request.prompt ?? "") === "" ? max_frames : max_frames_with_prompt
  return [
    ...issue(
      found.seconds > max_seconds,
      video.path,
      `${id} upscales videos of at most ${max_seconds} seconds, not ${found.seconds}`
    ),
    ...issue(
      found.frames > maxFrames,
      video.path,
      `${id} upscales at most ${maxFrames} frames${maxFrames === max_frames ? "" : " with a prompt"}, not ${found.frames}`
    )
  ]
}

const fieldIssues = (
  id: string,
  { upscale: { fields, max_creativity = 1 } }: Parameters,
  { creativity }: VideoRequest
): ReadonlyArray<Issue> => [
  ...issue(
    creativity !== undefined && (fields.creativity === undefined || creativity < 0 || creativity > max_creativity),
    "creativity",
    fields.creativity === undefined ? `${id} has no creativity` : `${id} takes 0 to ${max_creativity}`
  )
]

/** The length of the given video, of a request that was checked. */
export const secondsOf = ({ upscale: { max_seconds } }: Parameters, request: VideoRequest): number =>
  lengthOf(request) ?? max_seconds

/** The model's input. */
export const inputOf = (
  { upscale: { factors, fields, fixed = {} } }: Parameters,
  { creativity, options = {}, prompt, upscale_factor = factors.default, ...request }: VideoRequest
): Schema.JsonObject =>
  Object.fromEntries<Schema.Json>([
    ...(fields.prompt === undefined || prompt === undefined ? [] : [[fields.prompt, prompt] as const]),
    ...Object.entries(options),
    ...Object.entries(fixed),
    ...videosOf(request).map(({ url }) => [fields.video, url] as const),
    [fields.upscale_factor, upscale_factor],
    ...(fields.creativity === undefined || creativity === undefined ? [] : [[fields.creativity, creativity] as const])
  ])

/**
 * What a model with these parameters takes and costs. The request of a job that was submitted has
 * no video any more, so that its handle has the length.
 */
export const of = (
  provider: string,
  model: VideoModel,
  parameters: Parameters,
  refused: Passthrough.Declaration["refused"] = {}
): Input<{ readonly seconds?: number }> => {
  const { publicId } = model
  const { options = [], refused_options = [], upscale } = parameters
  const { prompt: _prompt, ...decided } = upscale.fields
  const capabilities = capabilitiesOf(parameters)
  const passthrough = Passthrough.make(provider, {
    documented: options,
    refused: {
      ...refused,
      price: [...billed, ...Object.keys(upscale.fixed ?? {}), ...refused_options, ...(refused.price ?? [])],
      request: [...Object.values(decided), ...(refused.request ?? [])]
    }
  })
  /** Each second that has begun. */
  const costOf = (seconds: number) => videoCost(model.pricing, { seconds: Math.ceil(seconds) })
  return {
    capabilities,
    passthrough,
    issues: (request) => [
      ...unsupported(request, capabilities, publicId),
      ...videoIssues(publicId, parameters, request),
      ...fieldIssues(publicId, parameters, request),
      ...passthrough.issues(request.options ?? {})
    ],
    quote: (request) => costOf(secondsOf(parameters, request)),
    charge: (_request, { seconds = upscale.max_seconds }, videos) => ({
      cost: costOf(seconds),
      usage: { seconds, videos }
    })
  }
}
