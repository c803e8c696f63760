/** WAV audio of keypad tones, made here so that what should be heard is known. */
import { wavHeader } from "@model-gateway/test-services/Wav"

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
  return Buffer.concat([wavHeader({ rate, size: data.length }), data])
}
