/** Which operations count against a key's rate limit, over HTTP. */
import { expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { all } from "../../src/http/Operations.ts"
import { type Ask, form, formHeaders, layer, TestGateway } from "../TestGateway.ts"
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
  // Counted before its body turns out to be no audio.
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
  createEphemeralKey: ["/api/v1/keys/ephemeral", { method: "POST" }]
})

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
