/**
 * Reports upload progress: with a callback, or as a Stream that ends with the call's result. It
 * works for every call that sends a body, and is most useful for `gateway.transcribe` and
 * `gateway.uploadFile`.
 *
 * These requests, all forms and bodies over 1 MiB go through XMLHttpRequest, because `fetch` does
 * not report upload progress. All others go through `fetch`.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { constUndefined, dual } from "effect/Function"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"

/**
 * @category models
 * @since 0.1.0
 */
export interface Progress {
  /** Bytes sent, including the form's boundaries. Starts at 0 again when the call is retried. */
  readonly loaded: number
  /** Total bytes. Undefined if the platform does not know. */
  readonly total: number | undefined
}

/**
 * The callback for upload progress. Set it with {@link withUploadProgress} or {@link stream}.
 * Default: none.
 *
 * @category references
 * @since 0.1.0
 */
export const UploadProgress = Context.Reference<((progress: Progress) => void) | undefined>(
  "@model-gateway/browser/UploadProgress",
  { defaultValue: constUndefined }
)

/**
 * Calls a function with the progress of the effect's uploads: with 0 when an upload begins, then as
 * often as the browser reports progress (about every 50 ms), and at the end with the total.
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
 * @category combinators
 * @since 0.1.0
 */
export const withUploadProgress: {
  (onProgress: (progress: Progress) => void): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, onProgress: (progress: Progress) => void): Effect.Effect<A, E, R>
} = dual(2, <A, E, R>(self: Effect.Effect<A, E, R>, onProgress: (progress: Progress) => void): Effect.Effect<A, E, R> =>
  Effect.provideService(self, UploadProgress, onProgress)
)

/**
 * The progress of the upload.
 *
 * @category models
 * @since 0.1.0
 */
export interface Uploading extends Progress {
  readonly _tag: "Uploading"
}

/**
 * The call's result: the last element of the Stream.
 *
 * @category models
 * @since 0.1.0
 */
export interface Done<A> {
  readonly _tag: "Done"
  readonly value: A
}

/**
 * Runs the effect when the Stream runs. It emits `Uploading` while the body is sent, then `Done`
 * with the effect's result. It fails with the effect's errors. Ending the Stream early interrupts
 * the effect, which aborts the request.
 *
 * A consumer that is slower than the upload misses some progress, but never the last elements.
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
 * @category combinators
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
    // Drops the oldest elements: the newest progress and the result are kept.
    { bufferSize: 16, strategy: "sliding" }
  )
