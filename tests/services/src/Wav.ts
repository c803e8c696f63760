/** WAV audio. */

/** The samples as they are in the file. Default: 8000 a second, of 16 bits. */
export interface Samples {
  readonly rate?: number
  readonly bits?: 8 | 16
  /** The size of the samples in bytes. */
  readonly size: number
}

/** What comes before the samples of a file with one channel: 44 bytes. */
export const wavHeader = ({ bits = 16, rate = 8000, size }: Samples): Buffer<ArrayBuffer> => {
  const header = Buffer.alloc(44)
  header.write("RIFF", 0)
  header.writeUInt32LE(36 + size, 4)
  header.write("WAVEfmt ", 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(rate, 24)
  header.writeUInt32LE((rate * bits) / 8, 28)
  header.writeUInt16LE(bits / 8, 32)
  header.writeUInt16LE(bits, 34)
  header.write("data", 36)
  header.writeUInt32LE(size, 40)
  return header
}

/** A file of silence. */
export const silence = (samples: Samples): Buffer<ArrayBuffer> =>
  Buffer.concat([wavHeader(samples), Buffer.alloc(samples.size, samples.bits === 8 ? 128 : 0)])
