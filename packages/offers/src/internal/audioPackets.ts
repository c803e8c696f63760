/** How long the packets of Opus and Vorbis last, by what a decoder reads of them. */
import { textAt, viewOf } from "./audioBytes.ts"

/** Reads the packets of one stream, in their order. */
export interface PacketReader {
  /** The seconds of a packet, of which the first bytes are enough. */
  readonly next: (packet: Uint8Array) => number
}

/** The longest packet of Opus in seconds. */
const maxOpus = 0.12

const opusSeconds = (packet: Uint8Array): number => {
  const [first, second = 0] = packet
  if (first === undefined) return 0
  const config = first >> 3
  const frame =
    config >= 16
      ? 0.0025 * 2 ** (config & 3)
      : config >= 12
        ? 0.01 * 2 ** (config & 1)
        : ([0.01, 0.02, 0.04, 0.06][config & 3] ?? 0)
  const code = first & 3
  return Math.min(maxOpus, frame * (code === 0 ? 1 : code === 3 ? second & 63 : 2))
}

/** The packets of an Opus stream. */
export const opus: PacketReader = { next: opusSeconds }

/**
 * Which modes of a Vorbis stream have long blocks. The setup header ends with its modes, and only
 * its end can be read without decoding all of it, so its bits are read backward.
 */
const longModes = (setup: Uint8Array): ReadonlyArray<boolean> | undefined => {
  const total = setup.length * 8
  const bit = (at: number): number => ((setup[setup.length - 1 - (at >> 3)] ?? 0) >> (7 - (at & 7))) & 1
  const bits = (at: number, count: number): number => {
    let value = 0
    for (let index = 0; index < count; index += 1) value = value * 2 + bit(at + index)
    return value
  }
  let framing = 0
  while (framing < total && bit(framing) === 0) framing += 1
  const first = framing + 1
  let count = 0
  // A mode has 8 bits of its mapping (of at most 64), 16 + 16 bits that are 0, and its block.
  for (let modes = 1, at = first; modes <= 64 && at + 97 <= total; modes += 1, at += 41) {
    if (bits(at, 8) > 63 || bits(at + 8, 32) !== 0) break
    if (bits(at + 41, 6) + 1 === modes) count = modes
  }
  return count === 0
    ? undefined
    : Array.from({ length: count }, (_, mode) => bit(first + (count - 1 - mode) * 41 + 40) === 1)
}

/** The packets of a Vorbis stream with these headers. Undefined if they are not valid. */
export const vorbis = (identification: Uint8Array, setup: Uint8Array): PacketReader | undefined => {
  const modes = longModes(setup)
  if (identification.length < 30 || modes === undefined) return undefined
  const rate = viewOf(identification).getUint32(12, true)
  const sizes = identification[28] ?? 0
  const short = 2 ** (sizes & 15)
  const long = 2 ** (sizes >> 4)
  if (rate === 0 || long < short) return undefined
  const mask = modes.length === 1 ? 0 : 2 ** Math.ceil(Math.log2(modes.length)) - 1
  let previous = 0
  return {
    next: (packet) => {
      const [first = 1] = packet
      if ((first & 1) === 1) return 0
      const size = (modes[(first >> 1) & mask] ?? true) ? long : short
      // The first packet yields nothing, unless another stream came before it.
      const samples = ((previous || size) + size) / 4
      previous = size
      return samples / rate
    }
  }
}

/** Whether a packet is a header of Vorbis, and which one: 1, 3 or 5. */
export const vorbisHeader = (packet: Uint8Array): number =>
  textAt(packet, 1, 6) === "vorbis" && ((packet[0] ?? 0) & 1) === 1 ? (packet[0] ?? 0) : 0
