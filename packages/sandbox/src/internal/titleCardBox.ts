/**
 * The card in the file of its video, so that `sandbox/title-card-upscaler` can render it again: a
 * `uuid` box at the end of the MP4, with JSON. Programs that cut or encode videos drop boxes of
 * this kind, but copy comments. A comment would therefore say what the video no longer is.
 *
 * The rendering process writes it. `titleCardTag.ts` reads it.
 */
import { drawnPrompt } from "./titleCardBounds.ts"

/** What is rendered. */
export interface Card {
  readonly width: number
  readonly height: number
  readonly prompt: string
  readonly duration: number
  readonly seed: number
  readonly creativity?: number
}

/** Identifies the box. */
export const uuid = Buffer.from("b5d3c6f27a0e4f0c9a41d7e85c2f6b13", "hex")

/** The bytes of the box before the JSON. */
export const headLength = 8 + uuid.length

/** The MP4 with its card at the end. */
export const write = (mp4: Uint8Array, { creativity, duration, height, prompt, seed, width }: Card): Uint8Array => {
  const card: Card = {
    width,
    height,
    prompt: drawnPrompt(prompt),
    duration,
    seed,
    ...(creativity === undefined ? {} : { creativity })
  }
  const json = Buffer.from(JSON.stringify({ version: 1, card }))
  const head = Buffer.alloc(8)
  head.writeUInt32BE(headLength + json.length)
  head.write("uuid", 4, "latin1")
  return new Uint8Array(Buffer.concat([mp4, head, uuid, json]))
}
