/** WAV audio of keypad tones, made here so that what should be heard is known. */

const tones: Readonly<Record<string, readonly [low: number, high: number]>> = {
  "1": [697, 1209],
  "2": [697, 1336],
  "3": [697, 1477],
  "5": [770, 1336],
  "9": [852, 1477]
}

const rate = 8000

/** The keys, each 0.1 s long and followed by 0.1 s of silence, as 16-bit mono WAV. */
export const keypad = (keys: string): Buffer => {
  const perKey = rate / 5
  const data = Buffer.alloc(keys.length * perKey * 2)
  for (const [place, key] of keys.split("").entries()) {
    const [low, high] = tones[key] ?? [0, 0]
    for (let i = 0; i < perKey / 2; i++) {
      const sample = Math.sin((2 * Math.PI * low * i) / rate) + Math.sin((2 * Math.PI * high * i) / rate)
      data.writeInt16LE(Math.round(sample * 12_000), (place * perKey + i) * 2)
    }
  }
  const header = Buffer.alloc(44)
  header.write("RIFF", 0)
  header.writeUInt32LE(36 + data.length, 4)
  header.write("WAVEfmt ", 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(rate, 24)
  header.writeUInt32LE(rate * 2, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write("data", 36)
  header.writeUInt32LE(data.length, 40)
  return Buffer.concat([header, data])
}
