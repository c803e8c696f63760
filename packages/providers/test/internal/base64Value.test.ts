import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Base64Value from "../../src/internal/base64Value.ts"

/** The text in chunks of this many bytes. */
const inChunks = (text: string, size: number): Stream.Stream<Uint8Array> => {
  const bytes = new TextEncoder().encode(text)
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size)
  )
  return Stream.fromIterable(chunks)
}

const read = (text: string, size: number, index: number) =>
  Effect.map(Stream.runCollect(Base64Value.file(inChunks(text, size), "bytes", index)), (parts) =>
    Buffer.concat([...parts]).toString("utf8")
  )

describe("a file in base64 in an answer", () => {
  const first = Buffer.from("one ?? two >> three").toString("base64").replaceAll("/", "\\/")
  const second = Buffer.from("b").toString("base64").replaceAll("=", "\\u003d").replaceAll("+", "\\u002b")
  const text = `{"name": "a \\" \\\\", "bytes" : [1], "bytes":"${first}","x":{"bytes"  :  "${second}", "bytes": null}, "y":"bytes"}`

  it.effect("is read whatever its chunks are", () =>
    Effect.gen(function* () {
      for (let size = 1; size <= text.length; size++) {
        assert.deepStrictEqual(
          [yield* read(text, size, 0), yield* read(text, size, 1)],
          ["one ?? two >> three", "b"],
          `in chunks of ${size}`
        )
      }
    })
  )

  it.effect("is an error if it is missing, cut off or something else", () =>
    Effect.gen(function* () {
      const broken = [text, text.slice(0, text.indexOf(second) + 2), '{"bytes":"AAAA"', '{"bytes":"A*AA"}']
      const indexes = [2, 1, 1, 0]
      for (const [at, each] of broken.entries()) {
        const { reason } = yield* Effect.flip(read(each, 7, indexes[at] ?? 0))
        assert.strictEqual(reason._tag, "BadResponse")
      }
    })
  )

  it.effect("is found where it begins, and the rest is not read", () =>
    Effect.gen(function* () {
      const head = inChunks('{"done":true,"response":{"videos":[{"bytes":"AAAA', 1000)
      const answer = Stream.concat(head, Stream.die("read too far"))
      assert.isTrue((yield* Base64Value.probe(answer, "bytes")).hasFile)
    })
  )

  it.effect("is left out of the text of an answer without one", () =>
    Effect.gen(function* () {
      const answer = '{"done":true,"error":{"message":"no \\"bytes\\": here"}}'
      for (const size of [1, 5, 1000]) {
        assert.deepStrictEqual(yield* Base64Value.probe(inChunks(answer, size), "bytes"), {
          hasFile: false,
          text: answer
        })
      }
    })
  )
})
