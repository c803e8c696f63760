import { describe, expect, it } from "@effect/vitest"
import { Gateway, ProviderFiles } from "@model-gateway/core"
import { Effect, Stream } from "effect"
import * as Stub from "./stub.ts"

const fileA = {
  _shape: "compat_a",
  id: "file-1",
  object: "file",
  filename: "a.txt",
  bytes: 3,
  purpose: "batch",
  created_at: 1,
  status: "processed",
  shard: 7
}

const fileB = {
  _shape: "compat_b",
  id: "file_1",
  type: "file",
  filename: "a.txt",
  mime_type: "text/plain",
  size_bytes: 3,
  created_at: "2025-04-14T12:00:00.123456Z",
  downloadable: true
}

const page = { _shape: "compat_b", has_more: false, first_id: null, last_id: null }

const { shard: _, ...knownA } = fileA

describe("files at a provider", () => {
  it.effect("are uploaded as a form, with a purpose only if there is one", () => {
    const stub = Stub.make(() => Stub.json(fileA))
    return Effect.gen(function* () {
      const file = new Uint8Array([1, 2, 3])
      const request = { file, filename: "a.txt", workspace_id: "w" }
      expect(yield* ProviderFiles.uploadFile("provider_a", request)).toEqual(knownA)
      yield* ProviderFiles.uploadFile("provider_a", { file, purpose: "batch" })
      expect(stub.sent.map(({ form, method, url }) => [method, url.search, form?.get("purpose")])).toEqual([
        ["POST", "?provider=provider_a&workspace_id=w", null],
        ["POST", "?provider=provider_a", "batch"]
      ])
    }).pipe(stub.run())
  })

  it.effect("are listed and read in the provider's shape", () => {
    const stub = Stub.make(({ url }) =>
      url.pathname.endsWith("/content")
        ? new Response("abc")
        : Stub.json(url.pathname.endsWith("/files") ? { data: [fileB], ...page } : fileB)
    )
    return Effect.gen(function* () {
      const list = yield* ProviderFiles.listFiles("provider_b", { limit: 3, after: "file_0" })
      expect(list).toEqual({ data: [fileB], ...page })
      expect(yield* ProviderFiles.getFile("provider_b", "file_1")).toEqual(fileB)
      const { fileContent } = yield* Gateway.Gateway
      const content = fileContent("file_1", { provider: "provider_b" })
      expect(yield* Stream.mkString(Stream.decodeText(content))).toBe("abc")
      expect(stub.sent.map(({ url }) => url.pathname + url.search)).toEqual([
        "/api/v1/files?limit=3&after=file_0&provider=provider_b",
        "/api/v1/files/file_1?provider=provider_b",
        "/api/v1/files/file_1/content?provider=provider_b"
      ])
    }).pipe(stub.run())
  })

  it.effect("are those of the configuration's workspace, unless the call names another", () => {
    const stub = Stub.make(({ url }) => Stub.json(url.pathname.endsWith("/files") ? { data: [fileB], ...page } : fileB))
    return Effect.gen(function* () {
      yield* Effect.ignore(ProviderFiles.uploadFile("provider_b", { file: new Uint8Array(1) }))
      yield* ProviderFiles.listFiles("provider_b")
      yield* ProviderFiles.getFile("provider_b", "file_1")
      yield* ProviderFiles.getFile("provider_b", "file_1", { workspace_id: "other" })
      expect(stub.sent.map(({ url }) => url.searchParams.get("workspace_id"))).toEqual([
        "configured",
        "configured",
        "configured",
        "other"
      ])
    }).pipe(stub.run({ workspaceId: "configured" }))
  })

  it.effect("in another shape than the provider's are an invalid response", () => {
    const stub = Stub.make(() => Stub.json(fileB))
    return Effect.gen(function* () {
      const error = yield* Effect.flip(ProviderFiles.getFile("provider_a", "file_1"))
      expect(error._tag).toBe("InvalidResponse")
    }).pipe(stub.run())
  })
})
