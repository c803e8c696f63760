/** Records from the microphone and converts to WAV, which every transcription model accepts. */
import { AudioRecorder } from "@model-gateway/browser"
import { Deferred, Effect, Stream } from "effect"
import { useRef, useState } from "react"
import * as Wav from "../Wav.ts"
import { UnreadableAudio } from "./Problem.ts"
import { useTask } from "./useTask.ts"

/** The sample rate in hertz: enough for speech. */
const rate = 16_000

const toWav = (recorded: Blob) =>
  Effect.tryPromise({
    try: async () => {
      const context = new OfflineAudioContext(1, 1, rate)
      const audio = await context.decodeAudioData(await recorded.arrayBuffer())
      return new File([Wav.encode(audio.getChannelData(0), rate)], "recording.wav", { type: "audio/wav" })
    },
    catch: () => new UnreadableAudio()
  })

/** Calls `onRecorded` with the finished recording. */
export const useRecorder = (onRecorded: (file: File) => void) => {
  const task = useTask<void>("transcription")
  const [level, setLevel] = useState(0)
  const finish = useRef<Deferred.Deferred<void>>(undefined)

  const start = () => {
    const stop = Deferred.makeUnsafe<void>()
    finish.current = stop
    task.run(
      Effect.gen(function* () {
        const recording = yield* AudioRecorder.start()
        yield* Effect.forkScoped(Stream.runForEach(recording.level, (level) => Effect.sync(() => setLevel(level))))
        yield* Deferred.await(stop)
        const { file } = yield* recording.stop
        onRecorded(yield* toWav(file))
      }).pipe(Effect.scoped, Effect.ensuring(Effect.sync(() => setLevel(0))))
    )
  }

  const stop = () => {
    if (finish.current !== undefined) Deferred.doneUnsafe(finish.current, Effect.void)
  }

  return { state: task.state, recording: task.running, level, start, stop }
}
