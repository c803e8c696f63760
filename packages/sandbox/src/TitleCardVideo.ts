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
import { Cause, Deferred, Effect, Exit, Fiber, Hash, Option, type Scope, Semaphore, Stream } from "effect"
import { hash } from "node:crypto"
import type { MicroCredits } from "@model-gateway/providers/MicroCredits"
import type { VideoOffer } from "@model-gateway/providers/Offer"
import { cost } from "@model-gateway/providers/Pricing"
import { BadResponse, invalidFields, invalidRequest, ProviderError } from "@model-gateway/providers/ProviderError"
import type { JobHandle, SubmittedVideo, VideoRequest, VideoStatus } from "@model-gateway/providers/Video"
import * as TitleCard from "./TitleCard.ts"

/**
 * Default duration in seconds.
 *
 * @since 0.1.0
 */
export const defaultDuration = 5

/**
 * Maximum duration in seconds.
 *
 * @since 0.1.0
 */
export const maxDuration = 60

/**
 * Price in micro-credits per second of video.
 *
 * @since 0.1.0
 */
export const microCreditsPerSecond = 10_000

const durationOf = ({ duration = defaultDuration }: VideoRequest): number => duration

/**
 * The cost of a card.
 *
 * @since 0.1.0
 */
export const quote = (request: VideoRequest): MicroCredits => cost(microCreditsPerSecond, durationOf(request))

/**
 * The part of the offer that renders.
 *
 * @since 0.1.0
 */
export type TitleCards = Pick<VideoOffer, "isIdempotent" | "check" | "submit" | "poll" | "content" | "cancel">

/** @since 0.1.0 */
export interface Options {
  /** Cards rendered at the same time; the others wait. Each takes a processor core. Default: 1. */
  readonly concurrency?: number
  /**
   * Bytes of finished cards kept in memory. The oldest are evicted first, and rendered again when
   * requested. The newest is kept whatever its size, because it has yet to be downloaded. Default:
   * 32 MiB: the largest possible card (a minute at 2520 × 1080 full of text: about 30 MB), or about
   * 130 cards of 5 seconds at 720p.
   */
  readonly keptBytes?: number
}

interface Render {
  state: VideoStatus
  readonly video: Deferred.Deferred<Uint8Array, ProviderError>
  fiber: Fiber.Fiber<unknown> | undefined
}

/** The size of one chunk of `content`. */
const pieceSize = 65_536

/**
 * The size counted for a finished job besides its video, so that jobs without a video are evicted
 * too.
 */
const overhead = 1024

const cancelled: VideoStatus = { status: "failed", message: "the job was cancelled" }

/**
 * Makes the calls. Closing the scope ends every render.
 *
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function* (options?: Options): Effect.fn.Return<TitleCards, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const slots = yield* Semaphore.make(options?.concurrency ?? 1)
  const keptBytes = options?.keptBytes ?? 32 * 1024 * 1024
  const renders = new Map<string, Render>()
  /** The size of each finished job, in the order in which they finished. */
  const finished = new Map<string, number>()
  let taken = 0

  const settle = (jobId: string, render: Render, state: VideoStatus, bytes: number) => {
    // A final state stays: a render that finishes while it is being cancelled stays cancelled.
    if (render.state.status !== "in_progress") return
    render.state = state
    finished.set(jobId, bytes + overhead)
    taken += bytes + overhead
    for (const [oldest, size] of finished) {
      if (taken <= keptBytes || oldest === jobId) return
      finished.delete(oldest)
      renders.delete(oldest)
      taken -= size
    }
  }

  const run = (jobId: string, render: Render, request: VideoRequest) =>
    cardOf(request, jobId).pipe(
      Effect.flatMap((card) =>
        slots.withPermit(
          TitleCard.render(card, (progress) => {
            if (render.state.status === "in_progress") render.state = { status: "in_progress", progress }
          })
        )
      ),
      Effect.mapError((error) =>
        error._tag === "ProviderError"
          ? error
          : new ProviderError({ reason: new BadResponse({ description: error.message }) })
      ),
      Effect.onExit((exit) => {
        // A render that is stopped with the process has not failed: the next process starts it
        // again.
        if (!(Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause))) {
          settle(jobId, render, stateAfter(exit, request), Exit.isSuccess(exit) ? exit.value.byteLength : 0)
        }
        return Deferred.done(render.video, exit)
      }),
      Effect.exit
    )

  /** The job's render. Started now if this process does not have it. */
  const renderOf = Effect.fnUntraced(function* ({ handle, request }: SubmittedVideo) {
    const jobId = jobIdOf(handle)
    const known = renders.get(jobId)
    if (known !== undefined) return known
    const begun: Render = {
      state: { status: "in_progress", progress: 0 },
      video: Deferred.makeUnsafe<Uint8Array, ProviderError>(),
      fiber: undefined
    }
    renders.set(jobId, begun)
    begun.fiber = yield* Effect.forkIn(run(jobId, begun, request), scope)
    return begun
  }, Effect.uninterruptible)

  return {
    check: (request) => Effect.asVoid(cardOf(request, "")),
    isIdempotent: true,
    submit: Effect.fnUntraced(function* ({ request, token }) {
      yield* cardOf(request, "")
      const handle = handleOf(token)
      yield* renderOf({ handle, request })
      return handle
    }),
    poll: (job) => Effect.map(renderOf(job), (render) => render.state),
    content: (job) =>
      Stream.unwrap(
        Effect.gen(function* () {
          if (job.index !== 0) return yield* invalidRequest(`the job has one output, index 0, not ${job.index}`)
          const render = yield* renderOf(job)
          return Stream.fromIterable(pieces(yield* Deferred.await(render.video)))
        })
      ),
    cancel: Effect.fnUntraced(function* (handle) {
      const jobId = jobIdOf(handle)
      const render = renders.get(jobId)
      if (render === undefined || render.state.status !== "in_progress") return
      settle(jobId, render, cancelled, 0)
      yield* Deferred.fail(render.video, invalidRequest(cancelled.message))
      if (render.fiber !== undefined) yield* Fiber.interrupt(render.fiber)
    })
  }
})

const stateAfter = (exit: Exit.Exit<Uint8Array, ProviderError>, request: VideoRequest): VideoStatus =>
  Exit.match(exit, {
    onSuccess: () => ({
      status: "completed",
      outputs: 1,
      charge: { cost: quote(request), usage: { seconds: durationOf(request), videos: 1 } }
    }),
    onFailure: (cause) => ({
      status: "failed",
      message: Option.match(Cause.findErrorOption(cause), {
        onNone: () => "the renderer failed",
        onSome: (error) => error.message
      })
    })
  })

/** The handle of a token's job, the same in every process. */
const handleOf = (token: string): string => `card_${hash("sha256", token, "hex").slice(0, 32)}`

/** Any handle names a job, because a job is rendered from its request. */
const jobIdOf = (handle: JobHandle): string => (typeof handle === "string" ? handle : JSON.stringify(handle))

const pieces = function* (bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceSize) yield bytes.subarray(at, at + pieceSize)
}

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
