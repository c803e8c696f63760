/** Keeps the video in the page's memory, for a `<video>` element and a download link. */
import { Effect, Layer, Stream } from "effect"
import { VideoStore } from "../Program.ts"

/** `location` is an object URL. Revoke it when the video is no longer shown. */
export const layer: Layer.Layer<VideoStore> = Layer.succeed(
  VideoStore,
  VideoStore.of({
    save: (content) =>
      Effect.map(Stream.runCollect(content), (chunks) => {
        // A Blob accepts no shared memory, which a stream's bytes may use, so copy them.
        const video = new Blob(
          chunks.map((chunk) => new Uint8Array(chunk)),
          { type: "video/mp4" }
        )
        return { location: URL.createObjectURL(video), bytes: video.size }
      })
  })
)
