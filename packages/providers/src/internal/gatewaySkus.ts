/**
 * The prices of a video model in GET `/videos/models`, by the names of their SKUs.
 *
 * OpenRouter's documentation shows `per-video-second`
 * (https://openrouter.ai/docs/guides/overview/multimodal/video-generation). Its service answers
 * with the other names, as programs that read them say.
 */
import type { VideoModel } from "@model-gateway/offers/Model"

/** What a price is for. */
type Unit = "second" | "video" | "image" | "least"

/** The names, and the value of their number in credits. */
const names: ReadonlyArray<{ readonly pattern: RegExp; readonly unit: Unit; readonly credits: number }> = [
  { pattern: /^(?:(?:text_to_video|image_to_video|reference)_)?duration_seconds(?:_|$)/, unit: "second", credits: 1 },
  { pattern: /^per-video-second(?:-|$)/, unit: "second", credits: 1 },
  { pattern: /^cents_per_(?:second_output|video_output_second)(?:_|$)/, unit: "second", credits: 0.01 },
  { pattern: /^generate(?:_|$)/, unit: "video", credits: 1 },
  { pattern: /^cents_per_image_input$/, unit: "image", credits: 0.01 },
  { pattern: /^reference_images$/, unit: "image", credits: 1 },
  { pattern: /^minimum_cents_per_generation$/, unit: "least", credits: 0.01 }
]

/** What a video costs at most. */
export interface SkuPrices {
  readonly pricing: VideoModel["pricing"]
  readonly credits_per_image: number
  readonly minimum_credits: number
}

/**
 * The highest price of each unit. Undefined if a price is for something else, such as a token,
 * because then nothing could be reserved, or if the video itself has no price.
 */
export const read = (
  skus: { readonly [sku: string]: string },
  {
    microOf,
    priceOf
  }: {
    /** A price in credits. */
    readonly priceOf: (text: string) => number | undefined
    /** In whole micro-credits. */
    readonly microOf: (credits: number) => number
  }
): SkuPrices | undefined => {
  const highest = new Map<Unit, number>()
  for (const [sku, text] of Object.entries(skus)) {
    const name = names.find(({ pattern }) => pattern.test(sku))
    const price = priceOf(text)
    if (name === undefined || price === undefined) return undefined
    highest.set(name.unit, Math.max(highest.get(name.unit) ?? 0, price * name.credits))
  }
  const second = highest.get("second")
  const video = highest.get("video")
  // A model with both has two kinds of prices, and which one applies is not known.
  if ((second === undefined) === (video === undefined)) return undefined
  return {
    pricing:
      second === undefined
        ? { unit: "video", prices: [{ microCredits: microOf(video ?? 0) }] }
        : { unit: "second", microCredits: microOf(second) },
    credits_per_image: highest.get("image") ?? 0,
    minimum_credits: highest.get("least") ?? 0
  }
}
