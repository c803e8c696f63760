import { NodeHttpServer, NodeServices } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer, Path } from "effect"
import { HttpServer } from "effect/http"
import { createServer } from "node:http"
import * as Composition from "../../src/Composition.ts"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import { temporaryFolder } from "../TestStorage.ts"

/** Asks the service that serves the application, without following redirects. */
class Application extends Context.Service<Application, (path: string) => Effect.Effect<Response>>()(
  "test/Application"
) {}

const files = {
  "play.html": "<!doctype html><title>playground</title>",
  "console/index.html": "<!doctype html><title>console</title>",
  "assets/index-Ab3dE_fG.js": "export {}"
}

const layer = (
  served: { readonly hasPlayground: boolean; readonly console?: {} },
  content: Readonly<Record<string, string>> = files,
  config: GatewayServerConfig.Options = {}
) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const folder = yield* temporaryFolder
      const dir = path.join(folder, "web")
      for (const [name, text] of Object.entries(content)) {
        const file = path.join(dir, name)
        yield* fs.makeDirectory(path.dirname(file), { recursive: true })
        yield* fs.writeFileString(file, text)
      }
      const { console, hasPlayground } = served
      return Layer.effect(
        Application,
        Effect.map(HttpServer.HttpServer, ({ address }) => {
          const port = "port" in address ? address.port : 0
          return (path) => Effect.promise(() => fetch(`http://127.0.0.1:${port}${path}`, { redirect: "manual" }))
        })
      ).pipe(
        Layer.provideMerge(
          Composition.layer({ dataDir: folder, offers: [], application: { dir, hasPlayground }, console })
        ),
        Layer.provide(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })),
        Layer.provide(GatewayServerConfig.layer(config))
      )
    })
  ).pipe(Layer.provide(NodeServices.layer))

const titleOf = (response: Response) =>
  Effect.map(
    Effect.promise(() => response.text()),
    (text) => /<title>(.*)<\/title>/.exec(text)?.[1]
  )

it.layer(layer({ hasPlayground: true, console: {} }, files, { basePath: "/gateway" }), { excludeTestServices: true })(
  "the web application",
  (it) => {
    it.effect("has the playground at /play, and the console at /console and its pages", () =>
      Effect.gen(function* () {
        const ask = yield* Application
        const origin = "http://x/gateway"
        const leadsTo = (path: string) =>
          Effect.map(ask(`/gateway${path}`), ({ headers, status }) => [
            status,
            new URL(headers.get("location") ?? "", origin + path).href
          ])
        expect(yield* leadsTo("/")).toEqual([302, `${origin}/play`])
        expect(yield* leadsTo("/?model=a%2Fb")).toEqual([302, `${origin}/play?model=a%2Fb`])
        expect(yield* leadsTo("/console")).toEqual([302, `${origin}/console/`])
        expect(yield* titleOf(yield* ask("/gateway/play"))).toBe("playground")
        for (const path of ["/console/", "/console/?range=1h", "/console/requests", "/console/requests?id=1"]) {
          const answer = yield* ask(`/gateway${path}`)
          expect([path, answer.status, yield* titleOf(answer)]).toEqual([path, 200, "console"])
        }
        for (const path of ["/console/requests/1", "/console/api/", "/play/", "/console//", "/play.html"]) {
          expect([path, (yield* ask(`/gateway${path}`)).status >= 400]).toEqual([path, true])
        }
      })
    )

    it.effect("has pages that run no inline code and are in no frame, and files that are kept", () =>
      Effect.gen(function* () {
        const ask = yield* Application
        for (const path of ["/play", "/console/", "/console/keys"]) {
          const { headers } = yield* ask(`/gateway${path}`)
          const policy = headers.get("content-security-policy") ?? ""
          for (const part of [
            "script-src 'self'",
            "style-src 'self'",
            "frame-ancestors 'none'",
            "default-src 'none'"
          ]) {
            expect([path, policy.split("; ").includes(part)]).toEqual([path, true])
          }
          expect(headers.get("cache-control")).toBe("no-cache")
        }
        const asset = yield* ask("/gateway/assets/index-Ab3dE_fG.js")
        expect(asset.headers.get("cache-control")).toBe("public, max-age=31536000, immutable")
        expect(asset.headers.get("content-type")).toContain("javascript")
      })
    )

    it.effect("does not hide the sessions", () =>
      Effect.gen(function* () {
        expect((yield* (yield* Application)("/gateway/console/session")).status).toBe(200)
      })
    )
  }
)

it.layer(layer({ hasPlayground: true }), { excludeTestServices: true })("without the console", (it) => {
  it.effect("the playground is served, and /console says that it is switched off", () =>
    Effect.gen(function* () {
      const ask = yield* Application
      expect((yield* ask("/play")).status).toBe(200)
      const off = yield* ask("/console/keys")
      expect(off.status).toBe(404)
      expect(yield* Effect.promise(() => off.text())).toContain("--console on")
    })
  )
})

it.layer(layer({ hasPlayground: false, console: {} }), { excludeTestServices: true })(
  "without the playground",
  (it) => {
    it.effect("the console is served, and / is not", () =>
      Effect.gen(function* () {
        const ask = yield* Application
        expect((yield* ask("/console/")).status).toBe(200)
        expect((yield* ask("/assets/index-Ab3dE_fG.js")).status).toBe(200)
        expect([(yield* ask("/")).status, (yield* ask("/play")).status]).toEqual([404, 404])
      })
    )
  }
)

it.layer(layer({ hasPlayground: true, console: {} }, {}), { excludeTestServices: true })("without a build", (it) => {
  it.effect("nothing is served, and sessions are", () =>
    Effect.gen(function* () {
      const ask = yield* Application
      expect([(yield* ask("/")).status, (yield* ask("/console/session")).status]).toEqual([404, 200])
    })
  )
})
