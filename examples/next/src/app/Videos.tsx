"use client"

import * as Video from "@model-gateway/core/Video"
import * as VideoProgress from "@model-gateway/core/VideoProgress"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { videos } from "./clients.ts"
import { useStream } from "./useStream.ts"

const makeVideo = (prompt: string) =>
  Video.submitVideo({ model: "sandbox/title-card", prompt, duration: 1, resolution: "480p" }).pipe(
    Effect.map(({ id }) => VideoProgress.watch(id, { interval: "200 millis" })),
    Stream.unwrap
  )

export const Videos = () => {
  const { error, isRunning, latest, start } = useStream(videos, makeVideo)
  return (
    <section>
      <h2>Video</h2>
      <button disabled={isRunning} onClick={() => start("Dawn over the harbor")}>
        Make a video
      </button>
      {latest && <output>{latest.status}</output>}
      {error && <p role="alert">{error.message}</p>}
    </section>
  )
}
