import { NodeHttpServer, NodeServices } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer, Path } from "effect"
import { HttpServer } from "effect/http"
import { createServer, type IncomingHttpHeaders, request } from "node:http"
import * as GatewayServer from "../../src/GatewayServer.ts"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import { temporaryFolder } from "../storage/TestStorage.ts"

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Asks the service that serves the site, by the path as it is written. */
class Site extends Context.Service<
  Site,
  (path: string, headers?: Record<string, string>, method?: string) => Effect.Effect<Answer>
>()("test/Site") {}

const files: Readonly<Record<string, string>> = {
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
        let text = ""
        response.setEncoding("utf8")
        response.on("data", (chunk: string) => (text += chunk))
        response.on("end", () =>
          resume(Effect.succeed({ status: response.statusCode ?? 0, headers: response.headers, text }))
        )
      }).end()
    })

const layer = (content: Readonly<Record<string, string>>) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const folder = yield* temporaryFolder
      const dir = path.join(folder, "web")
      for (const [name, text] of Object.entries(content)) {
        yield* fs.makeDirectory(path.dirname(path.join(dir, name)), { recursive: true })
        yield* fs.writeFileString(path.join(dir, name), text)
      }
      yield* fs.writeFileString(path.join(folder, "secret.txt"), "beside the folder")
      return Layer.effect(
        Site,
        Effect.map(HttpServer.HttpServer, ({ address }) => ask("port" in address ? address.port : 0))
      ).pipe(Layer.provideMerge(GatewayServer.layerSqlite({ dataDir: path.join(folder, "data"), web: { dir } })))
    })
  ).pipe(
    Layer.provideMerge(
      NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1", gracefulShutdownTimeout: "2 seconds" })
    ),
    Layer.provideMerge(NodeServices.layer),
    Layer.provide(GatewayServerConfig.layer()),
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
      expect((yield* ask("/docs")).text).toContain("swagger")
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

describe("no site", () => {
  it.layer(layer({}), { excludeTestServices: true })("where the folder is not there", (it) => {
    it.effect("nothing is served at /, and the rest is", () =>
      Effect.gen(function* () {
        const ask = yield* Site
        expect((yield* ask("/")).status).toBe(404)
        expect((yield* ask("/healthz")).status).toBe(200)
      })
    )
  })
})
