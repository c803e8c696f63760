import { expect, it } from "@effect/vitest"
import { randomBytes } from "node:crypto"
import * as Base64Stream from "../../src/http/Base64Stream.ts"

/** Decodes a text in pieces of this many bytes; undefined where it is not base64. */
const decode = (text: string, piece: number): Buffer | undefined => {
  const stream = Base64Stream.make()
  const bytes = Buffer.from(text)
  const parts: Array<Uint8Array> = []
  for (let at = 0; at < bytes.length; at += piece) parts.push(stream.push(bytes.subarray(at, at + piece)))
  const rest = stream.end()
  return rest === undefined ? undefined : Buffer.concat([...parts, rest])
}

const pieces = [1, 2, 3, 5, 7, 1000]

it("decodes any bytes, in pieces of any length", () => {
  for (const length of [0, 1, 2, 3, 4, 100, 1001]) {
    const bytes = randomBytes(length)
    for (const piece of pieces) expect(decode(bytes.toString("base64"), piece)).toEqual(bytes)
  }
})

it("reads the escapes of JSON, as some languages write every slash", () => {
  const bytes = Buffer.from([255, 255, 255, 254, 255, 239])
  const text = bytes.toString("base64")
  expect(text).toContain("/")
  for (const piece of pieces) {
    expect(decode(text.replaceAll("/", "\\/"), piece)).toEqual(bytes)
    expect(decode(text.replaceAll("/", "\\u002f"), piece)).toEqual(bytes)
  }
})

it.each([
  "QUJ",
  "QUJD=",
  "Q===",
  "=QUJ",
  "QU=D",
  "QUJD QUJD",
  "QUJ_",
  "QUJD\\n",
  "QUJD\\",
  "\\u00",
  "日本",
  "QQ==QUJD"
])("refuses %j", (text) => {
  for (const piece of pieces) expect(decode(text, piece)).toBeUndefined()
})
