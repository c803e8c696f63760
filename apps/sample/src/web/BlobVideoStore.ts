/** Keeps the video in the page's memory, where `<video>` plays it and a link saves it. */
import { Effect, Layer, Stream } from "effect"
import { VideoStore } from "../Program.ts"

/** `location` is an object URL: whoever shows it another one revokes it. */
export const layer: Layer.Layer<VideoStore> = Layer.succeed(
  VideoStore,
  VideoStore.of({
    save: (content) =>
      Effect.map(Stream.runCollect(content), (chunks) => {
        // A stream's bytes may lie in shared memory, which no Blob takes; a copy does not.
        const video = new Blob(
          chunks.map((chunk) => new Uint8Array(chunk)),
          { type: "video/mp4" }
        )
        return { location: URL.createObjectURL(video), bytes: video.size }
      })
  })
)
