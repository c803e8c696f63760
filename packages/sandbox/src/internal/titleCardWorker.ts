/**
 * The rendering process: lettering, painting, encoding and muxing. `TitleCard.render` starts it and
 * sends it a `Job`.
 *
 * It is not a thread. With a thread for each render, the 119th render of a service never ended in
 * two of ten runs: V8's compiler threads waited for a lock (Node 24.21).
 *
 * It loads as little as it can, because each card waits for that: nothing of `effect`.
 */
import h264 from "h264-mp4-encoder"
import { constants, setPriority } from "node:os"
import process from "node:process"
import { inspect } from "node:util"
import { write } from "./titleCardBox.ts"
import type { Job, Message } from "./titleCardJob.ts"
import { letter } from "./titleCardLettering.ts"
import { repack } from "./titleCardMp4.ts"
import { makePicture } from "./titleCardPicture.ts"

/** Sends a message. The service's messages and its end are noticed meanwhile. */
const say = (message: Message): Promise<void> =>
  new Promise((resolve) => void process.send?.(message, undefined, undefined, () => resolve()))

const numbers = ["width", "height", "duration", "seed", "frameRate"] as const

/** The service has checked the fields of a job. */
const isJob = (message: unknown): message is Job =>
  typeof message === "object" &&
  message !== null &&
  "prompt" in message &&
  typeof message.prompt === "string" &&
  numbers.every((name) => Number.isFinite(Reflect.get(message, name)))

const render = async (message: unknown): Promise<Uint8Array> => {
  if (!isJob(message)) throw new TypeError("a message that is no job")
  const { creativity = 0, duration, frameRate, height, prompt, seed, width } = message
  const even = (length: number) => 2 * Math.floor(length / 2)
  const lettering = letter(prompt, even(width * 0.84), even(height * 0.7))
  // At most half of the circle: the whole one would be the same colors again.
  const picture = makePicture(width, height, seed, creativity / 2, lettering)
  const encoder = await h264.createH264MP4Encoder()
  encoder.width = width
  encoder.height = height
  encoder.frameRate = frameRate
  encoder.groupOfPictures = 2 * frameRate
  encoder.quantizationParameter = 26
  // The fastest setting. On these pictures, slower ones save a few percent of bytes and take half
  // again the time.
  encoder.speed = 10
  encoder.initialize()
  const frames = duration * frameRate
  for (let frame = 0; frame < frames; frame++) {
    encoder.addFrameYuv(picture.paint((frame + 1) / frames, frame / frameRate))
    if (frame % 6 === 5) await say({ _tag: "Progress", share: (frame + 1) / (frames + 1) })
  }
  encoder.finalize()
  return write(await repack(encoder.FS.readFile(encoder.outputFilename)), message)
}

// The service comes first. Where the system does not allow it, such as in a unit of systemd with a
// filter of system calls, the card is rendered all the same.
try {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
} catch {}

process.once("disconnect", () => process.exit())
process.once("message", (job) => {
  void render(job).then(
    (video) => say({ _tag: "Done", video }),
    (error: unknown) => say({ _tag: "Failed", cause: inspect(error) })
  )
})
