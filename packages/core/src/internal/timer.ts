/**
 * A timer without a fiber where Effect's own clock is in use. `Effect.sleep` needs a fiber, and
 * starting and interrupting one was measured as a tenth of a call's processor time
 * (`pnpm bench`). Any other clock, such as `TestClock`, sleeps in a fiber.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

const liveClock = Context.get(Context.empty(), Clock.Clock)

/** The longest timer of the platform, in milliseconds. */
const maxMillis = 2 ** 31 - 1

/**
 * Runs `onTime` when so many milliseconds of the context's clock have passed, or after 24 days if
 * that is earlier. Returns a function that stops the timer.
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
