/**
 * The process itself: signals in, an exit code out.
 *
 * The first SIGINT or SIGTERM interrupts the program, which then finishes what it has in hand; a second one ends the process at once.
 */
import { Cause, Effect, Exit, Fiber } from "effect"

/**
 * One Ctrl-C can arrive several times: the terminal sends it to every process of the group, and npm passes on what it gets.
 * What comes within this time of the first is the same one.
 */
const sameKeypress = 400

/** Runs the program to its end; it answers with the exit code. A defect is shown in full: it is ours to mend, not the user's. */
export const run = (program: Effect.Effect<number>): void => {
  const fiber = Effect.runFork(program)
  // A program that waits for nothing that Node knows of would otherwise end here.
  const keepAlive = setInterval(() => {}, 2_147_483_647)
  let signalled: number | undefined

  const onSignal = () => {
    const now = performance.now()
    if (signalled === undefined) {
      signalled = now
      Effect.runFork(Fiber.interrupt(fiber))
    } else if (now - signalled > sameKeypress) {
      process.exit(130)
    }
  }
  process.on("SIGINT", onSignal)
  process.on("SIGTERM", onSignal)

  fiber.addObserver((exit) => {
    clearInterval(keepAlive)
    if (Exit.isSuccess(exit)) process.exit(exit.value)
    // It was asked to stop and it stopped: that is no failure.
    if (Cause.hasInterruptsOnly(exit.cause) && signalled !== undefined) process.exit(0)
    console.error(Cause.pretty(exit.cause))
    process.exit(1)
  })
}
