/**
 * How far an upload has come: as a callback, or as a Stream that ends in the
 * call's result. For any call of the gateway that sends a body; what has an upload
 * worth watching is `gateway.transcribe` and `gateway.uploadFile`.
 *
 * Only requests that are watched go through XMLHttpRequest, which alone can tell;
 * all others go through `fetch`.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { constUndefined, dual } from "effect/Function"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"

/**
 * @since 0.1.0
 */
export interface Progress {
  /** Bytes that have left, with the form's own framing. Back at 0 where the call is tried again. */
  readonly loaded: number
  /** Bytes in all; undefined where the platform does not know. */
  readonly total: number | undefined
}

/**
 * What is told of uploads; nothing unless set. Set it with
 * {@link withUploadProgress} or {@link stream}.
 *
 * @since 0.1.0
 */
export const UploadProgress = Context.Reference<((progress: Progress) => void) | undefined>(
  "@model-gateway/browser/UploadProgress",
  { defaultValue: constUndefined }
)

/**
 * Tells a callback how far the effect's uploads have come: once with 0 when one
 * begins, then as often as the browser says so (about every 50 ms), and once with
 * all of it.
 *
 * @example
 * ```ts
 * import { UploadProgress } from "@model-gateway/browser"
 * import { Gateway } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * declare const file: File
 * declare const bar: HTMLProgressElement
 *
 * const program = Effect.gen(function*() {
 *   const gateway = yield* Gateway.Gateway
 *   return yield* gateway.uploadFile({ file, purpose: "notes" }).pipe(
 *     UploadProgress.withUploadProgress(({ loaded, total }) => {
 *       bar.value = loaded / (total ?? file.size)
 *     })
 *   )
 * })
 * ```
 *
 * @since 0.1.0
 */
export const withUploadProgress: {
  (onProgress: (progress: Progress) => void): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, onProgress: (progress: Progress) => void): Effect.Effect<A, E, R>
} = dual(2, <A, E, R>(self: Effect.Effect<A, E, R>, onProgress: (progress: Progress) => void): Effect.Effect<A, E, R> =>
  Effect.provideService(self, UploadProgress, onProgress)
)

/**
 * The upload has come this far.
 *
 * @since 0.1.0
 */
export interface Uploading extends Progress {
  readonly _tag: "Uploading"
}

/**
 * The call is done; the Stream's last element.
 *
 * @since 0.1.0
 */
export interface Done<A> {
  readonly _tag: "Done"
  readonly value: A
}

/**
 * Runs the effect when the Stream is run: `Uploading` while its body leaves, then
 * `Done` with what it answered. It fails with what the effect fails with, and
 * ending the Stream early interrupts the effect, which aborts the request on the
 * wire.
 *
 * A consumer slower than the upload misses steps in between, never the last.
 *
 * @example
 * ```ts
 * import { UploadProgress } from "@model-gateway/browser"
 * import { Gateway } from "@model-gateway/core"
 * import { Console, Effect, Stream } from "effect"
 *
 * declare const file: File
 *
 * const program = Effect.gen(function*() {
 *   const gateway = yield* Gateway.Gateway
 *   yield* UploadProgress.stream(gateway.transcribe({ model: "sandbox/tones", file })).pipe(
 *     Stream.runForEach((event) =>
 *       event._tag === "Done" ? Console.log(event.value.text) : Console.log(event.loaded, event.total)
 *     )
 *   )
 * })
 * ```
 *
 * @since 0.1.0
 */
export const stream = <A, E, R>(effect: Effect.Effect<A, E, R>): Stream.Stream<Uploading | Done<A>, E, R> =>
  Stream.callback<Uploading | Done<A>, E, R>(
    (queue) =>
      effect.pipe(
        withUploadProgress((progress) => {
          Queue.offerUnsafe(queue, { _tag: "Uploading", ...progress })
        }),
        Effect.flatMap((value) => Queue.offer(queue, { _tag: "Done", value })),
        Effect.flatMap(() => Queue.end(queue))
      ),
    // What is dropped is the oldest: the newest step and the result stay.
    { bufferSize: 16, strategy: "sliding" }
  )
