/** What a transcript of audio of this length may contain. */
import type { Bounds } from "@model-gateway/offers/BoundedBody"

const mebibyte = 1024 * 1024

/** More is not read, however long the audio is. */
const maxBytes = 64 * mebibyte

/**
 * People speak up to 6 words a second, and fast ones 10 for a while. With all that an upstream says
 * of a word, in several lists, a word is up to 25 values and 2 KiB.
 */
export const of = (seconds: number): Partial<Bounds> => ({
  bytes: Math.min(maxBytes, Math.ceil(mebibyte + seconds * 20 * 1024)),
  entries: Math.ceil(1000 + seconds * 20),
  values: Math.ceil(20_000 + seconds * 250)
})
