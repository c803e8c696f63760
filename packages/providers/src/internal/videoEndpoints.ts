/**
 * Models that an upstream serves at several paths, as fal does: one makes videos from text, others
 * from a first frame, from a first and a last one, or from references. The request chooses the path.
 */
import { Schema } from "effect"
import type { VideoModel } from "@model-gateway/offers/Model"
import type * as Passthrough from "@model-gateway/offers/Passthrough"
import { ignored, usedReferences, type VideoCapabilities, type VideoRequest } from "@model-gateway/offers/Video"
import * as VideoInput from "./videoInput.ts"

const own = VideoInput.Parameters.fields

/** A path of a model, and what differs there. */
const Endpoint = Schema.Struct({
  path: Schema.String.check(Schema.isPattern(/^[\w.-]+(?:\/[\w.-]+)+$/)),
  /** All fields of this path: they replace those of the model. */
  fields: own.fields,
  /** Default: those of the model, as all further ones. */
  durations: Schema.optionalKey(own.durations),
  resolutions: Schema.optionalKey(own.resolutions),
  aspect_ratios: Schema.optionalKey(own.aspect_ratios),
  default_aspect_ratio: own.default_aspect_ratio,
  max_reference_images: own.max_reference_images,
  audio_needs_image: own.audio_needs_image,
  prompt_optional: own.prompt_optional
})

type Endpoint = typeof Endpoint.Type

/** The `parameters` of a model. Without `endpoints`, it has one path: its upstream id. */
export const Parameters = Schema.Struct({
  ...own,
  endpoints: Schema.optionalKey(
    Schema.Struct({
      /** For a request with a first frame. */
      image: Schema.optionalKey(Endpoint),
      /** For a request with a first and a last frame. Default: `image`. */
      first_last: Schema.optionalKey(Endpoint),
      /** For a request with references that it takes. */
      references: Schema.optionalKey(Endpoint)
    })
  )
}).check(
  // A request without a duration gets the model's, whatever its path.
  Schema.makeFilter(({ default_duration, durations, endpoints = {} }) => {
    const usual = default_duration ?? durations[0]
    const wrong = Object.values(endpoints).find((endpoint) => endpoint.durations?.includes(usual) === false)
    return wrong === undefined ? undefined : `has an endpoint ${wrong.path} without the default duration ${usual}`
  })
)

export type Parameters = typeof Parameters.Type

/** What the model takes at a path. */
const at = (
  { default_aspect_ratio, default_resolution, endpoints: _endpoints, sizes = [], ...parameters }: Parameters,
  endpoint: Endpoint | undefined
): VideoInput.Parameters => {
  const { path: _path, ...different } = endpoint ?? { path: "" }
  const { aspect_ratios, resolutions, ...all } = { ...parameters, ...different }
  // A video from an image has the image's aspect ratio, unless the path has a default of its own.
  const ratio = endpoint === undefined ? default_aspect_ratio : endpoint.default_aspect_ratio
  return {
    ...all,
    resolutions,
    aspect_ratios,
    sizes: sizes.filter((size) => resolutions.includes(size.resolution) && aspect_ratios.includes(size.aspect_ratio)),
    ...(default_resolution !== undefined && resolutions.includes(default_resolution) ? { default_resolution } : {}),
    ...(ratio === undefined ? {} : { default_aspect_ratio: ratio })
  }
}

const capabilitiesAt = (parameters: Parameters, endpoint: Endpoint): VideoCapabilities =>
  VideoInput.capabilitiesOf(at(parameters, endpoint))

/** The path for a request. Undefined: the model's own. */
const endpointFor = (parameters: Parameters, request: VideoRequest): Endpoint | undefined => {
  const { first_last, image, references } = parameters.endpoints ?? {}
  const { frame_images = [] } = request
  if (frame_images.some(({ frame_type }) => frame_type === "last_frame")) return first_last ?? image
  if (frame_images.length > 0) return image
  return references !== undefined && usedReferences(request, capabilitiesAt(parameters, references)).length > 0
    ? references
    : undefined
}

/** The path and the body of a request, if the path is not the model's own. */
export const submissionOf = (
  parameters: Parameters,
  request: VideoRequest
): { readonly path: string | undefined; readonly input: Schema.JsonObject } => {
  const endpoint = endpointFor(parameters, request)
  return { path: endpoint?.path, input: VideoInput.inputOf(at(parameters, endpoint), request) }
}

const union = <A>(lists: ReadonlyArray<ReadonlyArray<A> | undefined>): ReadonlyArray<A> => [
  ...new Set(lists.flatMap((list) => list ?? []))
]

/** What the model takes at any of its paths. */
const together = (main: VideoCapabilities, others: ReadonlyArray<VideoCapabilities>): VideoCapabilities => {
  const all = [main, ...others]
  const has = (test: (each: VideoCapabilities) => boolean | undefined): boolean =>
    all.some((each) => test(each) === true)
  const limits = all.flatMap(({ max_reference_images, references }) =>
    references?.includes("image") === true ? [max_reference_images ?? Infinity] : []
  )
  const most = Math.max(...limits)
  return {
    ...main,
    resolutions: union(all.map(({ resolutions }) => resolutions)),
    aspect_ratios: union(all.map(({ aspect_ratios }) => aspect_ratios)),
    sizes: union(all.map(({ sizes }) => sizes)),
    durations: [...union(all.map(({ durations }) => durations))].sort((a, b) => a - b),
    max_duration: Math.max(...all.map(({ max_duration }) => max_duration)),
    prompt_optional: has(({ prompt_optional }) => prompt_optional),
    frame_images: has(({ frame_images }) => frame_images),
    last_frame: has(({ last_frame }) => last_frame),
    seed: has(({ seed }) => seed),
    references: union(all.map(({ references }) => references)),
    audio_needs_image: all.every(
      ({ audio_needs_image, references }) => references?.includes("audio") !== true || audio_needs_image === true
    ),
    ...(Number.isFinite(most) ? { max_reference_images: most } : {})
  }
}

/** What a model with these parameters takes and costs. */
export const of = (
  provider: string,
  model: VideoModel,
  parameters: Parameters,
  refused: Passthrough.Declaration["refused"] = {}
): VideoInput.Input<unknown> => {
  const { endpoints = {} } = parameters
  const { first_last, image, references } = endpoints
  const paths = [image, first_last, references].flatMap((endpoint) => (endpoint === undefined ? [] : [endpoint]))
  // The fields of every path are the request's own, whichever is called.
  const names = paths.flatMap(({ fields: { prompt: _prompt, seed: _seed, ...fields } }) => Object.values(fields))
  const declared = { ...refused, request: [...names, ...(refused.request ?? [])] }
  const make = (endpoint: Endpoint | undefined) => VideoInput.of(provider, model, at(parameters, endpoint), declared)
  const main = make(undefined)
  const others = new Map(paths.map((endpoint) => [endpoint, make(endpoint)] as const))
  const inputFor = (request: VideoRequest) => {
    const endpoint = endpointFor(parameters, request)
    return (endpoint === undefined ? undefined : others.get(endpoint)) ?? main
  }
  const capabilities = together(
    main.capabilities,
    [...others.values()].map((input) => input.capabilities)
  )
  return {
    capabilities,
    passthrough: main.passthrough,
    issues: (request) => {
      const conflicts = references === undefined ? [] : VideoInput.mixedIssues(model.publicId, request)
      return conflicts.length > 0 ? conflicts : inputFor(request).issues(request)
    },
    ignored: (request) => {
      const input = inputFor(request)
      // Audio alone is not sent to the path for references, but would be beside an image.
      const own = input === main ? capabilities : input.capabilities
      const { audio_needs_image = false, references = [] } = own
      return ignored(request, { ...input.capabilities, audio_needs_image, references }, model.publicId)
    },
    quote: (request) => inputFor(request).quote(request),
    charge: (request, handle, videos) => inputFor(request).charge(request, handle, videos)
  }
}
