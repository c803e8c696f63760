/** MP4 files that have what readers measure: tables without pictures. */

const box = (type, ...parts) => {
  const body = Buffer.concat(parts)
  const head = Buffer.alloc(8)
  head.writeUInt32BE(body.length + 8)
  head.write(type, 4, "latin1")
  return Buffer.concat([head, body])
}

const uint32 = (...values) => {
  const bytes = Buffer.alloc(values.length * 4)
  values.forEach((value, index) => bytes.writeUInt32BE(value, index * 4))
  return bytes
}

const header = (type, scale, duration) => box(type, uint32(0, 0, 0, scale, duration), Buffer.alloc(80))

const track = ({ edits = [], frames, kind = "vide", scale = 1000, sizes = frames, step, stated = frames * step }) =>
  box(
    "trak",
    box("tkhd", Buffer.alloc(84)),
    ...(edits.length === 0
      ? []
      : [box("edts", box("elst", uint32(0, edits.length, ...edits.flatMap((time) => [time, 0, 0x10000]))))]),
    box(
      "mdia",
      header("mdhd", scale, stated),
      box("hdlr", uint32(0, 0), Buffer.from(kind, "latin1"), Buffer.alloc(12)),
      box("minf", box("stbl", box("stts", uint32(0, 1, frames, step)), box("stsz", uint32(0, 1, sizes))))
    )
  )

/** An MP4 of these tracks. `stated` is the duration of the movie in milliseconds. */
export const mp4 = ({ boxes = [], stated = 0, tracks }) =>
  Buffer.concat([
    box("ftyp", Buffer.from("isomiso2", "latin1")),
    box("moov", header("mvhd", 1000, stated), ...tracks.map(track), ...boxes.map((type) => box(type))),
    box("mdat", Buffer.alloc(16))
  ])

/** A video of this many seconds, with 25 frames a second, as a `data:` URI. */
export const mp4Uri = (seconds) => {
  const file = mp4({ tracks: [{ frames: Math.round(seconds * 25), step: 40 }] })
  return `data:video/mp4;base64,${file.toString("base64")}`
}
