import { NodeHttpServer, NodeServices } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer, Path } from "effect"
import { HttpServer } from "effect/http"
import { createServer, type IncomingHttpHeaders, request } from "node:http"
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib"
import * as Composition from "../../src/Composition.ts"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import { temporaryFolder } from "../TestStorage.ts"

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
}

/** Asks the service that serves the site, by the path as it is written. */
class Site extends Context.Service<
  Site,
  (path: string, headers?: Record<string, string>, method?: string) => Effect.Effect<Answer>
>()("test/Site") {}

/** The folder that is served. */
class Folder extends Context.Service<Folder, string>()("test/Folder") {}

type Files = Readonly<Record<string, string | Uint8Array>>

const files: Files = {
  "index.html": "<!doctype html><title>the page</title>",
  "assets/index-Ab3dE_fG.js": "export {}",
  "assets/style-12345678.css": "body{}",
  "assets/a b.svg": "<svg/>",
  // None of these may take the place of what the service itself answers there.
  "docs/index.html": "not the reference",
  healthz: "not the health"
}

const ask =
  (port: number): Site["Service"] =>
  (path, headers = {}, method = "GET") =>
    Effect.callback((resume) => {
      request({ host: "127.0.0.1", port, path, headers, method, agent: false }, (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("end", () => {
          const bytes = Buffer.concat(chunks)
          const { headers, statusCode } = response
          resume(Effect.succeed({ status: statusCode ?? 0, headers, bytes, text: bytes.toString() }))
        })
      }).end()
    })

const layer = (content: Files, options?: GatewayServerConfig.Options) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const folder = yield* temporaryFolder
      const dir = path.join(folder, "web")
      for (const [name, text] of Object.entries(content)) {
        yield* fs.makeDirectory(path.dirname(path.join(dir, name)), { recursive: true })
        yield* fs.writeFile(path.join(dir, name), Buffer.from(text))
      }
      yield* fs.writeFileString(path.join(folder, "secret.txt"), "beside the folder")
      return Layer.effect(
        Site,
        Effect.map(HttpServer.HttpServer, ({ address }) => ask("port" in address ? address.port : 0))
      ).pipe(
        Layer.merge(Layer.succeed(Folder, dir)),
        Layer.provideMerge(Composition.layer({ dataDir: path.join(folder, "data"), offers: [], web: { dir } }))
      )
    })
  ).pipe(
    Layer.provideMerge(
      NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1", gracefulShutdownTimeout: "2 seconds" })
    ),
    Layer.provideMerge(NodeServices.layer),
    Layer.provide(GatewayServerConfig.layer(options)),
    Layer.fresh
  )

it.layer(layer(files), { excludeTestServices: true })("a site", (it) => {
  it.effect("is there at / and by its files' names, each with its type", () =>
    Effect.gen(function* () {
      const ask = yield* Site
      for (const [path, type, text] of [
        ["/", "text/html; charset=utf-8", files["index.html"]],
        ["/?from=mail", "text/html; charset=utf-8", files["index.html"]],
        ["/index.html", "text/html; charset=utf-8", files["index.html"]],
        ["/assets/index-Ab3dE_fG.js", "text/javascript; charset=utf-8", "export {}"],
        ["/assets/style-12345678.css", "text/css; charset=utf-8", "body{}"],
        ["/assets/a%20b.svg", "image/svg+xml; charset=utf-8", "<svg/>"]
      ] as const) {
        const answer = yield* ask(path)
        expect([path, answer.status, answer.headers["content-type"], answer.text]).toEqual([path, 200, type, text])
      }
      expect(yield* ask("/", {}, "HEAD")).toMatchObject({ status: 200, text: "" })
    })
  )

  it.effect("is confined to its own origin", () =>
    Effect.gen(function* () {
      const { headers } = yield* (yield* Site)("/")
      const policy = String(headers["content-security-policy"])
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("script-src 'self';")
      expect(policy).toContain("connect-src 'self'")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toMatch(/unsafe|https?:|\*/)
      expect(headers).toMatchObject({ "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" })
    })
  )

  it.effect("is kept by browsers for ever where its name carries a hash, and asked for again where not", () =>
    Effect.gen(function* () {
      const ask = yield* Site
      const hashed = yield* ask("/assets/index-Ab3dE_fG.js")
      expect(hashed.headers["cache-control"]).toBe("public, max-age=31536000, immutable")
      const page = yield* ask("/")
      expect(page.headers["cache-control"]).toBe("no-cache")
      const again = yield* ask("/", { "if-none-match": String(page.headers.etag) })
      expect([again.status, again.text]).toEqual([304, ""])
    })
  )

  it.effect("takes the place of nothing that the service answers itself", () =>
    Effect.gen(function* () {
      const ask = yield* Site
      expect((yield* ask("/healthz")).text).toBe(`{"status":"ok"}`)
      expect((yield* ask("/docs")).text).toContain("<openapi-explorer ")
      expect((yield* ask("/openapi.json")).headers["content-type"]).toContain("application/json")
      expect((yield* ask("/readyz")).status).toBe(200)
      expect((yield* ask("/metrics")).status).toBe(200)
      expect((yield* ask("/api/v1/key")).status).toBe(401)
      expect((yield* ask("/api/v1/rerank")).status).toBe(405)
      expect((yield* ask("/api/v1/nothing", { accept: "text/html" })).status).toBe(404)
    })
  )

  it.effect("shows nothing beside its folder, and no folder's list", () =>
    Effect.gen(function* () {
      const ask = yield* Site
      for (const path of [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/assets/../../secret.txt",
        "/assets/..%5c..%5csecret.txt",
        "//secret.txt",
        "/secret.txt",
        "/assets",
        "/assets/",
        "/assets/nothing.js",
        "/index.html%00"
      ]) {
        const answer = yield* ask(path, { accept: "text/html" })
        expect([path, answer.status >= 400 && answer.status < 500]).toEqual([path, true])
        expect(answer.text).not.toContain("beside the folder")
      }
    })
  )
})

const script = `console.log(${JSON.stringify("a long script ".repeat(200))})`

const packedFiles: Files = {
  "index.html": "<!doctype html><title>the page</title>",
  "assets/index-Ab3dE_fG.js": script,
  "assets/index-Ab3dE_fG.js.br": brotliCompressSync(script),
  "assets/index-Ab3dE_fG.js.gz": gzipSync(script),
  "assets/old-12345678.css": "body{}",
  "assets/old-12345678.css.gz": gzipSync("body{}"),
  "data.tar.gz": "a file of its own"
}

it.layer(layer(packedFiles, { corsOrigins: ["https://app.example"] }), { excludeTestServices: true })(
  "a site with compressed forms of its files",
  (it) => {
    const path = "/assets/index-Ab3dE_fG.js"

    it.effect("sends the copy that the browser prefers, and says that others may get another", () =>
      Effect.gen(function* () {
        const ask = yield* Site
        const etags = new Set<unknown>()
        for (const [accept, coding, unpack] of [
          ["gzip, deflate, br, zstd", "br", brotliDecompressSync],
          ["br;q=0.5, gzip", "gzip", gunzipSync],
          ["gzip;q=0.1", "gzip", gunzipSync],
          ["deflate, zstd", undefined, (bytes: Buffer) => bytes],
          ["identity", undefined, (bytes: Buffer) => bytes]
        ] as const) {
          const answer = yield* ask(path, { "accept-encoding": accept })
          expect([accept, answer.status, answer.headers["content-encoding"]]).toEqual([accept, 200, coding])
          expect(unpack(answer.bytes).toString()).toBe(script)
          expect(answer.headers).toMatchObject({
            "content-type": "text/javascript; charset=utf-8",
            "content-length": String(answer.bytes.length),
            "cache-control": "public, max-age=31536000, immutable",
            vary: "Origin, Accept-Encoding"
          })
          expect(answer.headers["content-security-policy"]).toContain("default-src 'none'")
          etags.add(answer.headers.etag)
          const head = yield* ask(path, { "accept-encoding": accept }, "HEAD")
          expect([head.status, head.bytes.length, head.headers["content-encoding"]]).toEqual([200, 0, coding])
          expect(head.headers["content-length"]).toBe(answer.headers["content-length"])
          expect(head.headers.etag).toBe(answer.headers.etag)
        }
        expect(etags.size).toBe(3)
        const none = yield* ask(path)
        expect([none.headers["content-encoding"], none.text]).toEqual([undefined, script])
        expect(none.headers.vary).toBe("Origin, Accept-Encoding")
      })
    )

    it.effect("tells a browser that its copy is still good in the coding in which it has it", () =>
      Effect.gen(function* () {
        const ask = yield* Site
        const br = yield* ask(path, { "accept-encoding": "br" })
        const again = yield* ask(path, { "accept-encoding": "br", "if-none-match": String(br.headers.etag) })
        expect([again.status, again.text, again.headers.etag]).toEqual([304, "", br.headers.etag])
        expect(again.headers.vary).toBe("Origin, Accept-Encoding")
        const other = yield* ask(path, { "accept-encoding": "gzip", "if-none-match": String(br.headers.etag) })
        expect([other.status, other.headers["content-encoding"]]).toEqual([200, "gzip"])
      })
    )

    it.effect("sends parts of the plain file alone", () =>
      Effect.gen(function* () {
        const ask = yield* Site
        const packed = yield* ask(path, { "accept-encoding": "gzip", range: "bytes=0-9" })
        expect([packed.status, packed.headers["accept-ranges"]]).toEqual([200, "none"])
        expect(gunzipSync(packed.bytes).toString()).toBe(script)
        const plain = yield* ask(path, { "accept-encoding": "identity", range: "bytes=0-9" })
        expect([plain.status, plain.headers["accept-ranges"], plain.text]).toEqual([206, "bytes", script.slice(0, 10)])
      })
    )

    it.effect("sends a file uncompressed if it has no copy in the coding", () =>
      Effect.gen(function* () {
        const ask = yield* Site
        const css = yield* ask("/assets/old-12345678.css", { "accept-encoding": "br" })
        expect([css.status, css.headers["content-encoding"], css.text]).toEqual([200, undefined, "body{}"])
        const page = yield* ask("/", { "accept-encoding": "br, gzip" })
        expect([page.status, page.headers["content-encoding"], page.headers.vary]).toEqual([200, undefined, "Origin"])
      })
    )

    it.effect("sends a file uncompressed if its compressed copy was removed after the start", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const ask = yield* Site
        const css = "/assets/old-12345678.css"
        expect((yield* ask(css, { "accept-encoding": "gzip" })).headers["content-encoding"]).toBe("gzip")
        yield* fs.remove(`${yield* Folder}${css}.gz`)
        const plain = yield* ask(css, { "accept-encoding": "gzip" })
        expect([plain.status, plain.headers["content-encoding"], plain.text]).toEqual([200, undefined, "body{}"])
      })
    )

    it.effect("has no page of the compressed form itself, unless it is a file of its own", () =>
      Effect.gen(function* () {
        const ask = yield* Site
        expect((yield* ask(`${path}.br`)).status).toBe(404)
        expect((yield* ask(`${path}.gz`)).status).toBe(404)
        expect((yield* ask("/data.tar.gz")).text).toBe("a file of its own")
      })
    )
  }
)

describe("no site", () => {
  it.layer(layer({}), { excludeTestServices: true })("where the folder is not there", (it) => {
    it.effect("nothing is served at /, and all other paths are", () =>
      Effect.gen(function* () {
        const ask = yield* Site
        expect((yield* ask("/")).status).toBe(404)
        expect((yield* ask("/healthz")).status).toBe(200)
      })
    )
  })
})
