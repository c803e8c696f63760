/** Records the microphone. It is loaded when somebody records. */
import { AudioRecorder } from "@model-gateway/browser"
import { Deferred, Effect, Fiber, Stream } from "effect"

export interface Recorder {
  /** Ends the recording and returns it. */
  readonly stop: () => Promise<File>
}

/** Starts recording. Rejects with a sentence for the person. `onLevel`: the volume, from 0 to 1. */
export const record = async (onLevel: (level: number) => void): Promise<Recorder> => {
  const stopped = Deferred.makeUnsafe<void>()
  const started = Promise.withResolvers<void>()
  const fiber = Effect.runFork(
    Effect.gen(function* () {
      const recording = yield* AudioRecorder.start()
      yield* Effect.forkScoped(Stream.runForEach(recording.level, (level) => Effect.sync(() => onLevel(level))))
      started.resolve()
      yield* Deferred.await(stopped)
      const { file, filename } = yield* recording.stop
      return new File([file], filename, { type: file.type })
    }).pipe(
      Effect.scoped,
      Effect.tapError((error) => Effect.sync(() => started.reject(error)))
    )
  )
  await started.promise
  return {
    stop: () => {
      Deferred.doneUnsafe(stopped, Effect.void)
      return Effect.runPromise(Fiber.join(fiber))
    }
  }
}
