import { expect, it } from "@effect/vitest"
import { isFinal, Job } from "@model-gateway/core/Video"
import { Effect, Schema } from "effect"
import { layer, TestGateway } from "../TestGateway.ts"

const decodeJob = Schema.decodeUnknownSync(Schema.fromJsonString(Job))

const decodeModels = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({
      data: Schema.Array(Schema.Struct({ links: Schema.Struct({ details: Schema.String }) })),
      links: Schema.Struct({ next: Schema.NullOr(Schema.String) })
    })
  )
)

it.layer(layer({ basePath: "/gateway", wireNames: "openrouter" }), { excludeTestServices: true })(
  "below a base path",
  (it) => {
    it.effect("everything has one address, and the health checks another one at the root", () =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        for (const path of ["/api/v1/key", "/docs", "/openapi.json", "/metrics", "/healthz", "/readyz"]) {
          expect([path, (yield* ask(`/gateway${path}`)).status]).toEqual([path, 200])
        }
        for (const path of ["/healthz", "/readyz"]) expect((yield* ask(path)).status).toBe(200)
        for (const path of [
          "/",
          "/api/v1/key",
          "/metrics",
          "/docs",
          "/gatewayapi/v1/key",
          "/Gateway/api/v1/key",
          "/%67ateway/api/v1/key",
          "/gateway//api/v1/key",
          "/gateway/gateway/api/v1/key",
          "//gateway/api/v1/key",
          "/gateway;/api/v1/key"
        ]) {
          const { headers, status, text } = yield* ask(path)
          expect([path, status]).toEqual([path, 404])
          expect(text).toContain(String(headers["x-request-id"]))
        }
        expect((yield* ask("/api/v1/key")).text).toContain(
          "The paths of the API begin with /gateway/api/v1, and /gateway/docs lists them"
        )
        const { headers, status } = yield* ask("/gateway")
        expect([status, headers.location]).toEqual([308, "/gateway/"])
      })
    )

    it.effect("OPTIONS, parameters and the words on the wire are those of the operation", () =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        const options = yield* ask("/gateway/api/v1/rerank", { method: "OPTIONS", key: null })
        expect([options.status, options.headers.allow]).toEqual([204, "OPTIONS, POST"])
        // "openai" is a word of the wire, which the service knows as another one.
        expect((yield* ask("/gateway/api/v1/files?provider=openai")).text).not.toContain("Expected")
      })
    )

    it.effect("the reference and the document lead to the API", () =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        const page = (yield* ask("/gateway/docs")).text
        const links = [...page.matchAll(/(?:src|href|spec-url)="([^"]+)"/g)].map(([, link = ""]) => link)
        const paths = links
          .filter((link) => !link.startsWith("data:"))
          .map((link) => new URL(link, "http://x/gateway/docs").pathname)
        expect(paths).toContain("/gateway/docs/openapi-explorer.js")
        for (const path of paths) expect([path, (yield* ask(path)).status]).toEqual([path, 200])
        expect((yield* ask("/gateway/openapi.json")).text).toContain('"servers":[{"url":"/gateway/api/v1"')
      })
    )

    it.effect("links of models and paths of videos can be followed", () =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        const { data, links } = decodeModels((yield* ask("/gateway/api/v1/models?limit=1")).text)
        for (const path of [links.next, data[0]?.links.details]) {
          expect([path, (yield* ask(String(path))).status]).toEqual([path, 200])
        }
        const submitted = yield* ask("/gateway/api/v1/videos", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ model: "sandbox/title-card", prompt: "Dawn", duration: 1, size: "320x240" })
        })
        let job = decodeJob(submitted.text)
        const { polling_url } = job
        expect(polling_url).toBe(`/gateway/api/v1/videos/${job.id}`)
        while (!isFinal(job.status)) job = decodeJob((yield* ask(`${polling_url}?wait=20`)).text)
        const content = yield* ask(job.unsigned_urls?.[0] ?? "")
        expect([content.status, content.headers["content-type"]]).toEqual([200, "video/mp4"])
      })
    )
  }
)
