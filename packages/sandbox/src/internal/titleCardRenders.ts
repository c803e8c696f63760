/**
 * Jobs that render cards in this process, for the models that share them.
 *
 * A render does not survive the process. That is fine: an unknown job is rendered again with the
 * same result, because its card follows from its handle and its request. The handle follows from
 * the submission's token, so that a token identifies the same job in every process.
 */
import { Cause, Deferred, Effect, Exit, Fiber, Option, type Scope, Semaphore, Stream } from "effect"
import { hash } from "node:crypto"
import type { VideoOffer } from "@model-gateway/offers/Offer"
import { type Charge, cost } from "@model-gateway/offers/Pricing"
import { BadResponse, invalidRequest, ProviderError } from "@model-gateway/offers/ProviderError"
import type { JobHandle, SubmittedVideo, VideoRequest, VideoStatus } from "@model-gateway/offers/Video"
import * as TitleCard from "../TitleCard.ts"

/** Price in micro-credits per second of video. */
export const microCreditsPerSecond = 10_000

/** The part of an offer that renders. */
export type Calls = Pick<VideoOffer, "isIdempotent" | "check" | "submit" | "poll" | "content" | "cancel">

/**
 * @category options
 * @since 0.1.0
 */
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

/** What is a model's own. */
export interface Model {
  /** The card to render, or why the request is not supported. */
  readonly check: (request: VideoRequest) => Effect.Effect<TitleCard.Card, ProviderError>
  /** The handle of a submission. `id` is the same for the same token. */
  readonly handleOf: (id: string, card: TitleCard.Card) => JobHandle
  /** The name of the job with this handle, among those of all models. */
  readonly jobIdOf: (handle: JobHandle) => string
  /** The card of a job, whose request has no video any more. */
  readonly cardOf: (job: SubmittedVideo) => Effect.Effect<TitleCard.Card, ProviderError>
}

/** Makes the calls of a model. */
export type Renders = (model: Model) => Calls

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

/** Closing the scope ends every render. */
export const make = Effect.fnUntraced(function* (options?: Options): Effect.fn.Return<Renders, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const slots = yield* Semaphore.make(options?.concurrency ?? 1)
  const keptBytes = options?.keptBytes ?? 32 * 1024 * 1024
  const renders = new Map<string, Render>()
  /** The size of each finished job, in the order in which they finished. */
  const finished = new Map<string, number>()
  let taken = 0

  const settle = (jobId: string, render: Render, state: VideoStatus, bytes: number) => {
    // A final state stays: a render that finishes while it is being canceled stays canceled.
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

  const renderNow = Effect.fnUntraced(function* (render: Render, card: TitleCard.Card) {
    const rendering = TitleCard.render(card, (progress) => {
      if (render.state.status === "in_progress") render.state = { status: "in_progress", progress }
    })
    return { card, video: yield* slots.withPermit(rendering) }
  })

  const run = (jobId: string, render: Render, cardOf: Effect.Effect<TitleCard.Card, ProviderError>) =>
    cardOf.pipe(
      Effect.flatMap((card) => renderNow(render, card)),
      Effect.mapError((error) =>
        error._tag === "ProviderError"
          ? error
          : new ProviderError({ reason: new BadResponse({ description: error.message }) })
      ),
      Effect.onExit((exit) => {
        // A render that is stopped with the process has not failed: the next process starts it
        // again.
        if (!(Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause))) {
          settle(jobId, render, stateAfter(exit), Exit.isSuccess(exit) ? exit.value.video.byteLength : 0)
        }
        return Deferred.done(
          render.video,
          Exit.map(exit, ({ video }) => video)
        )
      }),
      Effect.exit
    )

  return (model) => {
    /** The job's render. Started now if this process does not have it. */
    const renderOf = Effect.fnUntraced(function* (job: SubmittedVideo) {
      const jobId = model.jobIdOf(job.handle)
      const known = renders.get(jobId)
      if (known !== undefined) return known
      const begun: Render = {
        state: { status: "in_progress", progress: 0 },
        video: Deferred.makeUnsafe<Uint8Array, ProviderError>(),
        fiber: undefined
      }
      renders.set(jobId, begun)
      begun.fiber = yield* Effect.forkIn(run(jobId, begun, model.cardOf(job)), scope)
      return begun
    }, Effect.uninterruptible)

    return {
      check: (request) => Effect.asVoid(model.check(request)),
      isIdempotent: true,
      submit: Effect.fnUntraced(function* ({ request, token }) {
        const card = yield* model.check(request)
        const handle = model.handleOf(hash("sha256", token, "hex").slice(0, 32), card)
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
        const jobId = model.jobIdOf(handle)
        const render = renders.get(jobId)
        if (render === undefined || render.state.status !== "in_progress") return
        settle(jobId, render, cancelled, 0)
        yield* Deferred.fail(render.video, invalidRequest(cancelled.message))
        if (render.fiber !== undefined) yield* Fiber.interrupt(render.fiber)
      })
    }
  }
})

const chargeOf = ({ duration }: TitleCard.Card): Charge => ({
  cost: cost(microCreditsPerSecond, duration),
  usage: { seconds: duration, videos: 1 }
})

const stateAfter = (exit: Exit.Exit<{ readonly card: TitleCard.Card }, ProviderError>): VideoStatus =>
  Exit.match(exit, {
    onSuccess: ({ card }) => ({ status: "completed", outputs: 1, charge: chargeOf(card) }),
    onFailure: (cause) => ({
      status: "failed",
      message: Option.match(Cause.findErrorOption(cause), {
        onNone: () => "the renderer failed",
        onSome: (error) => error.message
      })
    })
  })

const pieces = function* (bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceSize) yield bytes.subarray(at, at + pieceSize)
}
