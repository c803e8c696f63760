/** A stream that fails if its source is too slow. */
import { type Cause, Clock, Duration, Effect, type Pull, Stream } from "effect"

/** How slow the source may be. */
export interface Options<E> {
  readonly bytesPerSecond: number
  /** How long it may send nothing, or less than that. */
  readonly grace: Duration.Duration
  /** How long its first bytes may take. */
  readonly first: Duration.Duration
  readonly orElse: () => E
}

/**
 * Fails if the source sends fewer bytes per second. Only the time in which the reader waits counts,
 * so a slow reader is not blamed on the source. Time that fast bytes save is kept, up to `grace`.
 */
export const minRate =
  <E2>({ bytesPerSecond, first, grace, orElse }: Options<E2>) =>
  <E, R>(source: Stream.Stream<Uint8Array, E, R>): Stream.Stream<Uint8Array, E | E2, R> =>
    Stream.transformPull(source, (pull) =>
      Effect.sync(() => {
        let patience = Duration.toMillis(first)
        const maxPatience = Duration.toMillis(grace)
        let isFirst = true
        const next: Pull.Pull<readonly [Uint8Array, ...Array<Uint8Array>], E | E2, void> = Effect.gen(function* () {
          const startedAt = yield* Clock.currentTimeMillis
          const chunks = yield* Effect.timeoutOrElse(pull, {
            // In whole milliseconds, as clocks count them.
            duration: Duration.millis(Math.ceil(patience)),
            orElse: (): Effect.Effect<never, E2 | Cause.Done<void>> => Effect.fail(orElse())
          })
          const waited = (yield* Clock.currentTimeMillis) - startedAt
          const bytes = chunks.reduce((sum, { length }) => sum + length, 0)
          patience = isFirst ? maxPatience : Math.min(maxPatience, patience - waited + (bytes / bytesPerSecond) * 1000)
          isFirst = false
          return chunks
        })
        return next
      })
    )
