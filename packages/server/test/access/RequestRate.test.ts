/** Which operations count against a key's rate limit, over HTTP. */
import { expect, it } from "@effect/vitest"
import { Duration, Effect, Schema } from "effect"
import { all } from "../../src/http/Routes.ts"
import { type Answer, type Ask, form, formHeaders, layer, TestGateway } from "../TestGateway.ts"
import { post } from "../TestEnvelope.ts"

const json = (body: object): Ask => ({
  method: "POST",
  body: JSON.stringify(body),
  headers: { "content-type": "application/json" }
})

const upload = {
  method: "POST",
  headers: formHeaders,
  body: form({ name: "purpose", value: "p" }, { name: "file", filename: "a", value: "a" })
}

const film = { model: "sandbox/title-card", prompt: "tea", duration: 1, resolution: "480p" }

const identified = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ id: Schema.String })))

/** One request of each operation that has a 429, for a file and a job that exist. */
const requestsFor = (
  file: string,
  job: string
): { readonly [operation: string]: readonly [path: string, ask: Ask] } => ({
  uploadFile: ["/api/v1/files", upload],
  listFiles: ["/api/v1/files", {}],
  getFile: [`/api/v1/files/${file}`, {}],
  fileContent: [`/api/v1/files/${file}/content`, {}],
  deleteFile: [`/api/v1/files/${file}`, { method: "DELETE" }],
  rerank: ["/api/v1/rerank", json({ model: "sandbox/bm25", query: "tea", documents: ["tea"] })],
  cohereRerank: ["/api/v1/v2/rerank", json({ model: "sandbox/bm25", query: "tea", documents: ["tea"] })],
  cohereRerankV1: ["/api/v1/v1/rerank", json({ model: "sandbox/bm25", query: "tea", documents: ["tea"] })],
  transcribe: ["/api/v1/audio/transcriptions", json({ model: "sandbox/pace", input_audio: {} })],
  submitVideo: ["/api/v1/videos", json(film)],
  listVideos: ["/api/v1/videos", {}],
  getVideo: [`/api/v1/videos/${job}`, {}],
  videoContent: [`/api/v1/videos/${job}/content`, {}],
  cancelVideo: [`/api/v1/videos/${job}/cancel`, { method: "POST" }],
  listModels: ["/api/v1/models", {}],
  countModels: ["/api/v1/models/count", {}],
  getModel: ["/api/v1/model/sandbox/bm25", {}],
  listModelEndpoints: ["/api/v1/models/sandbox/bm25/endpoints", {}],
  listVideoModels: ["/api/v1/videos/models", {}],
  listProviders: ["/api/v1/providers", {}],
  estimate: ["/api/v1/estimate", json({ operation: "rerank", request: {} })],
  createEphemeralKey: ["/api/v1/keys/ephemeral", { method: "POST" }]
})

const rerank = { model: "sandbox/bm25", query: "tea", documents: ["tea"] }

/** The requests that a key has left after an answer. */
const leftOf = ({ headers }: Answer): number => Number(/;r=(\d+);/.exec(String(headers["ratelimit"]))?.[1])

/** A request with each kind of answer that is not a success, and that status. */
const refused: ReadonlyArray<readonly [status: number, path: string, ask: Ask]> = [
  [400, "/api/v1/rerank", json({ ...rerank, documents: [] })],
  [400, "/api/v1/rerank", { ...json(rerank), body: "{" }],
  [400, "/api/v1/rerank", { ...json(rerank), headers: { "content-type": "text/plain" } }],
  [400, "/api/v1/audio/transcriptions", json({ model: "sandbox/pace", input_audio: {} })],
  [400, "/api/v1/videos", json({ ...film, duration: -1 })],
  [400, "/api/v1/files?limit=x", {}],
  [404, "/api/v1/rerank", json({ ...rerank, model: "acme/none" })],
  [404, "/api/v1/videos/none", {}],
  [404, "/api/v1/files/file_none", {}],
  [404, "/api/v1/files/%20", { method: "DELETE" }],
  [404, "/api/v1/model/acme/none", {}],
  [413, "/api/v1/rerank", json({ ...rerank, query: "q".repeat(4096) })]
]

it.layer(layer({ rateLimit: { requests: 100, window: Duration.hours(1) }, bodyLimits: { rerank: 2048 } }), {
  excludeTestServices: true
})("a refused request", (it) => {
  it.effect("counts once, whatever its answer [spec T11]", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      let left = leftOf(yield* ask("/api/v1/files"))
      for (const [status, path, how] of refused) {
        const answer = yield* ask(path, how)
        expect([path, answer.status, leftOf(answer)]).toEqual([path, status, --left])
      }
    })
  )

  it.effect("counts once when the key may not make it", () =>
    Effect.gen(function* () {
      const { ask, managementKey } = yield* TestGateway
      const counts: Array<number> = []
      for (let n = 0; n < 3; n++) {
        const answer = yield* ask("/api/v1/rerank", { ...json(rerank), key: managementKey })
        expect(answer.status).toBe(403)
        counts.push(leftOf(answer))
      }
      const [first = 0] = counts
      expect(counts).toEqual([first, first - 1, first - 2])
    })
  )

  it.effect("counts once when its answer is a repeated one", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const how = json(rerank)
      const paid = { ...how, headers: { ...how.headers, "idempotency-key": "once" } }
      const first = yield* ask("/api/v1/rerank", paid)
      const second = yield* ask("/api/v1/rerank", paid)
      expect([second.status, second.headers["idempotent-replayed"]]).toEqual([200, "true"])
      expect(leftOf(second)).toBe(leftOf(first) - 1)
    })
  )
})

it.layer(layer({ rateLimit: { requests: 1, window: Duration.hours(1) } }), { excludeTestServices: true })(
  "a key with no requests left",
  (it) => {
    it.effect("gets a 403 before the 429, and the 429 before a 400, a 404 and a 413 [spec T11 J15 L27 M28 N52]", () =>
      Effect.gen(function* () {
        const { ask, managementKey } = yield* TestGateway
        yield* ask("/api/v1/files")
        yield* ask("/api/v1/files", { key: managementKey })
        expect((yield* ask("/api/v1/rerank", { ...json(rerank), key: managementKey })).status).toBe(403)
        for (const [, path, how] of refused) {
          const answer = yield* ask(path, how)
          expect([path, answer.status]).toEqual([path, 429])
          expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0)
        }
      })
    )
  }
)

it.layer(layer(), { excludeTestServices: true })("a request", (it) => {
  it.effect("of each operation that has a 429 counts against its key's rate limit", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const file = identified((yield* ask("/api/v1/files", upload)).text).id
      const job = identified((yield* post("/api/v1/videos", film)).text).id
      const requests = requestsFor(file, job)
      const limited = all.filter(({ isRateLimited }) => isRateLimited).map(({ name }) => name)
      expect(new Set(Object.keys(requests))).toEqual(new Set(limited))
      for (const [name, [path, how]] of Object.entries(requests)) {
        const { headers } = yield* ask(path, how)
        expect([name, headers["ratelimit"]]).toEqual([name, expect.stringContaining('"default";r=')])
      }
    })
  )

  it.effect("of an operation without a 429 does not count", () =>
    Effect.gen(function* () {
      const { ask, managementKey } = yield* TestGateway
      for (const { isRateLimited, method, name, path } of all) {
        if (isRateLimited || method !== "GET") continue
        const { headers } = yield* ask(path.replaceAll(/:\w+/g, "x"), { key: managementKey })
        expect([name, headers["ratelimit"]]).toEqual([name, undefined])
      }
    })
  )
})
