import { assert, describe, it } from "@effect/vitest"
import { type Duration, Effect, Redacted, Stream } from "effect"
import * as AnthropicFiles from "../src/AnthropicFiles.ts"
import * as OpenAiFiles from "../src/OpenAiFiles.ts"
import type { ProviderError } from "@model-gateway/offers/ProviderError"
import type { Scripted } from "@model-gateway/test-doubles/Double"
import { startAnthropicFilesDouble, startOpenAiFilesDouble } from "@model-gateway/test-doubles/FilesDouble"
import { services, started } from "./support/transcription.ts"

const key = "sk-secret-0123456789"

const credential = (secret = key) => ({ id: "byok_1", secret: Redacted.make(secret) })

const hello = Stream.make("hello, ", "world").pipe(Stream.encodeText)

const upload = (filename: string) => ({
  filename,
  contentType: "text/plain",
  content: hello,
  purpose: Effect.succeed(undefined)
})

const providers = [
  {
    name: "OpenAI",
    start: startOpenAiFilesDouble,
    make: (url: string, timeLimit?: Duration.Input) => OpenAiFiles.make({ baseUrl: `${url}/v1`, timeLimit }),
    sent: { authorization: `Bearer ${key}` }
  },
  {
    name: "Anthropic",
    start: startAnthropicFilesDouble,
    make: (url: string, timeLimit?: Duration.Input) => AnthropicFiles.make({ baseUrl: url, timeLimit }),
    sent: { "x-api-key": key, "anthropic-version": "2023-06-01" }
  }
] as const

const failures: ReadonlyArray<readonly [answer: Scripted, reason: string]> = [
  [{ status: 400, body: { error: { message: "no" } } }, "InvalidRequest"],
  [{ status: 403, body: {} }, "Unauthorized"],
  [{ status: 429, headers: { "retry-after": "7" }, body: {} }, "RateLimited"],
  [{ status: 500, body: {} }, "BadResponse"],
  [{ status: 529, body: {} }, "Overloaded"],
  [{ fault: "cutBody" }, "ConnectionLost"],
  [{ headers: { "content-type": "text/html" }, body: "<html>" }, "BadResponse"],
  [{ body: { deleted: true } }, "BadResponse"]
]

for (const { make, name, sent, start } of providers) {
  describe(`files at ${name}`, () => {
    it.live("are deleted once, with the caller's key, and unknown fields are ignored", () =>
      Effect.gen(function* () {
        const double = yield* started(() => start({ keys: [key] }))
        const files = yield* make(double.url)
        double.next({ body: { id: "f_1", deleted: true, shard: 7 } })
        yield* files.remove("f_1", credential())
        const [request] = double.state.requests
        assert.deepStrictEqual([request?.method, request?.url], ["DELETE", "/v1/files/f_1"])
        for (const [header, value] of Object.entries(sent)) assert.strictEqual(request?.headers[header], value)
        const gone = yield* Effect.flip(files.remove("f_1", credential()))
        assert.strictEqual(gone.status, 404)
      }).pipe(Effect.provide(services))
    )

    it.live("are stored, listed by page and read, in the provider's own words", () =>
      Effect.gen(function* () {
        const double = yield* started(() => start({ keys: [key] }))
        const files = yield* make(double.url)
        const ids: Array<string> = []
        for (const name of ['made-a "1".txt', "made-ü.txt", "made-c.txt"]) {
          const stored = yield* files.upload(upload(name), credential())
          assert.include(stored, { filename: name.replaceAll('"', "%22") })
          assert.deepStrictEqual(yield* files.get(stored.id, credential()), stored)
          ids.unshift(stored.id)
        }
        const first = yield* files.list({ limit: 2 }, credential())
        assert.deepStrictEqual(
          [first.data.map(({ id }) => id), first.has_more, first.last_id],
          [ids.slice(0, 2), true, ids[1] ?? ""]
        )
        const second = yield* files.list({ limit: 2, after: ids[1] }, credential())
        assert.deepStrictEqual([second.data.map(({ id }) => id), second.has_more], [ids.slice(2), false])
        const { headers, stream } = yield* files.content(ids[0] ?? "", credential())
        assert.strictEqual(headers["content-type"], "text/plain")
        assert.strictEqual(yield* Stream.mkString(Stream.decodeText(stream)), "hello, world")
      }).pipe(Effect.provide(services))
    )

    it.live("are not stored if they do not arrive whole", () =>
      Effect.gen(function* () {
        const double = yield* started(() => start({ keys: [key] }))
        const files = yield* make(double.url)
        const broken = { ...upload("a.txt"), content: Stream.concat(hello, Stream.fail("gone")) }
        yield* Effect.flip(files.upload(broken, credential()))
        yield* Effect.flip(files.upload({ ...upload("a.txt"), purpose: Effect.fail("wrong") }, credential()))
        assert.deepStrictEqual((yield* files.list({ limit: 2 }, credential())).data, [])
      }).pipe(Effect.provide(services))
    )

    it.live("fail within the time limit if the provider is silent", () =>
      Effect.gen(function* () {
        const double = yield* started(() => start({ keys: [key] }))
        const files = yield* make(double.url, "50 millis")
        double.always({ fault: "hang" })
        const asks: ReadonlyArray<Effect.Effect<unknown, ProviderError>> = [
          files.upload(upload("a.txt"), credential()),
          files.list({ limit: 1 }, credential()),
          files.get("f_1", credential()),
          files.content("f_1", credential())
        ]
        for (const asked of asks) {
          assert.strictEqual((yield* Effect.flip(asked)).reason._tag, "Timeout")
        }
        double.always({ fault: "hangBody" })
        const { stream } = yield* files.content("f_1", credential())
        assert.strictEqual((yield* Effect.flip(Stream.runDrain(stream))).reason._tag, "Timeout")
      }).pipe(Effect.provide(services))
    )

    it.live("fail if the provider states a time that does not exist", () =>
      Effect.gen(function* () {
        const double = yield* started(() => start({ keys: [key] }))
        const files = yield* make(double.url)
        const { id } = yield* files.upload(upload("a.txt"), credential())
        const stored = yield* files.get(id, credential())
        for (const created_at of [
          8.64e15,
          253_402_300_800,
          -1e12,
          "+010000-01-01T00:00:00Z",
          "-000001-01-01T00:00:00Z",
          "soon"
        ]) {
          double.always({ body: { ...stored, created_at } })
          const { reason } = yield* Effect.flip(files.get(id, credential()))
          assert.include(reason, { _tag: "BadResponse", description: "JSON of another form at created_at" })
        }
      }).pipe(Effect.provide(services))
    )

    it.live("fail with what the provider means, and without the key", () =>
      Effect.gen(function* () {
        const double = yield* started(() => start({ keys: [key] }))
        const files = yield* make(double.url)
        for (const [answer, reason] of failures) {
          double.always(answer)
          const asked = [
            files.remove("f_1", credential()),
            files.get("f_1", credential()),
            files.list({ limit: 1 }, credential())
          ]
          for (const ask of [...asked, files.upload(upload("a.txt"), credential())]) {
            const error = yield* Effect.flip(ask)
            assert.deepStrictEqual([answer, error.reason._tag], [answer, reason])
            assert.notInclude(JSON.stringify(error), key)
          }
        }
        double.always(undefined)
        const rejected = yield* Effect.flip(files.remove("f_1", credential("sk-wrong")))
        assert.strictEqual(rejected.reason._tag, "Unauthorized")
      }).pipe(Effect.provide(services))
    )
  })
}

describe("files at Anthropic without the shapes of the beta", () => {
  it.live("are listed by page, after the cursor of the page before", () =>
    Effect.gen(function* () {
      const double = yield* started(() => startAnthropicFilesDouble({ keys: [key], hasBeta: false }))
      const files = yield* AnthropicFiles.make({ baseUrl: double.url })
      const ids: Array<string> = []
      for (const name of ["a.txt", "b.txt", "c.txt"]) {
        ids.unshift((yield* files.upload(upload(name), credential())).id)
      }
      const first = yield* files.list({ limit: 2 }, credential())
      assert.deepStrictEqual([first.has_more, first.first_id, first.last_id], [true, ids[0], ids[1]])
      const second = yield* files.list({ limit: 2, after: first.cursor }, credential())
      assert.deepStrictEqual(
        [second.data.map(({ id }) => id), second.has_more, second.cursor],
        [ids.slice(2), false, undefined]
      )
      const { headers, url } = double.state.requests.at(-1) ?? assert.fail("no request")
      assert.deepStrictEqual([url, headers["anthropic-beta"]], [`/v1/files?limit=2&page=page_${ids[1]}`, undefined])
      // Such a service does not know this parameter, and would answer with the first page again.
      const { reason } = yield* Effect.flip(files.list({ limit: 2, after: ids[1] }, credential()))
      assert.strictEqual(reason.message, `after: must be the "cursor" of the page before at this provider`)
    }).pipe(Effect.provide(services))
  )
})
