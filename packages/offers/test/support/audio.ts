/** Audio made of bytes, for tests that need no encoder. */

const ascii = (text: string): Uint8Array => Uint8Array.from(text, (letter) => letter.charCodeAt(0))

export const join = (...parts: ReadonlyArray<Uint8Array | string>): Uint8Array =>
  new Uint8Array(Buffer.concat(parts.map((part) => (typeof part === "string" ? ascii(part) : part))))

export const repeat = (count: number, part: (index: number) => Uint8Array): Uint8Array =>
  join(...Array.from({ length: count }, (_, index) => part(index)))

const numbers = (size: 1 | 2 | 4 | 8, isLittle: boolean, values: ReadonlyArray<number>): Uint8Array => {
  const bytes = new Uint8Array(size * values.length)
  const view = new DataView(bytes.buffer)
  for (const [index, value] of values.entries()) {
    const at = index * size
    if (size === 1) view.setUint8(at, value)
    else if (size === 2) view.setUint16(at, value, isLittle)
    else if (size === 4) view.setUint32(at, value, isLittle)
    else view.setBigInt64(at, BigInt(value), isLittle)
  }
  return bytes
}

export const u8 = (...values: ReadonlyArray<number>) => numbers(1, true, values)
const u16 = (...values: ReadonlyArray<number>) => numbers(2, true, values)
const u32 = (...values: ReadonlyArray<number>) => numbers(4, true, values)
const b32 = (...values: ReadonlyArray<number>) => numbers(4, false, values)

// WAV

export const rate = 8000

/** Samples of 16 bits that are not silent. */
export const samples = (seconds: number): Uint8Array =>
  Uint8Array.from({ length: seconds * rate * 2 }, (_, at) => (at % 2 === 0 ? (at * 7) & 0xff : 3))

export const chunk = (name: string, body: Uint8Array, length: number = body.length): Uint8Array =>
  join(name, u32(length), body)

export const format = (fields: { readonly block?: number; readonly bits?: number; readonly tag?: number } = {}) => {
  const { bits = 16, block = 2, tag = 1 } = fields
  return chunk("fmt ", join(u16(tag, 1), u32(rate, rate * 2), u16(block, bits)))
}

export const riff = (...chunks: ReadonlyArray<Uint8Array>): Uint8Array => {
  const body = join("WAVE", ...chunks)
  return join("RIFF", u32(body.length), body)
}

// Frames of MPEG audio and AAC

/** A frame of MP3 with 0.024 seconds: 48 kHz, 64 kbit/s. */
export const mp3Frame = join(u8(0xff, 0xfb, 0x54, 0xc4), new Uint8Array(188))

/** A frame of MP3 with 0.024 seconds that is longer: 320 kbit/s. */
export const longMp3Frame = (contents: Uint8Array): Uint8Array =>
  join(u8(0xff, 0xfb, 0xe4, 0xc4), contents, new Uint8Array(956 - contents.length))

/** A frame of AAC with 0.064 seconds: 16 kHz, one channel. */
export const aacFrame = join(u8(0xff, 0xf1, 0x60, 0x40, 0x02, 0x1f, 0xfc), u8(1, 2, 3, 4, 5, 6, 7, 8, 9))

export const id3 = (body: Uint8Array): Uint8Array =>
  join("ID3", u8(3, 0, 0), u8(...[21, 14, 7, 0].map((shift) => (body.length >> shift) & 127)), body)

// FLAC

/** The header of a frame of 4096 samples at 44.1 kHz, of one channel with 16 bits. */
export const flacHeader = (index: number): Uint8Array => {
  const head = u8(0xff, 0xf8, 0xc9, 0x08, index)
  let crc = 0
  for (const byte of head) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ ((crc & 0x80) === 0 ? 0 : 0x07)) & 0xff
  }
  return join(head, u8(crc))
}

// Ogg

const crcOf = (page: Uint8Array): number => {
  let crc = 0
  for (const byte of page) {
    crc ^= byte << 24
    for (let bit = 0; bit < 8; bit += 1) crc = (crc << 1) ^ (crc < 0 ? 0x04c1_1db7 : 0)
  }
  return crc >>> 0
}

/** A page of whole packets of less than 255 bytes. */
const page = (serial: number, index: number, flags: number, granule: number, packets: ReadonlyArray<Uint8Array>) => {
  const head = join("OggS", u8(0, flags), numbers(8, true, [granule]), u32(serial, index, 0))
  const bytes = join(head, u8(packets.length, ...packets.map(({ length }) => length)), ...packets)
  new DataView(bytes.buffer).setUint32(22, crcOf(bytes), true)
  return bytes
}

/** A packet of Opus with 0.02 seconds. */
const opusPacket = u8(0x78, 1, 2, 3)

/** Opus in Ogg. Its pages say that they end at `granule`, in seconds. */
export const oggOpus = (seconds: number, { granule = seconds, serial = 1 } = {}): Uint8Array =>
  join(
    page(serial, 0, 2, 0, [join("OpusHead", u8(1, 1), u16(0), u32(48_000), u16(0), u8(0))]),
    page(serial, 1, 0, 0, [join("OpusTags", u32(0, 0))]),
    repeat(seconds, (second) =>
      page(
        serial,
        second + 2,
        second === seconds - 1 ? 4 : 0,
        Math.round((granule * 48_000 * (second + 1)) / seconds),
        Array<Uint8Array>(50).fill(opusPacket)
      )
    )
  )

/** A stream of Speex, of which only the start is real. */
export const oggSpeex = (): Uint8Array => page(9, 0, 2, 0, [join("Speex   1.2", new Uint8Array(60))])

// WebM

const sized = (id: ReadonlyArray<number>, body: Uint8Array): Uint8Array =>
  join(u8(...id), u8(0x08), b32(body.length), body)

const element = (id: ReadonlyArray<number>, ...body: ReadonlyArray<Uint8Array | string>): Uint8Array => {
  const contents = join(...body)
  return sized(id, contents)
}

const opusTrack = (number: number): Uint8Array =>
  element(
    [0xae],
    element([0xd7], u8(number)),
    element([0x73, 0xc5], u8(number)),
    element([0x83], u8(2)),
    element([0x86], "A_OPUS"),
    element([0x63, 0xa2], "OpusHead", u8(1, 1), u16(0), u32(48_000), u16(0), u8(0)),
    element([0xe1], element([0xb5], numbers(4, false, [0x473b_8000])), element([0x9f], u8(1)))
  )

/** Blocks of one packet of 0.02 seconds each. */
const cluster = (second: number, track: number, isTimed: boolean): Uint8Array =>
  element(
    [0x1f, 0x43, 0xb6, 0x75],
    element([0xe7], b32(isTimed ? second * 1000 : 0)),
    repeat(50, (index) =>
      element([0xa3], u8(0x80 | track), numbers(2, false, [isTimed ? index * 20 : 0]), u8(0x80), opusPacket)
    )
  )

const ebml = element(
  [0x1a, 0x45, 0xdf, 0xa3],
  element([0x42, 0x86], u8(1)),
  element([0x42, 0xf7], u8(1)),
  element([0x42, 0xf2], u8(4)),
  element([0x42, 0xf3], u8(8)),
  element([0x42, 0x82], "webm"),
  element([0x42, 0x87], u8(4)),
  element([0x42, 0x85], u8(2))
)

const info = element([0x15, 0x49, 0xa9, 0x66], element([0x2a, 0xd7, 0xb1], b32(1_000_000)))

/** Opus in WebM: the seconds of each track. */
export const webmOpus = (seconds: ReadonlyArray<number>, { hidden = 0, isTimed = true } = {}): Uint8Array =>
  join(
    ebml,
    element(
      [0x18, 0x53, 0x80, 0x67],
      info,
      element([0x16, 0x54, 0xae, 0x6b], ...seconds.map((_, index) => opusTrack(index + 1))),
      ...seconds.map((count, index) => repeat(count, (second) => cluster(second, index + 1, isTimed))),
      hidden === 0
        ? ""
        : element(
            [0xec],
            repeat(hidden, (second) => cluster(second, 1, isTimed))
          )
    )
  )

// MP4

const box = (type: string, ...body: ReadonlyArray<Uint8Array | string>): Uint8Array => {
  const contents = join(...body)
  return join(b32(contents.length + 8), type, contents)
}

export interface Mp4 {
  /** The number of samples of 0.064 seconds: AAC of 16 kHz. */
  readonly samples: number
  /** What the table of times says, in units of 1/16000 seconds. */
  readonly delta?: number
  readonly sampleBytes?: number
  /** Edits: duration in milliseconds, and start. */
  readonly edits?: ReadonlyArray<readonly [number, number]>
  readonly isTwice?: boolean
}

/** AAC in MP4. */
export const mp4 = ({ delta = 1024, edits = [], isTwice = false, sampleBytes = 16, samples }: Mp4): Uint8Array => {
  const config = u8(0x14, 0x08)
  const decoder = join(u8(4, 17, 0x40, 0x15, 0, 0, 0), b32(0, 0), u8(5, 2), config)
  const esds = box("esds", b32(0), u8(3, 3 + decoder.length), u8(0, 1, 0), decoder)
  const entry = box(
    "mp4a",
    new Uint8Array(6),
    numbers(2, false, [1]),
    b32(0, 0),
    numbers(2, false, [1, 16, 0, 0]),
    b32(16_000 * 65_536),
    esds
  )
  const length = samples * delta
  const movie = (offset: number) => {
    const track = box(
      "trak",
      box("tkhd", b32(7, 0, 0, 1, 0, length), new Uint8Array(60)),
      edits.length === 0
        ? ""
        : box(
            "edts",
            box("elst", b32(0, edits.length), ...edits.map(([duration, start]) => b32(duration, start, 0x1_0000)))
          ),
      box(
        "mdia",
        box("mdhd", b32(0, 0, 0, 16_000, length, 0)),
        box("hdlr", b32(0, 0), "soun", new Uint8Array(13)),
        box(
          "minf",
          box("smhd", b32(0, 0)),
          box("dinf", box("dref", b32(0, 1), box("url ", b32(1)))),
          box(
            "stbl",
            box("stsd", b32(0, 1), entry),
            box("stts", b32(0, 1, samples, delta)),
            box("stsc", b32(0, 1, 1, samples, 1)),
            box("stsz", b32(0, sampleBytes, samples)),
            box("stco", b32(0, 1, offset))
          )
        )
      )
    )
    return box("moov", box("mvhd", b32(0, 0, 0, 1000, Math.round(length / 16)), new Uint8Array(80)), track)
  }
  const type = box("ftyp", "M4A ", b32(0), "M4A isom")
  const head = movie(0)
  const offset = type.length + head.length * (isTwice ? 2 : 1) + 8
  return join(type, movie(offset), isTwice ? movie(offset) : "", box("mdat", new Uint8Array(samples * sampleBytes)))
}
