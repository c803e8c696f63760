/**
 * Measures audio in separate threads, with a deadline for each file.
 *
 * Audio is untrusted input, and a parser in an endless loop would block the whole service: no timer
 * fires meanwhile. A thread can be terminated. Threads start on first use, are reused, and do not
 * keep the process alive.
 */
import { Clock, Context, Data, Deferred, Duration, Effect, Exit, Schema, Semaphore } from "effect"
import { Worker } from "node:worker_threads"
import { type Answer, type Location, Message } from "./audioJob.ts"

export interface AudioThread {
  readonly ask: (location: Location) => Effect.Effect<Answer>
}

/** The number of files measured at the same time. */
export const threads = 2

/** Time for the thread to start and to open the audio. */
const startDeadline = Duration.seconds(10)

/**
 * Time for the parser and for reading all bytes, several times what they need. It grows with the
 * size, so that a small file does not occupy a thread for long.
 */
const deadlineFor = (size: number): Duration.Duration => Duration.millis(1000 + size / 10_000)

class Stuck extends Data.TaggedError("Stuck") {}
class Broken extends Data.TaggedError("Broken") {}

const worker = new URL(`./audioWorker.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url)

const makeUnsafe = (): AudioThread => {
  const slots = Semaphore.makeUnsafe(threads)
  const idle: Array<Worker> = []

  const start = (): Worker => {
    // The thread must not inherit flags of the service's process (inspector, preloads).
    const thread = new Worker(worker, { name: "audio", execArgv: [] })
    // A thread that fails while idle is discarded. Without a listener its error would end the
    // process.
    thread.on("error", () => {})
    thread.on("exit", () => {
      const at = idle.indexOf(thread)
      if (at !== -1) idle.splice(at, 1)
    })
    return thread
  }

  const askThread = Effect.fnUntraced(function* (thread: Worker, location: Location) {
    const begun = Deferred.makeUnsafe<number, Broken>()
    const answered = Deferred.makeUnsafe<Answer, Broken>()
    const onMessage = (message: unknown) => {
      const known = Schema.decodeUnknownExit(Message)(message)
      if (Exit.isFailure(known)) onEnd()
      else if (known.value._tag === "Begun") Deferred.doneUnsafe(begun, Exit.succeed(known.value.size))
      else Deferred.doneUnsafe(answered, Exit.succeed(known.value))
    }
    const onEnd = () => {
      Deferred.doneUnsafe(begun, Exit.fail(new Broken()))
      Deferred.doneUnsafe(answered, Exit.fail(new Broken()))
    }
    const within = (limit: Duration.Duration) =>
      Effect.timeoutOrElse({ duration: limit, orElse: () => Effect.fail(new Stuck()) })

    thread.on("message", onMessage).on("error", onEnd).on("exit", onEnd)
    thread.postMessage(location)
    return yield* Deferred.await(begun).pipe(
      within(startDeadline),
      Effect.flatMap((size) => within(deadlineFor(size))(Deferred.await(answered))),
      // A file that cannot be read is answered without a `Begun` message.
      Effect.raceFirst(Deferred.await(answered)),
      Effect.ensuring(Effect.sync(() => thread.off("message", onMessage).off("error", onEnd).off("exit", onEnd)))
    )
  })

  const askOnce = (location: Location) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        const thread = idle.pop() ?? start()
        thread.ref()
        return thread
      }),
      (thread) => askThread(thread, location),
      (thread, exit) =>
        Effect.promise(async () => {
          thread.unref()
          if (Exit.isSuccess(exit)) idle.push(thread)
          else await thread.terminate()
        })
    )

  return {
    ask: (location) =>
      slots.withPermit(askOnce(location)).pipe(
        Effect.catchTags({
          Stuck: () => notAudio("the audio cannot be decoded in reasonable time; the file may be incomplete"),
          Broken: () => notAudio("the audio cannot be decoded")
        }),
        // The thread takes real time, whatever clock the program uses.
        Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())
      )
  }
}

const notAudio = (message: string): Effect.Effect<Answer> => Effect.succeed({ _tag: "NotAudio", message })

/** The shared threads of the process, unless a program provides its own. */
export const AudioThread = Context.Reference<AudioThread>("@model-gateway/offers/internal/audioThread/AudioThread", {
  defaultValue: makeUnsafe
})
