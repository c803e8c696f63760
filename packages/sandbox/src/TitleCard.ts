/**
 * Renders a prompt as a moving title card: an H.264 video in an MP4 file that plays while it loads.
 * The same card always has the same bytes.
 *
 * The file contains the card, with up to 2,000 characters of the prompt, so that
 * `sandbox/title-card-upscaler` can render it again in another size.
 *
 * Rendering runs in a process of its own, so it does not block the event loop, and a fault of the
 * native drawing library ends that process only. Interrupting the effect ends the process.
 *
 * @since 0.1.0
 */
import type { AspectRatio, Resolution } from "@model-gateway/core/Video"
import { Effect, Option, Schema } from "effect"
import { fork } from "node:child_process"
import { maxLongSide, maxShortSide, minSide } from "./internal/titleCardBounds.ts"
import { Job, Message } from "./internal/titleCardJob.ts"

/**
 * The requested size is not supported. The message lists the supported ones.
 *
 * @category errors
 * @since 0.1.0
 */
export class SizeError extends Schema.TaggedError<SizeError>("@model-gateway/sandbox/SizeError")("SizeError", {
  message: Schema.String
}) {}

/**
 * The rendering process failed: it did not start, ran out of memory, or a library failed.
 *
 * @category errors
 * @since 0.1.0
 */
export class RenderError extends Schema.TaggedError<RenderError>("@model-gateway/sandbox/RenderError")("RenderError", {
  message: Schema.String,
  cause: Schema.Defect()
}) {}

/**
 * Width and height in pixels, both even.
 *
 * @category models
 * @since 0.1.0
 */
export interface Size {
  readonly width: number
  readonly height: number
}

/**
 * The supported resolutions. `p` values name the shorter side; `1K` is 1024 pixels on the longer
 * side, as 2K and 4K are 2048 and 4096.
 *
 * @category constants
 * @since 0.1.0
 */
export const resolutions = ["480p", "720p", "768p", "1080p", "1K"] as const satisfies ReadonlyArray<Resolution>

const even = (length: number): number => 2 * Math.round(length / 2)

/**
 * The size that a request asks for: `size` as it is, else the size of `resolution` (default 720p)
 * at `aspect_ratio` (default 16:9). If both are given, they must agree.
 *
 * Fails with `SizeError` above 1080p, below 64 pixels, for an odd side, and for a contradiction.
 *
 * @example
 * ```ts
 * import { sizeOf } from "@model-gateway/sandbox/TitleCard"
 *
 * sizeOf({ resolution: "1080p", aspect_ratio: "21:9" }) // 2520 × 1080
 * sizeOf({ size: "640x360" }) // 640 × 360
 * ```
 *
 * @category converting
 * @since 0.1.0
 */
export const sizeOf = (request: {
  readonly resolution?: Resolution
  readonly aspect_ratio?: AspectRatio
  readonly size?: string
}): Effect.Effect<Size, SizeError> => {
  const refuse = (message: string) => Effect.fail(new SizeError({ message }))
  const { resolution = "720p", aspect_ratio = "16:9", size } = request
  const named = Option.fromUndefinedOr(resolution === "2K" || resolution === "4K" ? undefined : resolution).pipe(
    Option.map((known) => namedSize(known, aspect_ratio))
  )
  if (size === undefined) {
    return Option.match(named, {
      onNone: () => refuse(`${resolution} is above 1080p, the maximum for title cards`),
      onSome: Effect.succeed
    })
  }

  const [width = Number.NaN, height = Number.NaN] = size.split("x").map(Number)
  if (!Number.isSafeInteger(width) || !Number.isSafeInteger(height)) return refuse(`${size} is not WIDTHxHEIGHT`)
  const [short, long] = width < height ? [width, height] : [height, width]
  if (short > maxShortSide || long > maxLongSide) {
    return refuse(`${size} is above 1080p, the maximum for title cards`)
  }
  if (short < minSide) return refuse(`${size} is too small: each side needs at least ${minSide} pixels`)
  if (width % 2 !== 0 || height % 2 !== 0) return refuse(`${size} has an odd side; H.264 needs even ones`)
  const contradicts =
    request.resolution === undefined
      ? request.aspect_ratio !== undefined && !hasRatio({ width, height }, request.aspect_ratio)
      : !Option.exists(
          named,
          (expected) =>
            Math.min(expected.width, expected.height) === short &&
            (request.aspect_ratio === undefined || (expected.width === width && expected.height === height))
        )
  return contradicts
    ? refuse(`size ${size} contradicts resolution ${resolution} or aspect ratio ${aspect_ratio}`)
    : Effect.succeed({ width, height })
}

const parseRatio = (ratio: AspectRatio): number => {
  const [across = 1, down = 1] = ratio.split(":").map(Number)
  return across / down
}

const hasRatio = ({ width, height }: Size, ratio: AspectRatio): boolean => {
  const expected = parseRatio(ratio)
  // The nearest even length may be off by one pixel on either side.
  return Math.abs(width - height * expected) <= 1 + expected
}

const namedSize = (resolution: (typeof resolutions)[number], aspect_ratio: AspectRatio): Size => {
  const ratio = parseRatio(aspect_ratio)
  const wide = Math.max(ratio, 1 / ratio)
  const long = resolution === "1K" ? 1024 : even(Number.parseInt(resolution, 10) * wide)
  const short = resolution === "1K" ? even(1024 / wide) : Number.parseInt(resolution, 10)
  return ratio >= 1 ? { width: long, height: short } : { width: short, height: long }
}

/**
 * Frames per second.
 *
 * @category constants
 * @since 0.1.0
 */
export const frameRate = 24

/**
 * What to render.
 *
 * @category models
 * @since 0.1.0
 */
export interface Card extends Size {
  /** Any text. Text that does not fit in the smallest type is truncated with an ellipsis. */
  readonly prompt: string
  /** Duration in seconds, a whole number. */
  readonly duration: number
  /** Determines colors and motion. */
  readonly seed: number
  /** How far the hues turn, from 0 to 1, the opposite colors. Default: 0. */
  readonly creativity?: number
}

// The compiled worker is next to the compiled module. From the sources, Node runs the TypeScript
// file itself.
const worker = new URL(`./internal/titleCardWorker.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url)

/**
 * Renders a card to the bytes of an MP4 file.
 *
 * @param onProgress hears the share that is done, from 0 to 1, a few times a second
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { render, sizeOf } from "@model-gateway/sandbox/TitleCard"
 *
 * const mp4 = Effect.gen(function* () {
 *   const size = yield* sizeOf({ resolution: "480p", aspect_ratio: "1:1" })
 *   return yield* render({ ...size, prompt: "A quiet harbor", duration: 2, seed: 7 })
 * })
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const render = (
  card: Card,
  onProgress: (share: number) => void = () => {}
): Effect.Effect<Uint8Array, RenderError> =>
  Effect.acquireUseRelease(
    Effect.try({
      // The process must not inherit flags of the service's (inspector, preloads) or its secrets.
      try: () =>
        fork(worker, {
          env: {},
          execArgv: [],
          serialization: "advanced",
          stdio: ["ignore", "ignore", "ignore", "ipc"]
        }),
      catch: (cause) => new RenderError({ message: "the rendering process did not start", cause })
    }),
    (child) =>
      Effect.callback<Uint8Array, RenderError>((resume) => {
        const broke = (message: string, cause?: unknown) => resume(Effect.fail(new RenderError({ message, cause })))
        child.on("message", (message: unknown) => {
          const known = Schema.decodeUnknownOption(Message)(message)
          if (Option.isNone(known)) broke("the rendering process sent an unknown message")
          else if (known.value._tag === "Progress") onProgress(known.value.share)
          else if (known.value._tag === "Failed") broke("the rendering process failed", known.value.cause)
          else resume(Effect.succeed(known.value.video))
        })
        child.on("error", (cause) => broke("the rendering process did not start", cause))
        child.on("exit", (code, signal) => broke(`the rendering process ended early with ${signal ?? `code ${code}`}`))
        child.send(Job.make({ ...card, frameRate }))
      }),
    (child) =>
      Effect.sync(() => {
        // Without a listener, an error of the ending process would end the service.
        child.removeAllListeners().on("error", () => {})
        child.kill("SIGKILL")
      })
  )
