import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { layer, TestGateway } from "../TestGateway.ts"

it.layer(layer(), { excludeTestServices: true })("the API reference", (it) => {
  it.effect("is compressed as the browser prefers, with an ETag for each form", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      for (const [path, type] of [
        ["/docs", "text/html; charset=utf-8"],
        ["/docs/openapi-explorer.js", "text/javascript; charset=utf-8"],
        ["/openapi.json", "application/json"]
      ] as const) {
        const plain = yield* ask(path, { key: null })
        const get = (accept: string, headers: Record<string, string> = {}) =>
          ask(path, { key: null, headers: { "accept-encoding": accept, ...headers } })
        const br = yield* get("gzip, br")
        const gzip = yield* get("gzip, br;q=0.1")
        expect(brotliDecompressSync(br.bytes).equals(plain.bytes)).toBe(true)
        expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true)
        expect(br.bytes.length).toBeLessThan(plain.bytes.length / 4)
        expect(gzip.bytes.length).toBeLessThan(plain.bytes.length / 3)
        for (const [answer, coding] of [
          [plain, undefined],
          [br, "br"],
          [gzip, "gzip"]
        ] as const) {
          expect(answer.headers).toMatchObject({
            "content-type": type,
            "content-length": String(answer.bytes.length),
            "cache-control": "no-cache",
            vary: "Accept-Encoding"
          })
          expect(answer.headers["content-encoding"]).toBe(coding)
        }
        expect(new Set([plain, br, gzip].map(({ headers }) => headers.etag)).size).toBe(3)

        const etag = String(br.headers.etag)
        for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
          const again = yield* get("br", { "if-none-match": known })
          expect([known, again.status, again.text, again.headers.etag]).toEqual([known, 304, "", etag])
        }
        const other = yield* get("gzip", { "if-none-match": etag })
        expect([other.status, other.headers["content-encoding"]]).toEqual([200, "gzip"])
        const head = yield* ask(path, { method: "HEAD", key: null, headers: { "accept-encoding": "br" } })
        expect([head.status, head.text, head.headers["content-length"]]).toEqual([200, "", String(br.bytes.length)])
      }
    })
  )

  it.effect("links to no page that is not served, and lists each operation", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const { text } = yield* ask("/docs", { key: null })
      expect(text).not.toContain('href="play')
      expect(text).not.toContain('href="console')
      expect(text).toContain('<li><a href="#?route=get-/videos/-id-">Get a video<code>GET /videos/{id}</code></a></li>')
      expect(text).toContain('<div slot="get-/videos/-id-">')
      expect((yield* ask("/docs/page.js", { key: null })).headers["content-type"]).toBe(
        "text/javascript; charset=utf-8"
      )
    })
  )

  it.effect("is confined to its own origin in every form", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      for (const accept of ["br", "identity"]) {
        const { headers } = yield* ask("/docs", { key: null, headers: { "accept-encoding": accept } })
        expect(headers["content-security-policy"]).toContain("default-src 'none'")
        expect(headers["content-security-policy"]).toContain("script-src 'self'")
      }
    })
  )
})
