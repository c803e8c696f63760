/**
 * Runs a program as this process: with its signals and its exit code.
 *
 * The first SIGINT or SIGTERM interrupts the program, which then finishes the requests in flight. A
 * second one ends the process at once. SIGHUP asks a program that listens for it to read its
 * settings again. When the terminal of a process is closed, SIGHUP is as SIGTERM.
 */
import * as ErrorCode from "@model-gateway/core/unstable/ErrorCode"
import { Cause, Effect, Exit, Fiber } from "effect"
import { EventEmitter } from "node:events"
import * as Crash from "./Crash.ts"
import * as Hangup from "./Hangup.ts"
import * as ProcessLog from "./ProcessLog.ts"
import * as Signals from "./Signals.ts"
import * as Worker from "./Worker.ts"

/**
 * One Ctrl-C can arrive several times: the terminal sends it to every process of the group, and npm
 * forwards its own. Signals within this many milliseconds of the first count as one.
 */
const sameKeypress = 400

/** Ends the process after the output has been written, which a pipe may delay. */
const end = (code: number): void => {
  process.stdout.write("", () => process.stderr.write("", () => process.exit(code)))
}

/** A reader of the output may stop early, such as `head`. That is not an error. */
const ignoreClosedPipe = (stream: NodeJS.WriteStream): void => {
  stream.on("error", (error) => {
    if (ErrorCode.of(error) !== "EPIPE") throw error
  })
}

/**
 * Runs the program, which returns the exit code. An unhandled error, such as a defect, ends the
 * process with a last line, because it is a bug of the gateway.
 */
export const run = (program: Effect.Effect<number, never, Crash.Crash>): void => {
  const log = ProcessLog.make()
  const crash = Crash.make(log)
  ignoreClosedPipe(process.stdout)
  ignoreClosedPipe(process.stderr)
  // Also for a promise whose rejection nobody handles, and for an error of a thread.
  process.on("uncaughtException", (error, origin) =>
    crash.end(origin === "unhandledRejection" ? "an unhandled rejection" : "an uncaught exception", 1, error)
  )
  const signals = new EventEmitter<Signals.Events>()
  const fiber = Effect.runFork(
    program.pipe(
      Effect.provideService(Crash.Crash, crash),
      Effect.provideService(ProcessLog.ProcessLog, log),
      Effect.provideService(Signals.Signals, signals)
    )
  )
  // Node exits when it has no timer or socket to wait for, even if the fiber still runs.
  const keepAlive = setInterval(() => {}, 2_147_483_647)
  let signaled: number | undefined

  const onSignal = () => {
    const now = performance.now()
    if (signaled === undefined) {
      signaled = now
      Effect.runFork(Fiber.interrupt(fiber))
    } else if (now - signaled > sameKeypress) {
      crash.end("a second signal while it was stopping", 130)
    }
  }
  Worker.follow({
    stop: () => {
      if (signaled === undefined) onSignal()
    },
    reload: () => void signals.emit("reload"),
    abandoned: () => {
      log.write("primary_ended", "The process that started this worker has ended. The worker stops.")
      if (signaled === undefined) onSignal()
    },
    end: () => crash.end("the end of the process that started this worker", 1)
  })
  process.on("SIGINT", onSignal)
  process.on("SIGTERM", onSignal)
  // Node resets signals that nohup had ignored, and would end without a message. So a process that
  // had no terminal is taken for one that outlives it.
  Hangup.listen(() => {
    if (Hangup.hadTerminal && !Hangup.hasTerminal()) {
      log.write("terminal_closed", "The terminal was closed (SIGHUP). The gateway stops.")
      onSignal()
    } else if (!signals.emit("reload")) {
      log.write(
        "signal_ignored",
        "SIGHUP is ignored: no settings are in force that could be read again. SIGTERM stops the process."
      )
    }
  })
  // Without a listener, the signal would end the process.
  process.on("SIGUSR2", () => {
    if (!signals.emit("restart")) {
      log.write("signal_ignored", "SIGUSR2 is ignored: only serve with --workers restarts them.")
    }
  })

  fiber.addObserver((exit) => {
    clearInterval(keepAlive)
    if (Exit.isSuccess(exit)) return end(exit.value)
    // Stopping after a signal is a success.
    if (Cause.hasInterruptsOnly(exit.cause) && signaled !== undefined) return end(0)
    crash.end("a defect", 1, Cause.squash(exit.cause))
  })
}
