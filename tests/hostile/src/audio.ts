/** Forms with audio, and files that decoders disagree on. */

/** A multipart form with text fields and one file. */
export const form = (
  fields: Readonly<Record<string, string>>,
  file: { readonly name: string; readonly bytes: Uint8Array }
): { readonly headers: Readonly<Record<string, string>>; readonly body: Buffer } => {
  const boundary = "model-gateway-boundary"
  const part = (disposition: string) => `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n`
  const texts = Object.entries(fields).map(([name, value]) => `${part(`name="${name}"`)}\r\n${value}\r\n`)
  return {
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
    body: Buffer.concat([
      Buffer.from(texts.join("")),
      Buffer.from(`${part(`name="file"; filename="${file.name}"`)}Content-Type: application/octet-stream\r\n\r\n`),
      file.bytes,
      Buffer.from(`\r\n--${boundary}--\r\n`)
    ])
  }
}

const repeat = (count: number, part: Uint8Array): Buffer => Buffer.concat(Array<Uint8Array>(count).fill(part))

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

const wav = (...chunks: ReadonlyArray<Buffer>): Buffer => {
  const body = Buffer.concat([Buffer.from("WAVE"), ...chunks])
  return Buffer.concat([Buffer.from("RIFF"), uint32(body.length), body])
}

const chunk = (name: string, body: Buffer): Buffer => Buffer.concat([Buffer.from(name), uint32(body.length), body])

/** 16 bits, 8000 samples per second, in blocks of this many bytes. */
const pcm = (block = 2): Buffer =>
  chunk(
    "fmt ",
    Buffer.concat([Buffer.of(1, 0, 1, 0), uint32(8000), uint32(16_000), Buffer.of(block, block >> 8, 16, 0)])
  )

const samples = (seconds: number): Buffer => chunk("data", Buffer.alloc(seconds * 16_000, 3))

/** A frame of 0.024 seconds. */
const mp3Frame = Buffer.concat([Buffer.of(0xff, 0xfb, 0x54, 0xc4), Buffer.alloc(188)])

/** A frame of 0.064 seconds. */
const aacFrame = Buffer.of(0xff, 0xf1, 0x60, 0x40, 0x02, 0x1f, 0xfc, 1, 2, 3, 4, 5, 6, 7, 8, 9)

const crcOf = (page: Uint8Array): number => {
  let crc = 0
  for (const byte of page) {
    crc ^= byte << 24
    for (let bit = 0; bit < 8; bit += 1) crc = (crc << 1) ^ (crc < 0 ? 0x04c1_1db7 : 0)
  }
  return crc >>> 0
}

const page = (
  serial: number,
  index: number,
  flags: number,
  granule: number,
  packets: ReadonlyArray<Buffer>
): Buffer => {
  const head = Buffer.alloc(27)
  head.write("OggS")
  head[5] = flags
  head.writeBigInt64LE(BigInt(granule), 6)
  head.writeUInt32LE(serial, 14)
  head.writeUInt32LE(index, 18)
  head[26] = packets.length
  const bytes = Buffer.concat([head, Buffer.from(packets.map(({ length }) => length)), ...packets])
  bytes.writeUInt32LE(crcOf(bytes), 22)
  return bytes
}

/** Opus, whose pages say that all of it is over after a second. */
const ogg = (serial: number, seconds: number): Buffer => {
  const head = Buffer.concat([Buffer.from("OpusHead"), Buffer.of(1, 1, 0, 0, 0x80, 0xbb, 0, 0, 0, 0, 0)])
  const second = Array<Buffer>(50).fill(Buffer.of(0x78, 1, 2, 3))
  return Buffer.concat([
    page(serial, 0, 2, 0, [head]),
    page(serial, 1, 0, 0, [Buffer.concat([Buffer.from("OpusTags"), Buffer.alloc(8)])]),
    ...Array.from({ length: seconds }, (_, index) =>
      page(serial, index + 2, index === seconds - 1 ? 4 : 0, Math.min(48_000, (index + 1) * 960), second)
    )
  ])
}

/** Files of which some decoders read 600 seconds or more, and others a few. */
export const ambiguous: ReadonlyArray<{ readonly name: string; readonly bytes: Buffer }> = [
  { name: "two-data.wav", bytes: wav(pcm(), samples(1), samples(600)) },
  { name: "two-formats.wav", bytes: wav(pcm(200), pcm(), samples(600)) },
  { name: "block.wav", bytes: wav(pcm(1000), samples(600)) },
  { name: "mp3-in.wav", bytes: wav(pcm(), chunk("data", repeat(25_000, mp3Frame))) },
  { name: "junk.mp3", bytes: Buffer.concat([repeat(40, mp3Frame), Buffer.alloc(5000, 7), repeat(25_000, mp3Frame)]) },
  { name: "junk.aac", bytes: Buffer.concat([repeat(40, aacFrame), Buffer.alloc(5000, 7), repeat(9400, aacFrame)]) },
  { name: "chained.ogg", bytes: Buffer.concat([ogg(1, 1), ogg(2, 600)]) },
  { name: "late.ogg", bytes: ogg(1, 600) }
]
