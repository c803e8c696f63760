/** Saves the video to a file while it is downloaded. */
import { Effect, FileSystem, Layer, Sink, Stream } from "effect"
import { VideoNotSaved, VideoStore } from "../Program.ts"

/** Saves to this path. An existing file is replaced only when the download is complete. */
export const layer = (path: string): Layer.Layer<VideoStore, never, FileSystem.FileSystem> =>
  Layer.effect(
    VideoStore,
    Effect.map(FileSystem.FileSystem, (fs) => {
      const part = `${path}.part`
      const notSaved = (cause: unknown) => new VideoNotSaved({ location: path, cause })
      return VideoStore.of({
        save: (content) =>
          Effect.suspend(() => {
            let bytes = 0
            return content.pipe(
              Stream.tap((chunk) => Effect.sync(() => (bytes += chunk.length))),
              Stream.run(Sink.mapError(fs.sink(part), notSaved)),
              Effect.andThen(Effect.mapError(fs.rename(part, path), notSaved)),
              Effect.onError(() => Effect.ignore(fs.remove(part))),
              Effect.map(() => ({ location: path, bytes }))
            )
          })
      })
    })
  )
