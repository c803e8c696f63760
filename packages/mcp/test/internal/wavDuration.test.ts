import { expect, it } from "vitest"
import { silence } from "@model-gateway/test-services/Wav"
import { wavDuration } from "../../src/internal/wavDuration.ts"

const wav = new Uint8Array(silence({ size: 32_000 }))

/** The same file with another number of four bytes in its header. */
const changed = (at: number, value: number): Uint8Array => {
  const copy = wav.slice()
  new DataView(copy.buffer).setUint32(at, value, true)
  return copy
}

const durationOf = (bytes: Uint8Array) => wavDuration(bytes.subarray(0, 3072), bytes.byteLength)

it("is what the header says", () => {
  expect(durationOf(wav)).toBe(2)
})

it.each([
  ["a byte rate that is not that of its samples", 28, 0xffff_ffff],
  ["no samples, which a recorder writes that does not know them", 40, 0]
])("is unknown for %s", (_, at, value) => {
  expect(durationOf(changed(at, value))).toBeUndefined()
})
