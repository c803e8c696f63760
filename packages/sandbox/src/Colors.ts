/**
 * Ranks images by words for what is in every picture: colors, brightness and shape.
 *
 * The score of an image, from 0 to 1, by word:
 *
 * - a color: the fraction of the picture with that color. The colors are `black`, `white`, `gray`,
 *   `red`, `orange`, `brown`, `yellow`, `green`, `cyan`, `blue`, `purple` and `pink`; `grey`,
 *   `turquoise`, `teal`, `violet` and `magenta` are other names of some
 * - `dark`, `light`, `bright` or `pale` before a color: the fraction with that color in that tone
 * - `dark`, `light`, `bright` or `pale` alone: the darkness or brightness of the whole picture
 * - `colorful`: how colorful the picture is
 * - `monochrome`: the fraction that is black, white or gray
 * - `portrait`, `landscape`, `square`: 1 if the picture has that shape, else 0
 *
 * An image's score is the mean over these words of the query. A text's score is that of
 * `sandbox/bm25`. A document with both has the higher one.
 *
 * Images are PNG or JPEG, in `data:` URIs or by https URL. Links are fetched with
 * `UpstreamHttp.LinkClient`, one after the other, at most {@link maxLinks} of a request; without
 * that client they are refused. Each image is looked at through at most 4,096 evenly spaced pixels;
 * transparent parts count as white.
 *
 * @since 0.1.0
 */
import { invalidFields, type ProviderError } from "@model-gateway/offers/ProviderError"
import type { RerankRequest } from "@model-gateway/offers/Rerank"
import { Effect, Semaphore } from "effect"
import * as Bm25 from "./Bm25.ts"
import { featuresOf, type ImageFeatures, termsOf } from "./internal/imageFeatures.ts"
import { type ImageFile, read, readBytes } from "./internal/imageFile.ts"
import * as ImageLink from "./internal/imageLink.ts"

/**
 * The maximum number of pixels that an image may have. While an image is decoded, each pixel takes
 * 4 bytes.
 *
 * @category constants
 * @since 0.1.0
 */
export const maxPixels = 16_777_216

/**
 * The maximum number of pixels that all images of a request may have.
 *
 * @category constants
 * @since 0.1.0
 */
export const maxTotalPixels = 67_108_864

/**
 * The maximum number of images of a request by link.
 *
 * @category constants
 * @since 0.1.0
 */
export const maxLinks = 64

/** The maximum number of columns, and rows, of pixels that are looked at. */
const side = 64

/**
 * Makes the ranking function. It decodes one image at a time, whatever the number of requests.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { make } from "@model-gateway/sandbox/Colors"
 *
 * declare const sky: string // data:image/png;base64,…
 *
 * const program = Effect.gen(function* () {
 *   const rank = yield* make
 *   const { results } = yield* rank({ query: "light blue", documents: [{ image: sky }] })
 *   return results[0]?.relevance_score
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<
  (request: Pick<RerankRequest, "query" | "documents" | "top_n">) => Effect.Effect<Bm25.Ranking, ProviderError>
> = Effect.gen(function* () {
  const decoding = yield* Semaphore.make(1)
  const fetchImage = yield* ImageLink.make
  // A native library, loaded when the first image arrives.
  const decoder = yield* Effect.cached(makeDecoder)

  return Effect.fnUntraced(function* ({ documents, query, top_n }) {
    const count = counter()
    const images = yield* readAll(documents, count)
    const texts = yield* Bm25.rank(
      query,
      documents.map(({ text }) => text ?? "")
    )
    const scores = new Map(texts.results.map(({ index, relevance_score }) => [index, relevance_score]))
    const terms = termsOf(query)
    for (const [index, given] of images) {
      const image =
        typeof given === "string"
          ? yield* fetchImage(given).pipe(
              Effect.catch(({ message }) => Effect.fail(invalid(index, message))),
              Effect.flatMap((bytes) => count(index, readBytes(bytes)))
            )
          : given
      const decode = yield* decoder
      // Interruption would not stop the decoder, and the next one must not start before it ends.
      const features = yield* decoding.withPermit(Effect.uninterruptible(decode(image, index)))
      const score = terms.reduce((sum, term) => sum + term(features), 0) / Math.max(1, terms.length)
      scores.set(index, Math.max(score, scores.get(index) ?? 0))
    }
    const results = Array.from(documents, (_, index) => ({ index, relevance_score: scores.get(index) ?? 0 }))
    results.sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index)
    return { results: results.slice(0, top_n), total_tokens: texts.total_tokens }
  })
})

const invalid = (index: number, message: string) => invalidFields([{ path: `documents.${index}.image`, message }])

/** Checks an image of a request, and what all of them have. */
type Count = (index: number, file: ImageFile | string) => Effect.Effect<ImageFile, ProviderError>

const counter = (): Count => {
  let total = 0
  return (index, file) => {
    if (typeof file === "string") return Effect.fail(invalid(index, file))
    const pixels = file.width * file.height
    if (pixels === 0) return Effect.fail(invalid(index, "the image has no pixels"))
    if (pixels > maxPixels) {
      return Effect.fail(invalid(index, `the image has ${pixels} pixels. The maximum is ${maxPixels}`))
    }
    total += pixels
    if (total <= maxTotalPixels) return Effect.succeed(file)
    const message = `the images have more than ${maxTotalPixels} pixels in total`
    return Effect.fail(invalidFields([{ path: "documents", message }]))
  }
}

/**
 * The images, or their links. Checks every image that is there before the first is fetched or
 * decoded.
 */
const readAll = Effect.fnUntraced(function* (documents: RerankRequest["documents"], count: Count) {
  const images: Array<readonly [index: number, image: ImageFile | string]> = []
  let links = 0
  for (const [index, { image }] of documents.entries()) {
    if (image === undefined) continue
    if (image.startsWith("https://")) {
      links++
      images.push([index, image])
    } else {
      images.push([index, yield* count(index, read(image))])
    }
    yield* Effect.yieldNow
  }
  if (links <= maxLinks) return images
  const message = `at most ${maxLinks} images are fetched for a request, not ${links}. Send data: URIs`
  return yield* invalidFields([{ path: "documents", message }])
})

type Decode = (image: ImageFile, index: number) => Effect.Effect<ImageFeatures, ProviderError>

const makeDecoder: Effect.Effect<Decode> = Effect.map(
  Effect.promise(() => import("@napi-rs/canvas")),
  ({ createCanvas, Image }) => {
    const context = createCanvas(side, side).getContext("2d", { willReadFrequently: true })
    context.imageSmoothingEnabled = false
    context.fillStyle = "white"
    return (file, index) =>
      Effect.acquireUseRelease(
        Effect.sync(() => new Image()),
        (image) =>
          Effect.map(
            Effect.tryPromise({
              try: () => {
                image.src = file.bytes
                return image.decode()
              },
              catch: () => invalid(index, "the image cannot be decoded")
            }),
            () => {
              // As it is shown: an orientation may exchange the width and height of the file.
              const width = Math.min(side, image.width)
              const height = Math.min(side, image.height)
              context.fillRect(0, 0, width, height)
              context.drawImage(image, 0, 0, width, height)
              return featuresOf(image.width, image.height, context.getImageData(0, 0, width, height).data)
            }
          ),
        // Frees the decoded pixels at once, not when the object is collected.
        (image) => Effect.sync(() => void (image.src = new Uint8Array(0)))
      )
  }
)
