"use client"

import dynamic from "next/dynamic"

// The client of the gateway needs a browser: nothing of it is rendered on the server.
const Transcriber = dynamic(async () => (await import("./Transcriber.tsx")).Transcriber, { ssr: false })
const Videos = dynamic(async () => (await import("./Videos.tsx")).Videos, { ssr: false })

export const Studio = () => (
  <>
    <Transcriber />
    <Videos />
  </>
)
