import { Effect } from "effect"
import { BufferSource, EncodedPacketSink, Input, MP4 } from "mediabunny"

/** What a player sees of an MP4 file. */
export const inspect = (bytes: Uint8Array) =>
  Effect.promise(async () => {
    const input = new Input({ source: new BufferSource(bytes), formats: [MP4] })
    const tracks = await input.getTracks()
    const track = await input.getPrimaryVideoTrack()
    if (track === null) throw new Error("no video track")
    const decoder = await track.getDecoderConfig()
    let frames = 0
    let keyFrames = 0
    for await (const packet of new EncodedPacketSink(track).packets()) {
      frames++
      if (packet.type === "key") keyFrames++
    }
    return {
      tracks: tracks.length,
      codec: decoder?.codec.slice(0, 4),
      width: decoder?.codedWidth,
      height: decoder?.codedHeight,
      duration: await track.computeDuration(),
      frames,
      keyFrames,
      boxes: boxes(bytes)
    }
  })

/** The names of the outermost boxes, in order. */
const boxes = (bytes: Uint8Array): ReadonlyArray<string> => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const names: Array<string> = []
  for (let at = 0; at + 8 <= bytes.length; at += Math.max(8, view.getUint32(at))) {
    names.push(String.fromCharCode(...bytes.subarray(at + 4, at + 8)))
  }
  return names
}
