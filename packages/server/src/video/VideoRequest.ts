/**
 * Checks of a video request that its schema cannot express, and the part of it that an offer
 * receives.
 *
 * Specification: "POST /videos".
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import type { Request } from "@model-gateway/core/Video"
import type { VideoOffer } from "@model-gateway/offers/Offer"
import type { VideoCapabilities, VideoRequest } from "@model-gateway/offers/Video"

/** Whether the size agrees with the other fields depends on the model's table of pixels. */
const sizeIssues = ({ size }: typeof Request.Type): ReadonlyArray<Issue> =>
  size === undefined || size.split("x").every((side) => Number.isSafeInteger(Number(side)))
    ? []
    : [{ path: "size", message: "Expected sides of at most 9007199254740991 pixels" }]

/**
 * The maximum number of characters of a link. A `data:` URI has the content itself, up to the
 * body's limit.
 */
const maxLinkCharacters = 8192

const isLink = (url: string): boolean =>
  url.length <= maxLinkCharacters && /^https:\/\//i.test(url) && URL.canParse(url)

const urlIssue = (path: string, url: string): ReadonlyArray<Issue> =>
  url.startsWith("data:") || isLink(url)
    ? []
    : [{ path, message: `Expected an https:// URL of at most ${maxLinkCharacters} characters or a data: URI` }]

const urlOf = (reference: NonNullable<(typeof Request.Type)["input_references"]>[number]): string => {
  switch (reference.type) {
    case "image_url":
      return reference.image_url.url
    case "audio_url":
      return reference.audio_url.url
    case "video_url":
      return reference.video_url.url
  }
}

const linkIssues = (request: typeof Request.Type): ReadonlyArray<Issue> => [
  ...(request.frame_images ?? []).flatMap((image, index) =>
    urlIssue(`frame_images.${index}.image_url.url`, image.image_url.url)
  ),
  ...(request.input_references ?? []).flatMap((reference, index) =>
    urlIssue(`input_references.${index}.${reference.type}.url`, urlOf(reference))
  )
]

/**
 * What is wrong with a request for any model: a size beyond all numbers, and invalid URLs of images
 * and references. The handler checks the callback URL (`CallbackUrl`).
 */
export const issues = (request: typeof Request.Type): ReadonlyArray<Issue> => [
  ...sizeIssues(request),
  ...linkIssues(request)
]

/**
 * The request as its job stores it, with the model's defaults filled in, so that price and answer
 * stay the same.
 */
export const complete = (
  request: typeof Request.Type,
  capabilities: VideoCapabilities
): typeof Request.Type & { readonly generate_audio: boolean } => ({
  ...request,
  // A model without a default chooses, or makes a video as long as the given one.
  ...(capabilities.default_duration === 0 ? {} : { duration: request.duration ?? capabilities.default_duration }),
  generate_audio: request.generate_audio ?? capabilities.generate_audio
})

/** Whether the request has images or references. */
export const hasMedia = ({ frame_images, input_references }: typeof Request.Type): boolean =>
  frame_images !== undefined || input_references !== undefined

/** What stands for the content of a `data:` URI that is no longer needed. */
const noContent = { url: "data:," }

const withoutContent = <A extends { readonly url: string }>(media: A): A | typeof noContent =>
  media.url.startsWith("data:") ? noContent : media

/**
 * The request without the content of its images and references, but with their number, because the
 * price may depend on it.
 */
export const withoutMedia = ({
  frame_images,
  input_references,
  ...request
}: typeof Request.Type): typeof Request.Type => ({
  ...request,
  ...(frame_images === undefined
    ? {}
    : { frame_images: frame_images.map((image) => ({ ...image, image_url: withoutContent(image.image_url) })) }),
  ...(input_references === undefined
    ? {}
    : {
        input_references: input_references.map((reference) => {
          switch (reference.type) {
            case "image_url":
              return { ...reference, image_url: withoutContent(reference.image_url) }
            case "audio_url":
              return { ...reference, audio_url: withoutContent(reference.audio_url) }
            case "video_url":
              return { ...reference, video_url: withoutContent(reference.video_url) }
          }
        })
      })
})

/**
 * The request that an offer of the provider receives: without model, routing, tracing and end user,
 * and with only the provider's own entry of `provider.options`.
 */
export const forProvider = (request: typeof Request.Type, provider: string): VideoRequest => {
  const { callback_url: _callback, model: _model, provider: preferences, trace: _trace, user: _user, ...rest } = request
  const options = preferences?.options?.[provider]
  return options === undefined ? rest : { ...rest, options }
}

/** A new request as an offer receives it: complete, and as {@link forProvider}. */
export const forOffer = (request: typeof Request.Type, { capabilities, provider }: VideoOffer): VideoRequest =>
  forProvider(complete(request, capabilities), provider)
