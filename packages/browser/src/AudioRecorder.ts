/**
 * Records the microphone for `gateway.transcribe`. The microphone is released when the scope
 * closes, also after errors and interruption.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type Audio, formatOfType } from "./Audio.ts"

/**
 * The recording failed. The message can be shown to the user.
 *
 * - `denied`: the user, the browser's settings or the page's policy do not allow recording.
 * - `no-microphone`: no microphone was found.
 * - `busy`: another program uses the microphone.
 * - `unsupported`: the browser cannot record, or the page is not served over HTTPS.
 * - `failed`: the recording stopped with an error.
 *
 * @category errors
 * @since 0.1.0
 */
export class RecordingFailed extends Data.TaggedError("RecordingFailed")<{
  readonly reason: "denied" | "no-microphone" | "busy" | "unsupported" | "failed"
  readonly cause?: unknown
}> {
  override get message(): string {
    return sentences[this.reason]
  }
}

const sentences: Record<RecordingFailed["reason"], string> = {
  denied:
    "The microphone is blocked for this page. Allow it in the browser's address bar, then start the recording again.",
  "no-microphone": "No microphone was found. Plug one in, or choose an audio file.",
  busy: "Another program is using the microphone. Close it, then start the recording again.",
  unsupported:
    "This browser cannot record on this page. Recording needs HTTPS and a current browser; an audio file works too.",
  failed: "The recording stopped with an error. Start it again."
}

/**
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /** The microphone and its processing. Default: the system's default microphone, mono. */
  readonly audio?: MediaTrackConstraints | undefined
  /** Bits per second. Default: 32,000, for speech: about 4 KB per second. */
  readonly bitsPerSecond?: number | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Recording {
  /** The recording's media type, such as `audio/webm;codecs=opus`. */
  readonly mimeType: string
  /**
   * The volume (root mean square), about 20 times per second: 0 is silence, 1 is full scale. The
   * Stream ends with the recording.
   */
  readonly level: Stream.Stream<number>
  /** Stops the recording and returns it. Repeated calls return the same recording. */
  readonly stop: Effect.Effect<Audio, RecordingFailed>
}

/** Formats that the gateway accepts, smallest recordings first. Safari supports only MP4. */
const candidates = ["audio/webm;codecs=opus", "audio/ogg;codecs=opus", "audio/webm", "audio/mp4"]

const reasonOf = (cause: unknown): RecordingFailed["reason"] => {
  const name = cause instanceof Error ? cause.name : ""
  switch (name) {
    case "NotAllowedError":
    case "SecurityError":
      return "denied"
    case "NotFoundError":
    case "OverconstrainedError":
      return "no-microphone"
    case "NotReadableError":
    case "AbortError":
      return "busy"
    case "NotSupportedError":
    case "TypeError":
      return "unsupported"
    default:
      return "failed"
  }
}

const failure = (cause: unknown) => new RecordingFailed({ reason: reasonOf(cause), cause })

const microphone = (options: Options) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      // Without HTTPS `mediaDevices` is undefined, contrary to its type. The TypeError becomes
      // `unsupported`.
      try: () => navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1, ...options.audio } }),
      catch: failure
    }),
    (stream) => Effect.sync(() => stream.getTracks().forEach((track) => track.stop())),
    { interruptible: true }
  )

const levelOf = (stream: MediaStream): Stream.Stream<number> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const context = yield* Effect.acquireRelease(
        Effect.sync(() => new AudioContext()),
        (context) => Effect.promise(() => context.close())
      )
      const analyser = context.createAnalyser()
      context.createMediaStreamSource(stream).connect(analyser)
      // Some browsers create it suspended. If they require a click first, the level is 0 until
      // then.
      context.resume().catch(() => {})
      const samples = new Float32Array(analyser.fftSize)
      return Stream.fromEffectSchedule(
        Effect.sync(() => {
          analyser.getFloatTimeDomainData(samples)
          return Math.min(1, Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length))
        }),
        Schedule.spaced("50 millis")
      )
    })
  )

/**
 * Starts recording. The browser may ask the user for permission first.
 *
 * @example
 * ```ts
 * import { AudioRecorder } from "@model-gateway/browser"
 * import { Gateway } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * const program = Effect.scoped(Effect.gen(function*() {
 *   const gateway = yield* Gateway.Gateway
 *   const recording = yield* AudioRecorder.start()
 *   yield* Effect.sleep("5 seconds")
 *   const audio = yield* recording.stop
 *   return yield* gateway.transcribe({ model: "sandbox/tones", ...audio })
 * }))
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const start = (options: Options = {}): Effect.Effect<Recording, RecordingFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const mimeType = yield* Effect.try({
      try: () => candidates.find((type) => MediaRecorder.isTypeSupported(type)),
      catch: (cause) => new RecordingFailed({ reason: "unsupported", cause })
    })
    const format = mimeType === undefined ? undefined : formatOfType(mimeType)
    if (mimeType === undefined || format === undefined) return yield* new RecordingFailed({ reason: "unsupported" })

    const stream = yield* microphone(options)
    const ended = yield* Deferred.make<Audio, RecordingFailed>()
    const recorder = yield* Effect.acquireRelease(
      Effect.try({
        try: () => {
          const recorder = new MediaRecorder(stream, {
            mimeType,
            audioBitsPerSecond: options.bitsPerSecond ?? 32_000
          })
          const parts: Array<Blob> = []
          recorder.ondataavailable = (event) => parts.push(event.data)
          recorder.onerror = () => Deferred.doneUnsafe(ended, Effect.fail(new RecordingFailed({ reason: "failed" })))
          recorder.onstop = () =>
            Deferred.doneUnsafe(
              ended,
              Effect.succeed({ file: new Blob(parts, { type: mimeType }), filename: `recording.${format}` })
            )
          recorder.start()
          return recorder
        },
        catch: failure
      }),
      (recorder) =>
        Effect.sync(() => {
          if (recorder.state !== "inactive") recorder.stop()
        })
    )

    return {
      mimeType,
      level: Stream.interruptWhen(levelOf(stream), Effect.exit(Deferred.await(ended))),
      stop: Effect.suspend(() => {
        if (recorder.state !== "inactive") recorder.stop()
        return Deferred.await(ended)
      })
    }
  })
