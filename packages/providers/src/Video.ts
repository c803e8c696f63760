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
 * @since 0.1.0
 */
export type JobHandle = Exclude<Schema.Json, null>

/**
 * A video to make, and the token that identifies the submission.
 *
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
 * @since 0.1.0
 */
export interface SubmittedVideo {
  readonly handle: JobHandle
  readonly request: VideoRequest
}

/**
 * The upstream's status of a video.
 *
 * @since 0.1.0
 */
export type VideoStatus =
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

/** @since 0.1.0 */
export interface VideoCapabilities {
  readonly resolutions: ReadonlyArray<Resolution>
  readonly aspect_ratios: ReadonlyArray<AspectRatio>
  /** Duration in seconds if the request has none. */
  readonly default_duration: number
  /** Maximum duration in seconds. */
  readonly max_duration: number
  /** Whether images without a prompt are enough. */
  readonly prompt_optional: boolean
  /** Whether it supports `frame_images`. */
  readonly frame_images: boolean
  /** Whether it generates audio by default. */
  readonly generate_audio: boolean
  /**
   * Whether it supports `upscale_factor` and `creativity`, and upscales a given video instead of
   * making one.
   */
  readonly upscale: boolean
}

const hasImages = (request: VideoRequest): boolean =>
  (request.frame_images?.length ?? 0) > 0 ||
  (request.input_references?.some((reference) => reference.type === "image_url") ?? false)

const hasPrompt = (request: VideoRequest): boolean => (request.prompt ?? "").trim() !== ""

const promptIssues = (request: VideoRequest, capabilities: VideoCapabilities, id: string): ReadonlyArray<Issue> => {
  if (hasPrompt(request) || (capabilities.prompt_optional && hasImages(request))) return []
  return [
    {
      path: "prompt",
      message: capabilities.prompt_optional ? `${id} needs a prompt or an image` : `${id} needs a prompt`
    }
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
 * values.
 *
 * @since 0.1.0
 */
export const unsupported = (
  request: VideoRequest,
  capabilities: VideoCapabilities,
  publicId: string
): ReadonlyArray<Issue> => [
  ...promptIssues(request, capabilities, publicId),
  ...((request.duration ?? 1) <= capabilities.max_duration
    ? []
    : [{ path: "duration", message: `${publicId} supports at most ${capabilities.max_duration} seconds` }]),
  ...notOneOf("resolution", request.resolution, capabilities.resolutions, publicId),
  ...notOneOf("aspect_ratio", request.aspect_ratio, capabilities.aspect_ratios, publicId),
  ...((request.frame_images?.length ?? 0) === 0 || capabilities.frame_images
    ? []
    : [{ path: "frame_images", message: `${publicId} does not support frame images` }]),
  ...(["creativity", "upscale_factor"] as const).flatMap((path) =>
    request[path] === undefined || capabilities.upscale
      ? []
      : [{ path, message: `${publicId} does not support upscaling` }]
  )
]
