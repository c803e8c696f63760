// The real SDKs drive the doubles, so that the doubles are known to speak the providers' protocols.
import Anthropic from "@anthropic-ai/sdk"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI, { toFile } from "openai"
import { startAnthropicFilesDouble, startOpenAiFilesDouble } from "@model-gateway/test-doubles/FilesDouble"
import { started } from "./support/transcription.ts"

const key = "sk-secret-0123456789"

const ask = <A>(call: () => Promise<A>) => Effect.tryPromise({ try: call, catch: (error) => error })

const statusOf = (error: unknown): unknown => (error instanceof Error && "status" in error ? error.status : undefined)

const bytes = new TextEncoder().encode("hello")

describe("the doubles of files, called by the providers' SDKs", () => {
  it.live("OpenAI's stores, reads, lists and deletes a file, once", () =>
    Effect.gen(function* () {
      const { url } = yield* started(() => startOpenAiFilesDouble({ keys: [key] }))
      const { files } = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
      const file = yield* ask(() => toFile(bytes, "a.txt"))
      const { id } = yield* ask(() => files.create({ file, purpose: "user_data" }))
      assert.deepInclude(yield* ask(() => files.retrieve(id)), { filename: "a.txt", bytes: 5, purpose: "user_data" })
      assert.strictEqual(yield* ask(async () => (await files.content(id)).text()), "hello")
      assert.strictEqual((yield* ask(() => files.list())).data.length, 1)
      assert.deepStrictEqual(yield* ask(() => files.delete(id)), { id, object: "file", deleted: true })
      assert.strictEqual(statusOf(yield* Effect.flip(ask(() => files.delete(id)))), 404)
      const other = new OpenAI({ baseURL: `${url}/v1`, apiKey: "wrong", maxRetries: 0 })
      assert.strictEqual(statusOf(yield* Effect.flip(ask(() => other.files.list()))), 401)
    })
  )

  it.live("Anthropic's stores, reads, lists and deletes a file, once", () =>
    Effect.gen(function* () {
      const { url } = yield* started(() => startAnthropicFilesDouble({ keys: [key] }))
      const { files } = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 }).beta
      const file = yield* ask(() => toFile(bytes, "made-a.txt"))
      const { id } = yield* ask(() => files.upload({ file }))
      assert.deepInclude(yield* ask(() => files.retrieveMetadata(id)), { filename: "made-a.txt", size_bytes: 5 })
      assert.strictEqual(yield* ask(async () => (await files.download(id)).text()), "hello")
      assert.strictEqual((yield* ask(() => files.list())).data.length, 1)
      const second = yield* ask(() => files.upload({ file }))
      const pages = yield* ask(async () => {
        const pages: Array<ReadonlyArray<string>> = []
        for await (const page of (await files.list({ limit: 1 })).iterPages()) pages.push(page.data.map(({ id }) => id))
        return pages
      })
      assert.deepStrictEqual(pages, [[second.id], [id]])
      assert.deepStrictEqual(yield* ask(() => files.delete(id)), { id, type: "file_deleted" })
      assert.strictEqual(statusOf(yield* Effect.flip(ask(() => files.delete(id)))), 404)
      const other = new Anthropic({ baseURL: url, apiKey: "wrong", maxRetries: 0 }).beta
      assert.strictEqual(statusOf(yield* Effect.flip(ask(() => other.files.list()))), 401)
    })
  )
})
