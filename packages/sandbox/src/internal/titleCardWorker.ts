/**
 * The rendering thread: lettering, painting, encoding and muxing. `TitleCard.render` starts it with
 * a `Job` as its data.
 */
import * as Schema from "effect/Schema"
import h264 from "h264-mp4-encoder"
import { constants, platform, setPriority } from "node:os"
import { parentPort, workerData } from "node:worker_threads"
import { Job, type Message } from "./titleCardJob.ts"
import { letter } from "./titleCardLettering.ts"
import { repack } from "./titleCardMp4.ts"
import { makePicture } from "./titleCardPicture.ts"
import { write } from "./titleCardTag.ts"

const say = (message: Message): void => parentPort?.postMessage(message)

const render = async (job: Job): Promise<Uint8Array> => {
  const { creativity = 0, duration, frameRate, height, prompt, seed, width } = job
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
    if (frame % 6 === 5) say({ _tag: "Progress", share: (frame + 1) / (frames + 1) })
  }
  encoder.finalize()
  return write(await repack(encoder.FS.readFile(encoder.outputFilename)), job)
}

// Threads that answer requests come first. On Linux this affects the calling thread only, elsewhere
// the whole process.
if (platform() === "linux") setPriority(constants.priority.PRIORITY_BELOW_NORMAL)

say({ _tag: "Done", video: await render(Schema.decodeUnknownSync(Job)(workerData)) })
