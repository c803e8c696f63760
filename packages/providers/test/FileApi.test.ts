import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import * as AnthropicFiles from "../src/AnthropicFiles.ts"
import * as OpenAiFiles from "../src/OpenAiFiles.ts"
import type { Scripted } from "./support/Double.mjs"
import { startAnthropicFilesDouble, startOpenAiFilesDouble } from "./support/FilesDouble.mjs"
import { started } from "./support/transcription.ts"

const key = "sk-secret-0123456789"

const credential = (secret = key) => ({ id: "byok_1", secret: Redacted.make(secret) })

const providers = [
  {
    name: "OpenAI",
    start: startOpenAiFilesDouble,
    make: (url: string) => OpenAiFiles.make({ baseUrl: `${url}/v1` }),
    sent: { authorization: `Bearer ${key}` }
  },
  {
    name: "Anthropic",
    start: startAnthropicFilesDouble,
    make: (url: string) => AnthropicFiles.make({ baseUrl: url }),
    sent: { "x-api-key": key, "anthropic-version": "2023-06-01" }
  }
] as const

const failures: ReadonlyArray<readonly [answer: Scripted, reason: string]> = [
  [{ status: 400, body: { error: { message: "no" } } }, "InvalidRequest"],
  [{ status: 403, body: {} }, "Unauthorized"],
  [{ status: 429, headers: { "retry-after": "7" }, body: {} }, "RateLimited"],
  [{ status: 500, body: {} }, "BadResponse"],
  [{ status: 529, body: {} }, "Overloaded"],
  [{ fault: "cutBody" }, "Timeout"],
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
      }).pipe(Effect.provide(FetchHttpClient.layer))
    )

    it.live("fail with what the provider means, and without the key", () =>
      Effect.gen(function* () {
        const double = yield* started(() => start({ keys: [key] }))
        const files = yield* make(double.url)
        for (const [answer, reason] of failures) {
          double.next(answer)
          const error = yield* Effect.flip(files.remove("f_1", credential()))
          assert.deepStrictEqual([answer, error.reason._tag], [answer, reason])
          assert.notInclude(JSON.stringify(error), key)
        }
        const rejected = yield* Effect.flip(files.remove("f_1", credential("sk-wrong")))
        assert.strictEqual(rejected.reason._tag, "Unauthorized")
      }).pipe(Effect.provide(FetchHttpClient.layer))
    )
  })
}
