/** `/files` with `provider`, against doubles of the providers. */
import { describe, expect, it } from "@effect/vitest"
import * as AnthropicFiles from "@model-gateway/providers/AnthropicFiles"
import * as OpenAiFiles from "@model-gateway/providers/OpenAiFiles"
import { type Duration, Effect, type Layer, Logger, Redacted, Schema } from "effect"
import { layerWebCrypto } from "effect/crypto/SecureRandom"
import { FetchHttpClient } from "effect/http"
import type { Double } from "@model-gateway/test-doubles/Double"
import { startAnthropicFilesDouble, startOpenAiFilesDouble } from "@model-gateway/test-doubles/FilesDouble"
import { EphemeralKeys } from "../../src/access/EphemeralKeys.ts"
import { GuardrailStore } from "../../src/access/GuardrailStore.ts"
import * as KeyFormat from "../../src/access/KeyFormat.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import type * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import { inSet, post } from "../TestEnvelope.ts"
import { type Ask, form, formHeaders, layer, type Part, TestGateway } from "../TestGateway.ts"

const key = "sk-of-the-caller-0123456789"

const started = (start: () => Promise<Double>) =>
  Effect.acquireRelease(Effect.promise(start), (double) => Effect.promise(() => double.close()))

/** Runs with a gateway that calls the doubles. */
const testing = <A, E>(
  test: (doubles: {
    readonly a: Double
    readonly b: Double
  }) => Effect.Effect<A, E, Layer.Success<ReturnType<typeof layer>>>,
  { timeLimit, ...options }: GatewayServerConfig.Options & { readonly timeLimit?: Duration.Input } = {}
) =>
  Effect.gen(function* () {
    const a = yield* started(() => startOpenAiFilesDouble({ keys: [key] }))
    const b = yield* started(() => startAnthropicFilesDouble({ keys: [key] }))
    const fileProviders = {
      provider_a: yield* OpenAiFiles.make({ baseUrl: `${a.url}/v1`, timeLimit }),
      provider_b: yield* AnthropicFiles.make({ baseUrl: b.url, timeLimit })
    }
    return yield* Effect.provide(test({ a, b }), layer(options, [], fileProviders))
  }).pipe(Effect.provide([FetchHttpClient.layer, layerWebCrypto]), Effect.scoped)

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
  it.live("is deleted with the caller's provider key, once, and confirmed in the provider's shape [spec J10]", () =>
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

  it.live("is not called for a request without provider, which uses the service's own storage [spec J11]", () =>
    testing(({ a, b }) =>
      Effect.gen(function* () {
        yield* store("openai")
        yield* store("anthropic")
        const id = idOf(yield* upload(""))
        expect((yield* content(`/${id}/content`)).text).toBe("hello")
        expect((yield* remove(`${id}?provider=provider_a`)).status).toBe(404)
        const calls = a.state.requests.length
        expect((yield* remove(id)).status).toBe(200)
        expect((yield* content(`/${id}/content`)).status).toBe(404)
        expect([calls, a.state.requests.length, b.state.requests.length]).toEqual([1, 1, 0])
      })
    )
  )

  it.live("needs a key for its provider that the caller may use for files", () =>
    testing(({ a }) =>
      Effect.gen(function* () {
        const refused = yield* remove("file-1?provider=provider_a")
        expect([refused.status, refused.text]).toEqual([
          403,
          expect.stringContaining('no provider key for \\"provider_a\\"')
        ])
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

  it.live("is named by an error in the words on the wire", () =>
    testing(
      ({ a }) =>
        Effect.gen(function* () {
          yield* store("openai")
          a.next({ status: 500, body: {} })
          const { ask } = yield* TestGateway
          const { status, text } = yield* ask("/api/v1/files/file-1?provider=openai", { method: "DELETE" })
          expect([status, JSON.parse(text)]).toMatchObject([502, { error: { metadata: { provider: "openai" } } }])
        }),
      { wireNames: "openrouter" }
    )
  )

  it.live("has errors of the operation's set, which show no key [spec B1 J13 J14 J17 J18 J19]", () =>
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

const file = (value: string | Uint8Array = "hello", more?: Partial<Part>): Part => ({
  name: "file",
  filename: "made-a.txt",
  type: "text/plain",
  value,
  ...more
})

const purpose = (value: string): Part => ({ name: "purpose", value })

const asked = Effect.fnUntraced(function* (operation: string, path: string, more?: Ask) {
  const answer = yield* (yield* TestGateway).ask(`/api/v1/files${path}`, more)
  // For an answer of bytes, the contract has no schema with a status.
  if (operation !== "fileContent" || answer.status !== 200) inSet(operation, answer)
  return answer
})

const upload = (query: string, parts: ReadonlyArray<Part> = [file()], headers?: Record<string, string>, key?: string) =>
  asked("uploadFile", query, {
    method: "POST",
    body: form(...parts),
    headers: { ...formHeaders, ...headers },
    ...(key === undefined ? {} : { key })
  })

const list = (query: string, more?: Ask) => asked("listFiles", query, more)

const get = (path: string, more?: Ask) => asked("getFile", path, more)

const content = (path: string, more?: Ask) => asked("fileContent", path, more)

const Stored = Schema.fromJsonString(Schema.Struct({ id: Schema.String }))

const idOf = ({ text }: { readonly text: string }) => Schema.decodeUnknownSync(Stored)(text).id

const fileA = {
  _shape: "compat_a",
  object: "file",
  bytes: 5,
  created_at: 1_700_000_000,
  filename: "made-a.txt",
  purpose: "user_data",
  status: "processed"
}

const fileB = {
  _shape: "compat_b",
  type: "file",
  filename: "made-a.txt",
  mime_type: "text/plain",
  size_bytes: 5,
  created_at: "2025-04-14T12:00:00.123456Z",
  downloadable: true
}

describe("files at a provider", () => {
  it.live("are stored, listed by page, read and deleted in the provider's own shape", () =>
    testing(({ a, b }) =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        yield* store("openai")
        yield* store("anthropic")
        for (const [provider, shape, double] of [
          ["provider_a", fileA, a],
          ["provider_b", fileB, b]
        ] as const) {
          const query = `?provider=${provider}`
          const first = yield* upload(query)
          expect(JSON.parse(first.text)).toEqual({ id: idOf(first), ...shape })
          const second = idOf(yield* upload(query))
          expect(double.state.requests.at(-1)?.text).not.toContain("workspace")
          expect(JSON.parse((yield* get(`/${second}${query}`)).text)).toEqual({ id: second, ...shape })
          const read = yield* content(`/${second}/content${query}`)
          expect([read.text, read.headers["content-type"]]).toEqual(["hello", "text/plain"])
          expect(read.headers["content-disposition"]).toBe(`attachment; filename="${second}"`)
          const page = yield* list(`${query}&limit=1`)
          expect(JSON.parse(page.text)).toEqual({
            _shape: shape._shape,
            ...(provider === "provider_a" ? { object: "list" } : {}),
            data: [{ id: second, ...shape }],
            has_more: true,
            first_id: second,
            last_id: second
          })
          const rest = yield* list(`${query}&limit=1&after=${second}`)
          expect(JSON.parse(rest.text)).toMatchObject({ data: [{ id: idOf(first) }], has_more: false })
          expect(double.state.requests.at(-1)?.url).toContain("limit=1&")
          expect((yield* remove(`${second}${query}`)).status).toBe(200)
          expect((yield* get(`/${second}${query}`)).status).toBe(404)
        }
        // Nothing of it is kept here.
        expect(JSON.parse((yield* ask("/api/v1/files")).text)).toMatchObject({ data: [] })
      })
    )
  )

  it.live("come in the shape that Accept names", () =>
    testing(() =>
      Effect.gen(function* () {
        const { workspace } = yield* TestGateway
        yield* store("openai")
        yield* store("anthropic")
        const headers = (shape: string) => ({ accept: `application/json; shape=${shape}` })
        const native = {
          _shape: "native",
          type: "file",
          size_bytes: 5,
          filename: "made-a.txt",
          workspace_id: workspace.id
        }
        const a = yield* upload("?provider=provider_a", [file()], headers("compat_b"))
        expect(JSON.parse(a.text)).toEqual({
          _shape: "compat_b",
          id: idOf(a),
          type: "file",
          filename: "made-a.txt",
          mime_type: "application/octet-stream",
          size_bytes: 5,
          created_at: "2023-11-14T22:13:20.000Z",
          downloadable: true
        })
        const atA = yield* list("?provider=provider_a", { headers: headers("native") })
        expect(JSON.parse(atA.text)).toMatchObject({ _shape: "native", data: [native], cursor: null })
        const b = yield* upload(
          "?provider=provider_b",
          [file("hello", { type: "application/json" })],
          headers("compat_a")
        )
        expect(JSON.parse(b.text)).toEqual({ id: idOf(b), ...fileA, created_at: 1_744_632_000 })
        const atB = yield* get(`/${idOf(b)}?provider=provider_b`, { headers: headers("native") })
        expect(JSON.parse(atB.text)).toMatchObject({ ...native, mime_type: "application/json" })
      })
    )
  )

  it.live("are a bad gateway in every shape if the provider states a time that does not exist", () =>
    testing(({ a, b }) =>
      Effect.gen(function* () {
        yield* store("openai")
        yield* store("anthropic")
        for (const [provider, double, stored] of [
          ["provider_a", a, { ...fileA, created_at: 8.64e12 }],
          ["provider_b", b, { ...fileB, created_at: "+010000-01-01T00:00:00Z" }]
        ] as const) {
          const id = idOf(yield* upload(`?provider=${provider}`))
          double.always({ body: { ...stored, id } })
          for (const shape of ["native", "compat_a", "compat_b"]) {
            const headers = { accept: `application/json; shape=${shape}` }
            const { status, text } = yield* get(`/${id}?provider=${provider}`, { headers })
            expect([provider, shape, status]).toEqual([provider, shape, 502])
            expect(JSON.parse(text)).toMatchObject({ error: { code: 502 } })
          }
        }
      })
    )
  )

  it.live("take the fields of the form in any order, and OpenAI's purpose", () =>
    testing(({ a }) =>
      Effect.gen(function* () {
        yield* store("openai")
        const other: Part = { name: "other", filename: "b.txt", value: "x" }
        for (const parts of [
          [purpose("batch"), other, file()],
          [file(), other, purpose("batch")]
        ]) {
          expect(JSON.parse((yield* upload("?provider=provider_a", parts)).text)).toMatchObject({ purpose: "batch" })
          expect(a.state.requests.at(-1)?.text).not.toContain("b.txt")
        }
        const wrong = yield* upload("?provider=provider_a", [file(), purpose("dreams")])
        expect([wrong.status, wrong.text]).toEqual([400, expect.stringContaining("not one of the purposes")])
      })
    )
  )

  it.live("are not stored if the form is wrong or too large", () =>
    testing(
      ({ a }) =>
        Effect.gen(function* () {
          yield* store("openai")
          const cases = [
            [[purpose("batch")], 400],
            [[file("")], 400],
            [[file(), file()], 400],
            [[file(), purpose("")], 400],
            [[file(Buffer.alloc(100_001, 1)), purpose("batch")], 413]
          ] as const
          for (const [parts, status] of cases) {
            expect((yield* upload("?provider=provider_a", parts)).status).toBe(status)
          }
          expect(a.state.requests).toEqual([])
          expect((yield* upload("?provider=provider_a", [file(Buffer.alloc(100_000, 1))])).status).toBe(200)
          expect((yield* upload("?provider=provider_c")).status).toBe(400)
        }),
      { bodyLimits: { files: 100_000 } }
    )
  )

  it.live("need a provider key, which is asked for before the form is read", () =>
    testing(({ a }) =>
      Effect.gen(function* () {
        const { workspace } = yield* TestGateway
        const query = "?provider=provider_a"
        const refused = yield* upload(query, [])
        expect([refused.status, refused.text]).toEqual([
          403,
          expect.stringContaining('no provider key for \\"provider_a\\"')
        ])
        yield* store("openai")
        const { organizationId, id: workspaceId } = workspace
        const { key: parent } = yield* (yield* KeyStore).create({ organizationId, workspaceId, name: "k" })
        const { plain } = yield* (yield* EphemeralKeys).create(parent, 60_000, { ownFiles: true })
        const limited = { key: Redacted.value(plain) }
        expect((yield* upload(query, [file()], {}, limited.key)).status).toBe(403)
        expect((yield* list(query, limited)).status).toBe(403)
        expect((yield* get(`/f${query}`, limited)).status).toBe(404)
        expect((yield* content(`/f/content${query}`, limited)).status).toBe(404)
        expect(a.state.requests).toEqual([])
      })
    )
  )

  it.live("are out of reach of a key whose guardrail does not allow the provider", () =>
    testing(({ a, b }) =>
      Effect.gen(function* () {
        const { ordinaryKey, workspace } = yield* TestGateway
        yield* store("openai")
        yield* store("anthropic")
        const guardrails = yield* GuardrailStore
        const { organizationId } = workspace
        const { id } = yield* guardrails.create({ organizationId, name: "g", ignoredProviders: ["openai"] })
        yield* guardrails.assign(organizationId, id, [KeyFormat.hashKey(ordinaryKey)])
        const query = "?provider=provider_a"
        const answers = [
          yield* upload(query),
          yield* list(query),
          yield* get(`/f${query}`),
          yield* content(`/f/content${query}`),
          yield* remove(`f${query}`)
        ]
        for (const { status, text } of answers) {
          expect([status, text]).toEqual([
            403,
            expect.stringContaining('the guardrail \\"g\\" of this key does not allow the provider \\"openai\\"')
          ])
        }
        expect(a.state.requests).toEqual([])
        expect((yield* upload("?provider=provider_b")).status).toBe(200)
        yield* guardrails.update(organizationId, id, { ignoredProviders: null, allowedProviders: ["openai"] })
        expect((yield* upload("?provider=provider_b")).status).toBe(403)
        expect((yield* upload(query)).status).toBe(200)
        expect(b.state.requests).toHaveLength(1)
      })
    )
  )

  it.live("have errors of the operation's set, and the key is in no answer and no log", () => {
    const logged: Array<unknown> = []
    const logger = Logger.layer([Logger.make((entry) => void logged.push(entry.message, entry.cause))])
    return testing(
      ({ a, b }) =>
        Effect.gen(function* () {
          yield* store("openai")
          yield* store("anthropic")
          const html = { headers: { "content-type": "text/html" }, body: "<html>" }
          const cases = [
            [{ status: 400, body: { error: { message: "Not allowed" } } }, 400],
            [{ status: 401, body: { error: { message: `Incorrect API key provided: ${key}` } } }, 403],
            [{ status: 404, body: {} }, 404],
            [{ status: 429, headers: { "retry-after": "7" }, body: {} }, 503],
            [{ status: 500, body: {} }, 502],
            [{ status: 503, body: {} }, 503],
            [{ fault: "cut" }, 502],
            [{ fault: "cutBody" }, 502],
            [{ fault: "hang" }, 502],
            [html, 502]
          ] as const
          for (const [double, query] of [
            [a, "?provider=provider_a"],
            [b, "?provider=provider_b"]
          ] as const) {
            for (const [answer, status] of cases) {
              double.always(answer)
              const isNoAnswer = "fault" in answer ? answer.fault === "cutBody" : answer === html
              const answers = [
                [yield* list(`${query}&after=f_1`), status],
                [yield* get(`/f_1${query}`), status],
                // There is no file to be missing. Content may be anything, and may end early.
                [yield* upload(query), status === 404 ? 502 : status],
                ...(isNoAnswer ? [] : [[yield* content(`/f_1/content${query}`), status] as const])
              ] as const
              for (const [got, expected] of answers) {
                expect([query, answer, got.status]).toEqual([query, answer, expected])
                expect(got.text).not.toContain(key)
                if (status === 503 && "headers" in answer) expect(got.headers["retry-after"]).toBe("7")
              }
            }
          }
          expect(
            logged.map((entry) => (entry instanceof Error ? entry.stack : JSON.stringify(entry))).join()
          ).not.toContain(key)
        }),
      { timeLimit: "100 millis" }
    ).pipe(Effect.provide(logger))
  })

  it.live("say why their content cannot be read, and break off if it ends early", () =>
    testing(({ b }) =>
      Effect.gen(function* () {
        const { ordinaryKey, port } = yield* TestGateway
        yield* store("anthropic")
        const id = idOf(yield* upload("?provider=provider_b", [file("hello", { filename: "mine.txt" })]))
        const refused = yield* content(`/${id}/content?provider=provider_b`)
        expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("not downloadable")])
        b.next({ fault: "cutBody" })
        const cut = yield* Effect.tryPromise(async () => {
          const url = `http://127.0.0.1:${port}/api/v1/files/${id}/content?provider=provider_b`
          return (await fetch(url, { headers: { authorization: `Bearer ${ordinaryKey}` } })).text()
        }).pipe(Effect.result)
        expect(cut._tag).toBe("Failure")
      })
    )
  )
})
