import { describe, expect, it } from "@effect/vitest"
import * as ByteRange from "../../src/http/ByteRange.ts"

const etag = '"abc"'
const parse = (range: string | undefined, ifRange?: string, size = 100) =>
  ByteRange.parse({ range, ifRange }, size, etag)

describe("ByteRange", () => {
  it.each([
    ["bytes=0-9", { start: 0, length: 10 }],
    ["bytes=90-", { start: 90, length: 10 }],
    ["bytes=-10", { start: 90, length: 10 }],
    ["bytes=-1000", { start: 0, length: 100 }],
    ["bytes=50-1000", { start: 50, length: 50 }],
    ["bytes=99-99", { start: 99, length: 1 }],
    ["BYTES=0-0", { start: 0, length: 1 }]
  ])("serves %s", (range, window) => {
    expect(parse(range)).toEqual(window)
  })

  it.each([
    undefined,
    "",
    "bytes=",
    "bytes=-",
    "bytes=-0",
    "bytes=100-",
    "bytes=9-3",
    "bytes=0-1,5-6",
    "items=0-9",
    "bytes=a-b",
    "bytes=99999999999999999999999-"
  ])("answers %s with the whole", (range) => {
    expect(parse(range)).toBeUndefined()
  })

  it("serves nothing of an empty object", () => {
    expect(parse("bytes=0-", undefined, 0)).toBeUndefined()
    expect(parse("bytes=-5", undefined, 0)).toBeUndefined()
  })

  it("serves a range of the object that was seen before, and else the whole", () => {
    expect(parse("bytes=0-9", etag)).toEqual({ start: 0, length: 10 })
    expect(parse("bytes=0-9", '"other"')).toBeUndefined()
    expect(parse("bytes=0-9", 'W/"abc"')).toBeUndefined()
    expect(parse("bytes=0-9", "Fri, 20 Nov 2026 22:30:00 GMT")).toBeUndefined()
  })
})
