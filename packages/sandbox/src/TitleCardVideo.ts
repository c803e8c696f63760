/**
 * The calls of the title-card offer: jobs are rendered in this process.
 *
 * A render does not survive the process. That is fine: an unknown job is rendered from its request
 * with the same result, because everything in it is derived from the request and the job's id. The
 * id is derived from the submission's token, so that a token identifies the same job in every
 * process.
 *
 * @since 0.1.0
 */
import { Effect, Hash, type Scope } from "effect"
import type { MicroCredits } from "@model-gateway/offers/MicroCredits"
import { cost } from "@model-gateway/offers/Pricing"
import { invalidFields, type ProviderError } from "@model-gateway/offers/ProviderError"
import type { JobHandle, VideoRequest } from "@model-gateway/offers/Video"
import * as Bounds from "./internal/titleCardBounds.ts"
import * as Renders from "./internal/titleCardRenders.ts"
import * as TitleCard from "./TitleCard.ts"

/**
 * Default duration in seconds.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultDuration = 5

/**
 * Maximum duration in seconds.
 *
 * @category constants
 * @since 0.1.0
 */
export const maxDuration: number = Bounds.maxDuration

/**
 * Price in micro-credits per second of video.
 *
 * @category constants
 * @since 0.1.0
 */
export const microCreditsPerSecond: number = Renders.microCreditsPerSecond

const durationOf = ({ duration = defaultDuration }: VideoRequest): number => duration

/**
 * The cost of a card.
 *
 * @category pricing
 * @since 0.1.0
 */
export const quote = (request: VideoRequest): MicroCredits => cost(microCreditsPerSecond, durationOf(request))

/**
 * The part of the offer that renders.
 *
 * @category models
 * @since 0.1.0
 */
export type TitleCards = Renders.Calls

/**
 * @category options
 * @since 0.1.0
 */
export type Options = Renders.Options

const invalid = (path: string, message: string) => invalidFields([{ path, message }])

/** The card to render, or why the request is not supported. */
const cardOf = (request: VideoRequest, jobId: string): Effect.Effect<TitleCard.Card, ProviderError> =>
  Effect.gen(function* () {
    const prompt = request.prompt?.trim() ?? ""
    if (prompt === "") return yield* invalid("prompt", "a title card needs a prompt")
    const duration = durationOf(request)
    if (!Number.isSafeInteger(duration) || duration < 1 || duration > maxDuration) {
      return yield* invalid("duration", `a title card lasts from 1 to ${maxDuration} seconds`)
    }
    if (request.frame_images !== undefined && request.frame_images.length > 0) {
      return yield* invalid("frame_images", "a title card does not support frame images")
    }
    if (request.generate_audio === true) return yield* invalid("generate_audio", "a title card has no audio")
    const size = yield* Effect.mapError(TitleCard.sizeOf(request), (error) =>
      invalid(request.size === undefined ? "resolution" : "size", error.message)
    )
    return { ...size, prompt, duration, seed: request.seed ?? Hash.string(jobId) }
  })

/** Any handle names a job, because a job is rendered from its request. */
const jobIdOf = (handle: JobHandle): string => (typeof handle === "string" ? handle : JSON.stringify(handle))

/**
 * Makes the calls of renders that other models share.
 *
 * @category constructors
 * @since 0.1.0
 */
export const of = (renders: Renders.Renders): TitleCards =>
  renders({
    check: (request) => cardOf(request, ""),
    handleOf: (id) => `card_${id}`,
    jobIdOf,
    cardOf: ({ handle, request }) => cardOf(request, jobIdOf(handle))
  })

/**
 * Makes the calls. Closing the scope ends every render.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options?: Options): Effect.Effect<TitleCards, never, Scope.Scope> =>
  Effect.map(Renders.make(options), of)
