import { describe, expect, it } from "@effect/vitest"
import * as ContentCoding from "../../src/http/ContentCoding.ts"

const chosen = (header: string | undefined): string => ContentCoding.negotiate(header, ContentCoding.codings) ?? "plain"

describe("the coding of an answer", () => {
  it.each([
    ["gzip", "gzip"],
    ["x-gzip", "gzip"],
    ["br", "br"],
    ["gzip, deflate, br, zstd", "br"],
    ["GZIP", "gzip"],
    ["gzip;q=1.0, br;q=0.9", "gzip"],
    ["gzip;q=0.8, br;q=0.9", "br"],
    ["gzip ; q=0.001", "gzip"],
    ["br;q=0, gzip", "gzip"],
    ["br;q=0, *", "gzip"],
    ["*", "br"],
    ["*;q=0.1, gzip;q=0.2", "gzip"],
    ["gzip;q=0.5, identity;q=0.5", "gzip"],
    ["gzip,,", "gzip"]
  ])("of %j is %s", (header, coding) => expect(chosen(header)).toBe(coding))

  it.each([
    undefined,
    "",
    ",",
    "identity",
    "deflate, zstd",
    "gzip;q=0",
    "*;q=0",
    "gzip;q=0.000, br;q=0.0",
    "gzip;q=0.5, identity",
    "gzip;q=0.5, identity;q=0.7",
    "identity;q=0",
    "gzip;q=2",
    "gzip;q=-1",
    "gzip;q=0.1234",
    "gzip;level=9",
    "gzip;q=",
    "br gzip"
  ])("of %j is none", (header) => expect(chosen(header)).toBe("plain"))

  it("is one of those that there are", () => {
    expect(ContentCoding.negotiate("br, gzip;q=0.1", ["gzip"])).toBe("gzip")
    expect(ContentCoding.negotiate("br", ["gzip"])).toBe(undefined)
    expect(ContentCoding.negotiate("br, gzip", [])).toBe(undefined)
  })
})
