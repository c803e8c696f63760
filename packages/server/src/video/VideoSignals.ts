/**
 * Signals within this process that the row of a video job has changed.
 *
 * A signal only says "read the row again". Changes made by another process send no signal here, so
 * waiters must also read the row at intervals.
 */
import { Context, Effect, Latch, Layer, type Scope } from "effect"

/** The signals. */
export class VideoSignals extends Context.Service<
  VideoSignals,
  {
    /** Wakes everyone who waits for the job. */
    readonly notify: (jobId: string) => Effect.Effect<void>
    /**
     * Until the scope closes, every change of the job opens the latch. Close the latch before
     * reading the row, so that no change is missed.
     */
    readonly watch: (jobId: string) => Effect.Effect<Latch.Latch, never, Scope.Scope>
    /** Until the scope closes, calls `listener` with the id of every job that changes. */
    readonly listen: (listener: (jobId: string) => void) => Effect.Effect<void, never, Scope.Scope>
  }
>()("@model-gateway/server/video/VideoSignals") {}

/** Signals by job, kept only while someone waits. */
export const make = Effect.sync(() => {
  const waiting = new Map<string, Set<Latch.Latch>>()
  const listeners = new Set<(jobId: string) => void>()

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
        for (const listener of listeners) listener(jobId)
      }),
    listen: (listener) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.sync(() => listeners.add(listener)),
          () => Effect.sync(() => listeners.delete(listener))
        )
      ),
    watch: (jobId) =>
      Effect.acquireRelease(
        Effect.sync(() => add(jobId)),
        (latch) => Effect.sync(() => drop(jobId, latch))
      )
  })
})

/** Signals of this process. */
export const layer: Layer.Layer<VideoSignals> = Layer.effect(VideoSignals, make)
