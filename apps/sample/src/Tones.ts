/** Generates a recording to transcribe: a telephone number dialed on a keypad (DTMF), as WAV. */
import * as Wav from "./Wav.ts"

/** The frequencies of the keypad's rows and columns, in hertz. */
const rows = [697, 770, 852, 941]
const columns = [1209, 1336, 1477]
const keys = "123456789*0#"

/** The sample rate in hertz. */
const rate = 8000
/** How long a key is pressed, and the pause after it, in seconds. */
const press = 0.12
const pause = 0.08

/**
 * Returns WAV audio (8 kHz, 16 bit, mono) of the keys, pressed one after another. Any other
 * character is half a second of silence.
 */
export const dial = (number: string): Uint8Array<ArrayBuffer> => {
  const samples = Array.from(number).flatMap((character) => {
    const key = keys.indexOf(character)
    return key === -1 ? silence(0.5) : [...tone(key), ...silence(pause)]
  })
  return Wav.encode(samples, rate)
}

const silence = (seconds: number): Array<number> => Array.from({ length: seconds * rate }, () => 0)

const tone = (key: number): Array<number> => {
  const row = rows[Math.floor(key / 3)] ?? 0
  const column = columns[key % 3] ?? 0
  const wave = (hertz: number, i: number) => Math.sin((2 * Math.PI * hertz * i) / rate)
  return Array.from({ length: press * rate }, (_, i) => 0.3 * (wave(row, i) + wave(column, i)))
}
