/**
 * The calls of the offer that upscales title cards: a card is rendered again, in a larger size.
 *
 * No library of this package decodes H.264, so only videos that `sandbox/title-card` or this model
 * made can be upscaled: their files contain the card. The job's handle has the card too, because
 * the service does not keep the video once the job is accepted.
 *
 * @since 0.1.0
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import type { MicroCredits } from "@model-gateway/offers/MicroCredits"
import type { VideoOffer } from "@model-gateway/offers/Offer"
import { cost } from "@model-gateway/offers/Pricing"
import { BadResponse, invalidFields, ProviderError } from "@model-gateway/offers/ProviderError"
import { type JobHandle, unsupported, type VideoRequest } from "@model-gateway/offers/Video"
import { Effect, Option, Schema } from "effect"
import type { Calls, Renders } from "./internal/titleCardRenders.ts"
import * as Tag from "./internal/titleCardTag.ts"
import * as TitleCard from "./TitleCard.ts"
import { maxDuration, microCreditsPerSecond } from "./TitleCardVideo.ts"

/**
 * The model's id.
 *
 * @category constants
 * @since 0.1.0
 */
export const id = "sandbox/title-card-upscaler"

/**
 * The `upscale_factor` of a request without one.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultFactor = 2

/**
 * The greatest `creativity`. The least is 0.
 *
 * @category constants
 * @since 0.1.0
 */
export const maxCreativity = 1

/**
 * What it takes.
 *
 * @category constants
 * @since 0.1.0
 */
export const capabilities: VideoOffer["capabilities"] = {
  resolutions: [],
  aspect_ratios: [],
  // As long as the given video.
  default_duration: 0,
  max_duration: maxDuration,
  prompt_optional: true,
  prompt: false,
  frame_images: false,
  generate_audio: false,
  upscale: true,
  upscale_factors: { min: 1, max: 4 },
  sizes: [],
  durations: [],
  seed: false,
  references: ["video"]
}

/** A video to upscale, with its path in the request. */
interface Given {
  readonly path: string
  readonly card: Tag.Card | string
}

const dataUri = "data:video/mp4;base64,"

const cardIn = (url: string): Tag.Card | string => {
  if (!url.startsWith(dataUri)) {
    return `Expected a ${dataUri} URI, because the length of the video decides the price`
  }
  const card = Tag.read(url.slice(dataUri.length))
  if (card === undefined) {
    return `${id} is a sandbox model: it upscales only videos that sandbox/title-card made, unchanged`
  }
  return card === "damaged" ? "the video is damaged: what sandbox/title-card wrote in it cannot be read" : card
}

const givenIn = ({ input_references = [] }: VideoRequest): Given | undefined => {
  for (const [index, reference] of input_references.entries()) {
    if (reference.type !== "video_url") continue
    return { path: `input_references.${index}.video_url.url`, card: cardIn(reference.video_url.url) }
  }
  return undefined
}

/**
 * The cost of upscaling the video of a request: that of its seconds.
 *
 * @category pricing
 * @since 0.1.0
 */
export const quote = (request: VideoRequest): MicroCredits => {
  const card = givenIn(request)?.card
  return cost(microCreditsPerSecond, typeof card === "object" ? card.duration : maxDuration)
}

const fieldIssues = ({ creativity }: VideoRequest): ReadonlyArray<Issue> =>
  creativity === undefined || (creativity >= 0 && creativity <= maxCreativity)
    ? []
    : [{ path: "creativity", message: `${id} takes 0 to ${maxCreativity}` }]

const even = (length: number): number => 2 * Math.round(length / 2)

/** The card to render, or why the request is not supported. */
const check = Effect.fnUntraced(function* (request: VideoRequest): Effect.fn.Return<TitleCard.Card, ProviderError> {
  const [issue, ...issues] = [...unsupported(request, capabilities, id), ...fieldIssues(request)]
  if (issue !== undefined) return yield* invalidFields([issue, ...issues])
  const given = givenIn(request)
  if (given === undefined) return yield* Effect.die("the request was checked to have a video")
  const { card, path } = given
  if (typeof card === "string") return yield* invalidFields([{ path, message: card }])
  const { creativity, upscale_factor = defaultFactor } = request
  const size = `${even(card.width * upscale_factor)}x${even(card.height * upscale_factor)}`
  const { height, width } = yield* Effect.mapError(TitleCard.sizeOf({ size }), () =>
    invalidFields([
      {
        path: "upscale_factor",
        message: `${upscale_factor} times ${card.width}x${card.height} is above 1080p, the maximum for title cards`
      }
    ])
  )
  return { ...card, width, height, ...(creativity === undefined ? {} : { creativity }) }
})

const Handle = Schema.Struct({ id: Schema.String, card: Tag.Card })

const decodeHandle = Schema.decodeUnknownOption(Handle)

const encodeHandle = (id: string, card: TitleCard.Card): JobHandle => ({ id: `upscaled_${id}`, card: { ...card } })

/**
 * Makes the calls, which share renders with those of title cards.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (renders: Renders): Calls =>
  renders({
    check,
    handleOf: encodeHandle,
    jobIdOf: (handle) =>
      Option.match(decodeHandle(handle), { onNone: () => JSON.stringify(handle), onSome: (known) => known.id }),
    cardOf: ({ handle }) =>
      Option.match(decodeHandle(handle), {
        onNone: () =>
          Effect.fail(new ProviderError({ reason: new BadResponse({ description: "the job's handle has no card" }) })),
        onSome: ({ card }) => Effect.succeed(card)
      })
  })
