/**
 * How long a decoder can read in a WAV file.
 *
 * Decoders differ in what they do with two `fmt ` or two `data` chunks, so such a file is refused.
 */
import { Ambiguous, type AudioBytes, textAt, viewOf } from "./audioBytes.ts"
import * as AudioDisguise from "./audioDisguise.ts"

const pcm = 1
const float = 3
const extensible = 0xfffe

/** A-law and µ-law have a byte for each sample. */
const companded = [6, 7]

/** Real files have a dozen. */
const maxChunks = 10_000

interface Chunk {
  readonly id: string
  readonly at: number
  readonly length: number
}

const isLittleEndian = ({ read }: AudioBytes): boolean => textAt(read(0, 4), 0, 4) !== "RIFX"

/**
 * The chunks up to the first `data`, then those behind it. Some programs leave out the byte that
 * pads a chunk of an odd length, so both positions behind one are read.
 */
const chunksOf = (bytes: AudioBytes): ReadonlyArray<Chunk> => {
  const isLittle = isLittleEndian(bytes)
  const chunks: Array<Chunk> = []
  const starts = [12]
  const seen = new Set<number>()
  // 64 bits of the length of `data`, in a file of format RF64 or BW64.
  let large: number | undefined
  for (let at = starts.pop(); at !== undefined; at = starts.pop()) {
    const head = bytes.read(at, 24)
    if (head.length < 8 || seen.has(at)) continue
    seen.add(at)
    if (seen.size > maxChunks) throw new Ambiguous("the wav file has too many chunks")
    const view = viewOf(head)
    const id = textAt(head, 0, 4)
    const stated = view.getUint32(4, isLittle)
    if (id === "ds64" && head.length === 24) large = Number(view.getBigUint64(16, isLittle))
    const rest = bytes.size - at - 8
    // Programs that write to a pipe do not know the length: 0 or the largest number.
    const isUnknown = id === "data" && (stated === 0 || stated === 0xffff_ffff)
    const length = Math.min(rest, isUnknown ? (stated === 0 ? rest : large || rest) : stated)
    chunks.push({ id, at: at + 8, length })
    const next = at + 8 + length
    if (length % 2 === 1) starts.push(next + 1)
    starts.push(next)
  }
  return chunks
}

/**
 * Bytes of a second of audio, and whether it has samples in which decoders look for other audio.
 */
const readFormat = (
  bytes: AudioBytes,
  format: Chunk
): { readonly bytesPerSecond: number; readonly isPcm16: boolean } => {
  const isLittle = isLittleEndian(bytes)
  const fields = bytes.read(format.at, Math.min(format.length, 40))
  if (fields.length < 16) throw new Ambiguous("the wav file has an incomplete `fmt ` chunk")
  const view = viewOf(fields)
  const uint16 = (at: number) => view.getUint16(at, isLittle)
  const rate = view.getUint32(4, isLittle)
  const tag = uint16(0) === extensible && fields.length >= 26 ? uint16(24) : uint16(0)
  const channels = uint16(2)
  const block = uint16(12)
  const bits = uint16(14)
  const sample = tag === pcm || tag === float ? Math.ceil(bits / 8) : companded.includes(tag) ? 1 : undefined
  if (sample === undefined) {
    throw new Ambiguous(`the wav file has the format ${tag}; send PCM, A-law or µ-law`)
  }
  if (block !== channels * sample || block === 0 || rate === 0) {
    throw new Ambiguous(
      `the wav file has blocks of ${block} bytes, which do not fit ${channels} channels of ${bits} bits at ${rate} Hz`
    )
  }
  return { bytesPerSecond: block * rate, isPcm16: tag === pcm && sample === 2 }
}

/** The longest audio in seconds that a decoder can read. Throws {@link Ambiguous}. */
export const seconds = (bytes: AudioBytes): number => {
  const chunks = chunksOf(bytes)
  const formats = chunks.filter(({ id }) => id === "fmt ")
  const data = chunks.filter(({ id }) => id === "data")
  const [format] = formats
  const [audio] = data
  if (format === undefined || audio === undefined) return 0
  for (const [name, { length }] of [
    ["fmt ", formats],
    ["data", data]
  ] as const) {
    if (length > 1) throw new Ambiguous(`the wav file has ${length} \`${name}\` chunks; only one is supported`)
  }
  if (format.at > audio.at) throw new Ambiguous("the wav file has its `fmt ` chunk behind its `data`")
  const { bytesPerSecond, isPcm16 } = readFormat(bytes, format)
  const length = audio.length / bytesPerSecond
  if (isPcm16 && AudioDisguise.isCompressed(bytes, audio.at, audio.at + audio.length, length)) {
    throw new Ambiguous("the wav file has compressed audio in its samples")
  }
  return length
}
