import { assert, describe, it } from "@effect/vitest"
import { measure, ofBase64 } from "../src/VideoDuration.ts"
import { mp4 } from "@model-gateway/test-doubles/Mp4Double"

const read = (file: Buffer) => measure(ofBase64(file.toString("base64")))

const video = { frames: 50, step: 40 }

describe("the length of an MP4", () => {
  it("is the longest that anything in it says", () => {
    const longest: ReadonlyArray<readonly [Buffer, number]> = [
      [mp4({ tracks: [video] }), 2],
      [mp4({ stated: 9000, tracks: [video] }), 9],
      [mp4({ tracks: [{ ...video, stated: 3000 }] }), 3],
      // Headers that say less than the frames last.
      [mp4({ stated: 1, tracks: [{ ...video, stated: 1 }] }), 2],
      [mp4({ tracks: [{ ...video, edits: [2000, 2000] }] }), 4],
      [mp4({ tracks: [video, { kind: "soun", frames: 100, step: 50 }] }), 5]
    ]
    for (const [file, seconds] of longest) assert.deepStrictEqual(read(file), { seconds, frames: 50 })
  })

  it("is refused if a reader could take it for another", () => {
    const refused: ReadonlyArray<readonly [Buffer, string]> = [
      [mp4({ tracks: [{ ...video, sizes: 5000 }] }), "its counts of frames differ"],
      [mp4({ tracks: [video, video] }), "it has not exactly one track of video"],
      [mp4({ tracks: [{ ...video, kind: "soun" }] }), "it has not exactly one track of video"],
      [mp4({ boxes: ["mvex"], tracks: [video] }), "it is in fragments"],
      [mp4({ stated: 0xffff_ffff, tracks: [video] }), "it does not say how long it is"],
      [mp4({ tracks: [{ ...video, scale: 0 }] }), "it does not say how long it is"],
      [mp4({ tracks: [{ frames: 0, step: 40 }] }), "it has no frames"],
      [Buffer.from("RIFF____WAVE"), "it is cut off or damaged"],
      [Buffer.concat([mp4({ tracks: [video] }), mp4({ tracks: [video] })]), 'it has not exactly one box "moov"']
    ]
    for (const [file, message] of refused) assert.strictEqual(read(file), message)
  })

  it("is refused, and never a crash, wherever the file is cut off or changed", () => {
    const file = mp4({ tracks: [{ ...video, edits: [2000] }] })
    // What follows the movie are the frames themselves.
    const end = file.indexOf("mdat") - 4
    for (let length = 0; length < end; length++) assert.isString(read(file.subarray(0, length)))
    for (let at = 0; at < file.length; at++) {
      for (const value of [0x00, 0x7f, 0xff]) {
        const changed = Buffer.from(file)
        changed[at] = value
        const measured = read(changed)
        assert.isTrue(typeof measured === "string" || measured.seconds > 0)
      }
    }
  })
})
