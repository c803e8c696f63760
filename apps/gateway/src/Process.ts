/**
 * Runs a program as this process: with its signals and its exit code.
 *
 * The first SIGINT or SIGTERM interrupts the program, which then finishes the requests in flight. A
 * second one ends the process at once.
 */
import { Cause, Effect, Exit, Fiber } from "effect"

/**
 * One Ctrl-C can arrive several times: the terminal sends it to every process of the group, and npm
 * forwards its own. Signals within this many milliseconds of the first count as one.
 */
const sameKeypress = 400

/** Ends the process after the output has been written, which a pipe may delay. */
const end = (code: number): void => {
  process.stdout.write("", () => process.stderr.write("", () => process.exit(code)))
}

/**
 * Runs the program, which returns the exit code. A defect is printed with its stack, because it is
 * a bug of the gateway.
 */
export const run = (program: Effect.Effect<number>): void => {
  const fiber = Effect.runFork(program)
  // Node exits when it has no timer or socket to wait for, even if the fiber still runs.
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
    if (Exit.isSuccess(exit)) return end(exit.value)
    // Stopping after a signal is a success.
    if (Cause.hasInterruptsOnly(exit.cause) && signalled !== undefined) return end(0)
    console.error(Cause.pretty(exit.cause))
    end(1)
  })
}
