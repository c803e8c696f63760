import type { Issue } from "@model-gateway/core/GatewayError"
import { expect, it } from "@effect/vitest"
import * as JsonScanner from "../../src/http/JsonScanner.ts"

interface Scanned {
  readonly issue: Issue | undefined
  readonly kept: string
}

/** Scans a text in pieces of this many bytes. */
const scan = (text: string, options: Partial<JsonScanner.Options> = {}, piece = 65_536): Scanned => {
  const bytes = Buffer.from(text)
  const kept: Array<Uint8Array> = []
  const scanner = JsonScanner.make({ keep: (part) => void kept.push(Buffer.from(part)), ...options })
  let issue: Issue | undefined
  for (let at = 0; at < bytes.length && issue === undefined; at += piece) {
    issue = scanner.push(bytes.subarray(at, at + piece))
  }
  return { issue, kept: Buffer.concat(kept).toString() }
}

const list = (items: number, item = "1"): string => `[${Array.from({ length: items }, () => item).join(",")}]`

it("lets pass what stays within the bounds, byte for byte", () => {
  const texts = [
    "",
    "{}",
    `{"documents":${list(10_000)}}`,
    `{"a":"[[[,,,{{{","b":"\\"[,","c":"\\\\"}`,
    `{"a":${"[".repeat(127)}${"]".repeat(127)}}`,
    `{"ü":"日本語 🎈","a":[{"b":[]},[]]}`
  ]
  for (const text of texts) {
    for (const piece of [1, 3, 65_536]) expect(scan(text, {}, piece)).toEqual({ issue: undefined, kept: text })
  }
})

it.each([
  ["items of a list", `{"documents":${list(10_001)}}`, "documents", "Expected at most 10000 items"],
  ["items of a nested list", `{"a":{"b":${list(10_001)}}}`, "a.b", "Expected at most 10000 items"],
  [
    "members of an object",
    `{"trace":{${Array.from({ length: 10_001 }, (_, n) => `"k${n}":1`).join(",")}}}`,
    "trace",
    "Expected at most 10000 members"
  ],
  ["levels of nesting", `{"a":${"[".repeat(128)}`, "a", "Expected at most 128 levels of nesting"],
  ["levels of nesting at the top", "[".repeat(200), "", "Expected at most 128 levels of nesting"],
  ["values in all", `{"a":${list(11, list(9999))}}`, "a", "Expected a body of at most 100000 values"]
])("refuses too many %s and names the field and the bound", (_, text, path, message) => {
  for (const piece of [7, 65_536]) expect(scan(text, {}, piece).issue).toEqual({ path, message })
})

it("limits each list by its own field", () => {
  const maxItems = (path: string) => (path === "input_references" ? 64 : path === "provider.order" ? 2 : undefined)
  expect(scan(`{"input_references":${list(64)}}`, { maxItems }).issue).toBeUndefined()
  expect(scan(`{"input_references":${list(65)}}`, { maxItems }).issue).toEqual({
    path: "input_references",
    message: "Expected at most 64 items"
  })
  expect(scan(`{"provider":{"order":${list(3)}}}`, { maxItems }).issue?.path).toBe("provider.order")
  expect(
    scan(`{"x":[{"input_references":${list(65)}}],"\\u0069nput_references":${list(65)}}`, { maxItems }).issue
  ).toEqual({ path: "input_references", message: "Expected at most 64 items" })
})

it.each([1, 2, 5, 65_536])("takes one string out, in pieces of %i bytes", (piece) => {
  const text =
    '{"data":"no","a":"input_audio","input_audio":{"format":"wav","d\\u0061ta":"QUJD\\/\\"x","x":{"data":"no"}},"z":[{"data":"no"}]}'
  let taken = ""
  const { issue, kept } = scan(
    text,
    {
      extract: {
        field: "input_audio",
        member: "data",
        begin: () => {
          taken = ""
        },
        take: (bytes) => {
          taken += Buffer.from(bytes).toString()
        }
      }
    },
    piece
  )
  expect(issue).toBeUndefined()
  expect(taken).toBe('QUJD\\/\\"x')
  expect(kept).toBe(text.replace('QUJD\\/\\"x', ""))
})

it("restarts when the string comes a second time, as a parser takes the last one", () => {
  const taken: Array<string> = []
  scan('{"input_audio":{"data":"first","data":"second"}}', {
    extract: {
      field: "input_audio",
      member: "data",
      begin: () => void (taken.length = 0),
      take: (bytes) => void taken.push(Buffer.from(bytes).toString())
    }
  })
  expect(taken).toEqual(["second"])
})
