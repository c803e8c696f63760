import { expect, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as TestGateway from "../TestGateway.ts"

const decodeId = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Struct({ id: Schema.String })))

const upload = Effect.fnUntraced(function* (headers: Record<string, string> = {}) {
  const { ask } = yield* TestGateway.TestGateway
  return yield* ask("/api/v1/files", {
    method: "POST",
    headers: { ...TestGateway.formHeaders, ...headers },
    body: TestGateway.form({
      name: "file",
      filename: "native provider_a.json",
      type: "application/json",
      value: '{"_shape":"native"}'
    })
  })
})

layer(TestGateway.layer({ wireNames: "openrouter" }), { excludeTestServices: true })(
  "a gateway with the words of OpenRouter's clients",
  (it) => {
    it.effect("uses them for the shapes of files, and leaves names and content alone [spec A16]", () =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway.TestGateway
        const stored = yield* upload({ "idempotency-key": "k" })
        expect(JSON.parse(stored.text)).toMatchObject({ _shape: "openrouter", filename: "native provider_a.json" })
        const again = yield* upload({ "idempotency-key": "k" })
        expect([again.text, again.headers["idempotent-replayed"]]).toEqual([stored.text, "true"])
        const path = `/api/v1/files/${(yield* decodeId(stored.text)).id}`
        expect((yield* ask(`${path}/content`)).text).toBe('{"_shape":"native"}')
        const listed = yield* ask("/api/v1/files")
        expect(JSON.parse(listed.text)).toMatchObject({ _shape: "openrouter", data: [{ _shape: "openrouter" }] })
        for (const word of ["OpenAI", "anthropic", "openrouter"]) {
          const headers = { accept: `text/html, application/json; q=0.9; shape="${word}"` }
          expect(JSON.parse((yield* ask(path, { headers })).text)).toMatchObject({ _shape: word.toLowerCase() })
        }
        const deleted = yield* ask(path, { method: "DELETE", headers: { accept: "application/json;shape=openai" } })
        expect(JSON.parse(deleted.text)).toMatchObject({ _shape: "openai", object: "file", deleted: true })
      })
    )

    it.effect("uses them for the shape of a workspace", () =>
      Effect.gen(function* () {
        const { ask, managementKey, workspace } = yield* TestGateway.TestGateway
        const path = `/api/v1/workspaces/${workspace.id}`
        const change = (file_shape: string) =>
          ask(path, {
            method: "PATCH",
            key: managementKey,
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ file_shape, name: "native" })
          })
        expect(JSON.parse((yield* change("anthropic")).text)).toMatchObject({
          data: { file_shape: "anthropic", name: "native" }
        })
        expect(JSON.parse((yield* upload()).text)).toMatchObject({ _shape: "anthropic" })
        const wrong = yield* change("compat_z")
        expect(wrong.status).toBe(400)
        expect(wrong.text).toContain('Expected \\"openrouter\\" | \\"openai\\" | \\"anthropic\\"')
        expect(JSON.parse((yield* change("openrouter")).text)).toMatchObject({ data: { file_shape: "openrouter" } })
      })
    )

    it.effect("uses them for the provider of files, and in errors [spec A15 A17]", () =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway.TestGateway
        const refused = yield* ask("/api/v1/files?provider=openai")
        expect(refused.status).toBe(403)
        expect(refused.text).toContain('no provider key for \\"openai\\"')
        const requestId = refused.headers["x-request-id"]
        expect(JSON.parse(refused.text)).toMatchObject({ openrouter_metadata: { request_id: requestId } })
        const unknown = yield* ask("/api/v1/files?provider=google")
        expect([unknown.status, unknown.text]).toEqual([400, expect.stringContaining('\\"openai\\" | \\"anthropic\\"')])
        for (const path of ["/api/v1/nothing", "/api/v1/videos/none", "/api/v1/files/none"]) {
          const { text } = yield* ask(path)
          expect(JSON.parse(text)).toMatchObject({ openrouter_metadata: {} })
          expect(text).not.toContain("service_metadata")
        }
      })
    )

    it.effect("leaves the words of a caller in an error alone", () =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway.TestGateway
        const headers = { "x-request-id": "provider_a" }
        for (const [id, message] of [
          ["provider_a", "there is no file provider_a"],
          ["native?provider=openai", 'no provider key for "openai"']
        ]) {
          expect(JSON.parse((yield* ask(`/api/v1/files/${id}`, { headers })).text)).toMatchObject({
            error: { message: expect.stringContaining(message ?? "") as unknown },
            openrouter_metadata: { request_id: "provider_a" }
          })
        }
      })
    )

    it.effect("has them in its OpenAPI document", () =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway.TestGateway
        const { text } = yield* ask("/openapi.json")
        expect(text.match(/provider_[ab]|compat_[ab]|service_metadata|"native"/g)).toBe(null)
        expect(text).toContain('"enum":["openrouter"]')
        expect(text).toContain("openrouter_metadata")
        const page = yield* ask("/docs")
        expect(page.text).toContain("MODEL_GATEWAY_WIRE_NAMES=openrouter")
        expect(page.text.match(/provider_[ab]|compat_[ab]|service_metadata|(&quot;|")native/g)).toBe(null)
      })
    )
  }
)
