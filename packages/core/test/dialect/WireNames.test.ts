import { describe, expect, it } from "@effect/vitest"
import { Gateway, GatewayConfig, ProviderFiles, WireNames, Workspaces } from "@model-gateway/core"
import { ConfigProvider, Effect, Redacted } from "effect"
import * as Stub from "../stub.ts"

const workspaceId = "0197a000-0000-7000-8000-000000000002"

const wireNames = WireNames.openrouter

const fileA = {
  id: "file-1",
  object: "file",
  filename: "a.txt",
  bytes: 3,
  purpose: "batch",
  created_at: 1,
  status: "processed"
}

describe("a client with the words of OpenRouter's clients", () => {
  it.effect("sends them, and returns the neutral ones [spec A15 A16]", () => {
    const stub = Stub.make(({ method }) =>
      Stub.json(
        method === "DELETE"
          ? { _shape: "openai", id: "f", object: "file", deleted: true }
          : {
              _shape: "openai",
              object: "list",
              data: [{ _shape: "openai", ...fileA }],
              has_more: false,
              first_id: null,
              last_id: null
            }
      )
    )
    return Effect.gen(function* () {
      const { deleteFile } = yield* Gateway.Gateway
      const deleted = yield* deleteFile("f", { provider: "provider_b", shape: "compat_a" })
      expect(deleted).toEqual({ _shape: "compat_a", id: "f", object: "file", deleted: true })
      const list = yield* ProviderFiles.listFiles("provider_a")
      expect(list).toMatchObject({ _shape: "compat_a", data: [{ _shape: "compat_a", id: "file-1" }] })
      expect(stub.sent.map(({ headers, url }) => [url.search, headers["accept"]])).toEqual([
        ["?provider=anthropic", "application/json; shape=openai"],
        ["?provider=openai", "application/json"]
      ])
    }).pipe(stub.run({ wireNames }))
  })

  it.effect("asks for its own shape of files by the service's word", () => {
    const file = {
      _shape: "openrouter",
      id: "file_1",
      type: "file",
      filename: "native",
      mime_type: "text/plain",
      size_bytes: 3,
      created_at: "2026-11-20T22:00:00Z",
      downloadable: true
    }
    const stub = Stub.make(() => Stub.json(file))
    return Effect.gen(function* () {
      const { getFile } = yield* Gateway.Gateway
      expect(yield* getFile("file_1")).toEqual({ ...file, _shape: "native" })
      expect(stub.sent[0]?.headers["accept"]).toBe("application/json; shape=openrouter")
    }).pipe(stub.run({ wireNames }))
  })

  it.effect("translates the shape of a workspace in requests and responses", () => {
    const stub = Stub.make(({ text }) => Stub.json({ sent: text }, 400))
    return Effect.gen(function* () {
      yield* Effect.flip(Workspaces.updateWorkspace(workspaceId, { name: "native", file_shape: "compat_b" }))
      expect(stub.sent[0]?.text).toBe('{"name":"native","file_shape":"anthropic"}')
    }).pipe(stub.run({ wireNames }))
  })

  it.effect("finds the request's id in an error of any operation [spec A17]", () => {
    const error = { error: { code: 404, message: "no" }, openrouter_metadata: { request_id: "r" }, user_id: null }
    const stub = Stub.make(() => Stub.json(error, 404))
    return Effect.gen(function* () {
      const { getVideo } = yield* Gateway.Gateway
      const failure = yield* Effect.flip(getVideo("v"))
      expect(failure).toMatchObject({ _tag: "NotFound", requestId: "r", service_metadata: { request_id: "r" } })
    }).pipe(stub.run({ wireNames }))
  })

  it.effect("does not understand the other words without the option", () => {
    const stub = Stub.make(() => Stub.json({ _shape: "openai", id: "f", object: "file", deleted: true }))
    return Effect.gen(function* () {
      const { deleteFile } = yield* Gateway.Gateway
      expect((yield* Effect.flip(deleteFile("f")))._tag).toBe("InvalidResponse")
    }).pipe(stub.run())
  })
})

describe("the words of a configuration", () => {
  const read = (env: Record<string, string>) =>
    GatewayConfig.config().parse(ConfigProvider.fromUnknown({ MODEL_GATEWAY_API_KEY: "k", ...env }))

  it.effect("come from MODEL_GATEWAY_WIRE_NAMES, and are neutral without it", () =>
    Effect.gen(function* () {
      expect((yield* read({})).wireNames).toBe(undefined)
      expect((yield* read({ MODEL_GATEWAY_WIRE_NAMES: "neutral" })).wireNames).toBe(undefined)
      expect((yield* read({ MODEL_GATEWAY_WIRE_NAMES: "openrouter" })).wireNames).toBe(wireNames)
      const error = yield* Effect.flip(read({ MODEL_GATEWAY_WIRE_NAMES: "other" }))
      expect(String(error)).toContain('"neutral" | "openrouter"')
      expect(GatewayConfig.make({ credential: Redacted.make("k") }).wireNames).toBe(undefined)
    })
  )
})

describe("the words of a body or a header", () => {
  it("are translated where they stand, and nowhere else", () => {
    const { fromWire, toWire } = wireNames
    const file = { _shape: "native", filename: "native", service_metadata: "native", extra: { _shape: "native" } }
    expect(toWire.body("/files", { data: [file], _shape: "compat_a" })).toEqual({
      data: [{ ...file, _shape: "openrouter" }],
      _shape: "openai"
    })
    expect(toWire.body("/rerank", { query: "native", service_metadata: 1 })).toEqual({
      query: "native",
      service_metadata: 1
    })
    expect(fromWire.accept("/files/f", 'application/json; Shape="OpenAI"')).toBe('application/json; Shape="compat_a"')
    expect(fromWire.accept("/videos/v", "application/json; shape=openai")).toBe("application/json; shape=openai")
  })
})

describe("text about the API", () => {
  it("keeps what a caller wrote", () => {
    const message = "there is no file provider_a, compat_b or my-service_metadata"
    expect(wireNames.toWire.text(message)).toBe(message)
  })

  it("has the words of the wire, but keeps everyday language", () => {
    const { text } = wireNames.toWire
    expect(text('`provider_a`, "compat_b", shape=compat_a, `service_metadata.request_id`')).toBe(
      '`openai`, "anthropic", shape=openai, `openrouter_metadata.request_id`'
    )
    expect(text("<code>native</code>, <code>provider_b</code>")).toBe("<code>openrouter</code>, <code>anthropic</code>")
    expect(text('a native speaker, "native", `native`, \\"native\\"')).toBe(
      'a native speaker, "openrouter", `openrouter`, \\"openrouter\\"'
    )
  })
})
