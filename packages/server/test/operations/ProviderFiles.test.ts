/** DELETE `/files/{file_id}` with `provider`, against doubles of the providers. */
import { describe, expect, it } from "@effect/vitest"
import * as AnthropicFiles from "@model-gateway/providers/AnthropicFiles"
import * as OpenAiFiles from "@model-gateway/providers/OpenAiFiles"
import { Effect, type Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import type { Double } from "../../../providers/test/support/Double.mjs"
import { startAnthropicFilesDouble, startOpenAiFilesDouble } from "../../../providers/test/support/FilesDouble.mjs"
import { EphemeralKeys } from "../../src/access/EphemeralKeys.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { inSet, post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"

const key = "sk-of-the-caller-0123456789"

const started = (start: () => Promise<Double>) =>
  Effect.acquireRelease(Effect.promise(start), (double) => Effect.promise(() => double.close()))

/** Runs with a gateway that calls the doubles. */
const testing = <A, E>(
  test: (doubles: {
    readonly a: Double
    readonly b: Double
  }) => Effect.Effect<A, E, Layer.Success<ReturnType<typeof layer>>>
) =>
  Effect.gen(function* () {
    const a = yield* started(() => startOpenAiFilesDouble({ keys: [key] }))
    const b = yield* started(() => startAnthropicFilesDouble({ keys: [key] }))
    const fileProviders = {
      provider_a: yield* OpenAiFiles.make({ baseUrl: `${a.url}/v1` }),
      provider_b: yield* AnthropicFiles.make({ baseUrl: b.url })
    }
    return yield* Effect.provide(test({ a, b }), layer({}, [], fileProviders))
  }).pipe(Effect.provide(FetchHttpClient.layer), Effect.scoped)

const store = Effect.fnUntraced(function* (provider: string, more?: object) {
  const { managementKey } = yield* TestGateway
  const answer = yield* post("/api/v1/byok", { provider, key, ...more }, { key: managementKey })
  expect(answer.status).toBe(201)
})

const remove = Effect.fnUntraced(function* (query: string, headers?: Record<string, string>, key?: string) {
  const { ask } = yield* TestGateway
  const answer = yield* ask(`/api/v1/files/${query}`, {
    method: "DELETE",
    ...(headers === undefined ? {} : { headers }),
    ...(key === undefined ? {} : { key })
  })
  inSet("deleteFile", answer)
  return answer
})

describe("a file at a provider", () => {
  it.live("is deleted with the caller's own key, once, and confirmed in the provider's shape", () =>
    testing(({ a, b }) =>
      Effect.gen(function* () {
        yield* store("openai")
        yield* store("anthropic")
        a.next({ body: { id: "file-1", object: "file", deleted: true } })
        const atA = yield* remove("file-1?provider=provider_a")
        expect(JSON.parse(atA.text)).toEqual({ _shape: "compat_a", id: "file-1", object: "file", deleted: true })
        b.next({ body: { id: "file_1", type: "file_deleted" } })
        const atB = yield* remove("file_1?provider=provider_b")
        expect(JSON.parse(atB.text)).toEqual({ _shape: "compat_b", id: "file_1", type: "file_deleted" })
        expect(a.state.requests[0]?.headers["authorization"]).toBe(`Bearer ${key}`)
        expect(b.state.requests[0]?.headers["x-api-key"]).toBe(key)
        expect((yield* remove("file-1?provider=provider_a")).status).toBe(404)
        expect((yield* remove("file_1?provider=provider_b")).status).toBe(404)
        a.next({ body: { id: "file-2", object: "file", deleted: true } })
        const asked = yield* remove("file-2?provider=provider_a", { accept: "application/json; shape=native" })
        expect(JSON.parse(asked.text)).toMatchObject({ _shape: "native" })
      })
    )
  )

  it.live("needs a key for its provider that the caller may use for files", () =>
    testing(({ a }) =>
      Effect.gen(function* () {
        const refused = yield* remove("file-1?provider=provider_a")
        expect([refused.status, refused.text]).toEqual([403, expect.stringContaining("no key of yours for provider_a")])
        yield* store("openai", { allowed_models: ["openai/whisper-1"] })
        yield* store("openai", { allowed_user_ids: ["somebody-else"] })
        yield* store("openai", { disabled: true })
        yield* store("anthropic")
        expect((yield* remove("file-1?provider=provider_a")).status).toBe(403)
        expect(a.state.requests).toEqual([])
      })
    )
  )

  it.live("is not deleted by an ephemeral key that sees its own files only", () =>
    testing(({ a }) =>
      Effect.gen(function* () {
        const { workspace } = yield* TestGateway
        yield* store("openai")
        const { organizationId, id: workspaceId } = workspace
        const { key: parent } = yield* (yield* KeyStore).create({ organizationId, workspaceId, name: "k" })
        const { plain } = yield* (yield* EphemeralKeys).create(parent, 60_000, { ownFiles: true })
        expect((yield* remove("file-1?provider=provider_a", {}, Redacted.value(plain))).status).toBe(404)
        expect(a.state.requests).toEqual([])
      })
    )
  )

  it.live("has errors of the operation's set, which show no key", () =>
    testing(({ a }) =>
      Effect.gen(function* () {
        yield* store("openai")
        const cases = [
          [{ status: 400, body: { error: { message: "Invalid id" } } }, 404],
          [{ status: 401, body: { error: { message: `Incorrect API key provided: ${key}` } } }, 403],
          [{ status: 404, body: {} }, 404],
          [{ status: 429, headers: { "retry-after": "7" }, body: {} }, 503],
          [{ status: 500, body: {} }, 502],
          [{ status: 503, body: {} }, 503],
          [{ fault: "cut" }, 502],
          [{ fault: "cutBody" }, 502],
          [{ headers: { "content-type": "text/html" }, body: "<html>" }, 502]
        ] as const
        for (const [answer, status] of cases) {
          a.next(answer)
          const { headers, text, ...got } = yield* remove("file-1?provider=provider_a")
          expect([answer, got.status]).toEqual([answer, status])
          expect(text).not.toContain(key)
          if ("headers" in answer && "retry-after" in answer.headers) expect(headers["retry-after"]).toBe("7")
        }
      })
    )
  )
})
