/**
 * Tells those who wait for a video job in this process that its row has changed.
 *
 * A signal says only "look again": the row is the truth. Those who wait must look at intervals all the same, because a change made by another process gives no signal here.
 */
import { Context, Effect, Latch, Layer, type Scope } from "effect"

/** The signals. */
export class VideoSignals extends Context.Service<
  VideoSignals,
  {
    /** Wakes all who wait for the job. */
    readonly notify: (jobId: string) => Effect.Effect<void>
    /**
     * From now until the scope closes every change of the job opens the latch. Close it before reading the row and no change is missed.
     */
    readonly watch: (jobId: string) => Effect.Effect<Latch.Latch, never, Scope.Scope>
  }
>()("@model-gateway/server/video/VideoSignals") {}

/** Signals by job, kept only as long as someone waits. */
export const make = Effect.sync(() => {
  const waiting = new Map<string, Set<Latch.Latch>>()

  const add = (jobId: string) => {
    const latch = Latch.makeUnsafe()
    const latches = waiting.get(jobId) ?? new Set()
    waiting.set(jobId, latches.add(latch))
    return latch
  }

  const drop = (jobId: string, latch: Latch.Latch) => {
    const latches = waiting.get(jobId)
    if (latches === undefined) return
    latches.delete(latch)
    if (latches.size === 0) waiting.delete(jobId)
  }

  return VideoSignals.of({
    notify: (jobId) =>
      Effect.sync(() => {
        for (const latch of waiting.get(jobId) ?? []) latch.openUnsafe()
      }),
    watch: (jobId) =>
      Effect.acquireRelease(
        Effect.sync(() => add(jobId)),
        (latch) => Effect.sync(() => drop(jobId, latch))
      )
  })
})

/** Signals of this process. */
export const layer: Layer.Layer<VideoSignals> = Layer.effect(VideoSignals, make)
