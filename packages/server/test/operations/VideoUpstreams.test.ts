// Videos through the whole service and an adapter, against doubles of the upstreams on sockets.
import { describe, expect, it } from "@effect/vitest"
import * as Fal from "@model-gateway/providers/Fal"
import * as Replicate from "@model-gateway/providers/Replicate"
import { Effect } from "effect"
import { startFalDouble } from "@model-gateway/test-doubles/FalDouble"
import { video } from "@model-gateway/test-doubles/JobDouble"
import { startReplicateDouble } from "@model-gateway/test-doubles/ReplicateDouble"
import { Accounting } from "../../src/accounting/Accounting.ts"
import { post } from "../TestEnvelope.ts"
import { TestGateway } from "../TestGateway.ts"
import { Double, gateway, make, newKey, type Upstream } from "./VideoUpstream.ts"

/** With what 8 seconds cost at the highest price. */
const upstreams: ReadonlyArray<Upstream> = [
  {
    name: "Replicate",
    adapter: Replicate.adapter,
    start: startReplicateDouble,
    path: "/v1",
    model: "replicate/google/veo-3.1-fast",
    cost: 1.2
  },
  { name: "fal", adapter: Fal.adapter, start: startFalDouble, path: "", model: "fal/fal-ai/veo3.1", cost: 3.2 }
]

/** What is reserved for jobs that are not over. */
const reserved = Effect.gen(function* () {
  const { workspace } = yield* TestGateway
  return (yield* (yield* Accounting).balanceOf(workspace.id))?.reserved
})

describe.each(upstreams)("POST /videos through $name", (upstream) => {
  const { cost, model, name } = upstream
  it.layer(gateway(upstream), { excludeTestServices: true })((it) => {
    it.effect("stores the finished video and charges the quote", () =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        const { charges, key } = yield* newKey
        const job = yield* make(model, key, { duration: 8 })
        expect(job).toMatchObject({ status: "completed", model, progress: 1, usage: { cost, is_byok: false } })
        const content = yield* ask(job.unsigned_urls?.[0] ?? "", { key })
        expect(content.status).toBe(200)
        expect(content.bytes).toEqual(Buffer.from(video))
        expect(yield* charges).toMatchObject([
          {
            operation: "video",
            model,
            provider: upstream.adapter.name,
            cost: cost * 1e6,
            usage: { seconds: 8, videos: 1 }
          }
        ])
        expect(yield* reserved).toBe(0)
      })
    )

    it.effect("fetches the video under a new link when the first one has expired", () =>
      Effect.gen(function* () {
        const { jobs, state } = yield* Double
        const { key } = yield* newKey
        jobs.next("expire")
        const before = state.requests.length
        expect((yield* make(model, key, { duration: 8 })).status).toBe("completed")
        const links = state.requests.slice(before).filter(({ url }) => url.startsWith("/files/"))
        expect(links.map(({ headers }) => headers["authorization"])).toEqual([undefined, undefined])
      })
    )

    it.effect.each([
      ["fail", /The input image at <redacted> is not readable/],
      ["lose", /^the provider no longer has the job$/],
      ["empty", /^the provider finished the job without a video$/]
    ] as const)("charges nothing for a job that ends with %s", ([outcome, error]) =>
      Effect.gen(function* () {
        const { jobs } = yield* Double
        const { charges, key } = yield* newKey
        jobs.next(outcome)
        const job = yield* make(model, key, { duration: 8 })
        expect(job.status).toBe("failed")
        expect(job.error).toMatch(error)
        expect(job.error).not.toMatch(/https?:|r8_|secret/)
        expect(yield* charges).toEqual([])
        expect(yield* reserved).toBe(0)
      })
    )

    it.effect.each(["cut", "cutBody"] as const)("asks once when the answer to the submission is lost: %s", (fault) =>
      Effect.gen(function* () {
        const { next, state } = yield* Double
        const { charges, key } = yield* newKey
        const before = state.requests.length
        next({ status: 201, fault })
        const job = yield* make(model, key, { duration: 8 })
        expect(job.status).toBe("failed")
        expect(job.error).toMatch(/It may have taken the job, so the job was not submitted again\. It costs nothing\.$/)
        expect(state.requests.length - before).toBe(1)
        expect(yield* charges).toEqual([])
        expect(yield* reserved).toBe(0)
      })
    )

    it.effect("rejects what the model does not support, without a call", () =>
      Effect.gen(function* () {
        const { state } = yield* Double
        const before = state.requests.length
        const answer = yield* post("/api/v1/videos", { model, prompt: "a harbor", duration: 5 }, {})
        expect(answer.status).toBe(400)
        expect(answer.text).toContain(`${model} makes videos of 4, 6, 8 seconds`)
        expect([name, state.requests.length]).toEqual([name, before])
      })
    )
  })
})
