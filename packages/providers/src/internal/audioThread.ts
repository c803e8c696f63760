/**
 * Measures audio in threads of its own, each answer within a deadline.
 *
 * Audio is input from strangers, and a parser that is led into an endless loop would stop the whole service with it: no
 * timer fires while it spins. A thread can be ended. Threads start when first needed, are kept for the next question,
 * and do not keep the process alive.
 */
import { Clock, Context, Effect, Option, Schema, Semaphore } from "effect"
import { Worker } from "node:worker_threads"
import { Answer, type Location } from "./audioJob.ts"

export interface AudioThread {
  readonly ask: (location: Location) => Effect.Effect<Answer>
}

/** How many files are measured at once. */
const threads = 2
/** A file of 25 MiB takes about a tenth of it. */
const deadline = "3 seconds"

const worker = new URL(`./audioWorker.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url)

const notInTime: Answer = { _tag: "NotAudio", message: "the audio cannot be understood in reasonable time" }
const broke: Answer = { _tag: "NotAudio", message: "the audio cannot be understood" }

const makeUnsafe = (): AudioThread => {
  const slots = Semaphore.makeUnsafe(threads)
  const idle: Array<Worker> = []

  const start = (): Worker => {
    // No flags of the service's own process (inspector, preloads) for the thread.
    const thread = new Worker(worker, { name: "audio", execArgv: [] })
    // One that breaks while nobody asks it is forgotten; without a listener its error would end the process.
    thread.on("error", () => {})
    thread.on("exit", () => {
      const at = idle.indexOf(thread)
      if (at !== -1) idle.splice(at, 1)
    })
    return thread
  }

  const askThread = (location: Location) =>
    Effect.callback<Answer>((resume) => {
      const thread = idle.pop() ?? start()
      const onMessage = (message: unknown) => {
        release()
        thread.unref()
        idle.push(thread)
        resume(Effect.succeed(Option.getOrElse(Schema.decodeUnknownOption(Answer)(message), () => broke)))
      }
      const onEnd = () => {
        release()
        resume(Effect.succeed(broke))
      }
      const release = () => thread.off("message", onMessage).off("error", onEnd).off("exit", onEnd)
      thread.on("message", onMessage).on("error", onEnd).on("exit", onEnd)
      thread.ref()
      thread.postMessage(location)
      return Effect.promise(() => {
        release()
        return thread.terminate()
      })
    })

  return {
    ask: (location) =>
      slots.withPermit(
        askThread(location).pipe(
          Effect.timeoutOption(deadline),
          // The thread spends real time, whatever clock the program runs by.
          Effect.provideService(Clock.Clock, Clock.Clock.defaultValue()),
          Effect.map(Option.getOrElse(() => notInTime))
        )
      )
  }
}

/** One set of threads for the process, unless a program brings its own. */
export const AudioThread = Context.Reference<AudioThread>("@model-gateway/providers/AudioThread", {
  defaultValue: makeUnsafe
})
