/**
 * Timers and time limits with fewer fibers than Effect's. `Effect.sleep` needs a fiber, and
 * `Effect.timeoutOrElse` two: starting and interrupting one was measured as a tenth of a call's
 * processor time (`pnpm bench`). Here a timer needs none where Effect's own clock is in use. Any
 * other clock, such as `TestClock`, sleeps in a fiber.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"

const liveClock = Context.get(Context.empty(), Clock.Clock)

/** The longest timer of the platform, in milliseconds. */
const maxMillis = 2 ** 31 - 1

/**
 * Runs `onTime` after `millis` milliseconds of the context's clock, at most 24 days. Returns a
 * function that stops the timer.
 *
 * @category running
 * @since 0.1.0
 */
export const start = (context: Context.Context<never>, millis: number, onTime: () => void): (() => void) => {
  const clock = Context.get(context, Clock.Clock)
  const limited = Math.min(millis, maxMillis)
  if (clock === liveClock) {
    // oxlint-disable-next-line no-restricted-globals -- the clock of the context is this one
    const timer = setTimeout(onTime, limited)
    return () => clearTimeout(timer)
  }
  const sleeping = Effect.runForkWith(context)(clock.sleep(Duration.millis(limited)))
  sleeping.addObserver((exit) => {
    if (Exit.isSuccess(exit)) onTime()
  })
  return () => sleeping.interruptUnsafe()
}

const watchedIn = <A, E, R, A2, E2, R2>(
  context: Context.Context<R>,
  effect: Effect.Effect<A, E, R>,
  watch: (expire: (instead: Effect.Effect<A2, E2, R2>) => void) => () => void
): Effect.Effect<A | A2, E | E2, R2> =>
  Effect.callback((resume) => {
    const fiber = Effect.runForkWith(context)(effect)
    const ended = fiber.pollUnsafe()
    if (ended !== undefined) return resume(ended)
    const stop = watch((instead) => resume(Effect.andThen(Fiber.interrupt(fiber), instead)))
    fiber.addObserver((exit) => {
      stop()
      resume(exit)
    })
    return Fiber.interrupt(fiber)
  })

/**
 * Runs the effect in a fiber of its own. When `watch` calls `expire`, the effect is interrupted,
 * and the effect that `expire` was called with continues. `watch` returns the function that stops
 * watching, which is called when the effect ends.
 *
 * @category running
 * @since 0.1.0
 */
export const watched = <A, E, R, A2, E2, R2>(
  effect: Effect.Effect<A, E, R>,
  watch: (context: Context.Context<R>, expire: (instead: Effect.Effect<A2, E2, R2>) => void) => () => void
): Effect.Effect<A | A2, E | E2, R | R2> =>
  Effect.contextWith((context: Context.Context<R>) =>
    watchedIn(context, effect, (expire: (instead: Effect.Effect<A2, E2, R2>) => void) => watch(context, expire))
  )

/** A time limit under way. */
interface Limit {
  readonly clock: Clock.Clock
  /** When it ends, in milliseconds of the clock's monotonic time. */
  readonly end: number
  /** The fiber that is interrupted then. */
  fiber?: Fiber.Fiber<unknown, unknown>
}

const CurrentLimit = Context.Reference<Limit | undefined>("@model-gateway/core/unstable/Timer/CurrentLimit", {
  defaultValue: () => undefined
})

/** Effect does not declare this field. Without it, each limit has a timer of its own. */
const isInterruptible = (fiber: object): boolean => "interruptible" in fiber && fiber.interruptible === true

/** Whether a limit around the fiber's effect interrupts the fiber before this one ends. */
const isWithin = (fiber: Fiber.Fiber<unknown, unknown>, { clock, end }: Limit): boolean => {
  const around = Context.get(fiber.context, CurrentLimit)
  return around?.fiber === fiber && around.clock === clock && around.end <= end && isInterruptible(fiber)
}

/**
 * Interrupts the effect when the duration has passed, and continues with `orElse`, as
 * `Effect.timeoutOrElse` does. An effect that has ended needs neither a fiber nor a timer, and one
 * that a limit around it interrupts earlier needs no others.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import * as Timer from "@model-gateway/core/unstable/Timer"
 *
 * const slow = Effect.delay(Effect.succeed("done"), "2 seconds")
 *
 * const limited = slow.pipe(
 *   Timer.within({ duration: "1 second", orElse: () => Effect.fail("too late") })
 * )
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const within =
  <A2, E2, R2>({
    duration,
    orElse
  }: {
    /** The longest time. More than 24 days count as 24 days. */
    readonly duration: Duration.Input
    readonly orElse: () => Effect.Effect<A2, E2, R2>
  }) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A | A2, E | E2, R | R2> => {
    if (Exit.isExit(effect)) return effect
    const millis = Duration.toMillis(Duration.fromInputUnsafe(duration))
    return Effect.contextWith((context: Context.Context<R>) => {
      const clock = Context.get(context, Clock.Clock)
      const limit: Limit = { clock, end: Number(clock.monotonicTimeNanosUnsafe()) / 1e6 + millis }
      const fiber = Fiber.getCurrent()
      if (fiber !== undefined && isWithin(fiber, limit)) return effect
      const limited = Effect.withFiber((own) => {
        limit.fiber = own
        return effect
      })
      return watchedIn(Context.add(context, CurrentLimit, limit), limited, (expire) =>
        start(context, millis, () => expire(Effect.suspend(orElse)))
      )
    })
  }
