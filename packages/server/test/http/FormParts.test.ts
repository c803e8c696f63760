import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { layer, TestGateway } from "../TestGateway.ts"
import { envelopeOf, inSet, operation } from "../TestEnvelope.ts"

const operations = ["uploadFile", "transcribe"] as const

const send = (name: string, body: string | Uint8Array, boundary = "B") =>
  Effect.flatMap(TestGateway, ({ ask }) =>
    ask(operation(name).path, {
      method: "POST",
      headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
      body
    })
  )

const field = (name: string, value: string) =>
  `--B\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`

const end = "--B--\r\n"

/** The same numbers each time, from 0 up to 1. */
const numbers = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const pieces = [
  "--B\r\n",
  "--B\r\n",
  "--B",
  "--B--\r\n",
  "\r\n",
  "\r\n",
  "\n",
  'Content-Disposition: form-data; name="model"\r\n',
  'Content-Disposition: form-data; name="file"; filename="a.wav"\r\n',
  'Content-Disposition: form-data; name="file"; filename=""\r\n',
  'Content-Disposition: form-data; name="purpose\r\n',
  "Content-Disposition: form-data\r\n",
  "Content-Disposition: form-data; name=file; filename*=utf-8''%00\r\n",
  "Content-Type: application/octet-stream\r\n",
  ": x\r\n",
  "value",
  ""
]

it.layer(layer(), { excludeTestServices: true })("a form", (it) => {
  it.effect.each(operations)("that is malformed is a 400 with the reason (%s)", (name) =>
    Effect.gen(function* () {
      for (const [body, reason] of [
        [`--B\r\nContent-Disposition: form-data; name="model"\r\n\r\n${end}`, "do not end with an empty line"],
        [`--B--\r\n\r\n${end}`, "do not end with an empty line"],
        [`--B\r\nContent-Disposition: form-data; name="model\r\n\r\n${end}`, "do not end with an empty line"],
        [`--B\r\nno colon\r\n\r\nx\r\n${end}`, "malformed headers"],
        [`--B\r\nX: ${"x".repeat(17_000)}\r\n\r\nx\r\n${end}`, "malformed headers"],
        [`--B\r\nContent-Disposition: form-data\r\n\r\nx\r\n${end}`, "no Content-Disposition header with a name"],
        [field("model", "x"), "ends before its closing boundary"],
        ["nothing", "ends before its closing boundary"],
        ["", "ends before its closing boundary"]
      ] as const) {
        const answer = yield* send(name, body)
        expect([body, answer.status]).toEqual([body, 400])
        const { message, metadata } = envelopeOf(answer).error
        expect(message).toContain("invalid request parameters: the multipart body cannot be read: ")
        expect(message).toContain(reason)
        expect(metadata?.["issues"]).toHaveLength(1)
      }
    })
  )

  it.effect.each(operations)("of any bytes is answered within the status set, and no 500 (%s)", (name) =>
    Effect.gen(function* () {
      const below = numbers(7)
      for (let i = 0; i < 300; i++) {
        const body = Array.from({ length: 2 + below(10) }, () => pieces[below(pieces.length)]).join("")
        const answer = yield* send(name, body)
        inSet(name, answer)
        expect([body, answer.status]).not.toEqual([body, 500])
      }
    })
  )

  it.effect.each(operations)("has at most 64 parts (%s)", (name) =>
    Effect.gen(function* () {
      const answer = yield* send(name, field("x", "").repeat(65) + end)
      expect([answer.status, envelopeOf(answer).error.message]).toEqual([
        400,
        "invalid request parameters: the form has more than 64 parts"
      ])
      const fewer = yield* send(name, field("x", "").repeat(64) + end)
      expect(envelopeOf(fewer).error.message).toContain("file: ")
    })
  )

  it.effect.each(operations)("has fields of at most 64 KiB, and of 1 MiB with JSON (%s)", (name) =>
    Effect.gen(function* () {
      for (const [key, bytes] of [
        ["model", 65_536],
        ["trace", 1_048_576]
      ] as const) {
        const larger = yield* send(name, field(key, "x".repeat(bytes + 1)) + end)
        expect([key, larger.status]).toEqual([key, 413])
        expect(envelopeOf(larger).error.message).toContain('at most 64 KiB, "provider" and "trace" 1 MiB each')
        const fitting = yield* send(name, field(key, "x".repeat(bytes)) + end)
        expect([key, fitting.status]).toEqual([key, 400])
      }
    })
  )

  it.effect("a form with a large file without a name does not hang", () =>
    Effect.gen(function* () {
      const nameless = `--B\r\nContent-Disposition: form-data; name="file"; filename=""\r\n\r\n${"a".repeat(1_000_000)}\r\n`
      const answer = yield* send("transcribe", nameless + field("model", "x") + end)
      expect([answer.status, envelopeOf(answer).error.message]).toEqual([
        400,
        "invalid request parameters: file: Required"
      ])
    })
  )
})
