// Videos through the whole service and upstreams that limit how often a job may be polled, against
// doubles on sockets. Their jobs are done at the first poll.
import { describe, expect, it } from "@effect/vitest"
import * as Google from "@model-gateway/providers/Google"
import * as Runway from "@model-gateway/providers/Runway"
import { Effect } from "effect"
import { startGoogleDouble } from "@model-gateway/test-doubles/GoogleDouble"
import { video } from "@model-gateway/test-doubles/JobDouble"
import { startRunwayDouble } from "@model-gateway/test-doubles/RunwayDouble"
import { post } from "../TestEnvelope.ts"
import { TestGateway } from "../TestGateway.ts"
import { Double, gateway, make, newKey, type Upstream } from "./VideoUpstream.ts"

interface PolledUpstream extends Upstream {
  /** What a caller reads of a job that failed, and of one without a video. */
  readonly failed: RegExp
  readonly empty: RegExp
}

const upstreams: ReadonlyArray<PolledUpstream> = [
  {
    name: "Runway",
    adapter: Runway.adapter,
    start: (options) => startRunwayDouble({ ...options, polls: 1 }),
    path: "",
    model: "runway/gen4.5",
    cost: 0.6,
    failed: /^the provider could not make the video$/,
    empty: /^the provider finished the job without a video$/
  },
  {
    name: "Google",
    adapter: Google.adapter,
    start: (options) => startGoogleDouble({ ...options, polls: 1 }),
    path: "/v1beta",
    model: "google/gemini-omni-1.1-flash",
    cost: 0.5068,
    failed: /^The input image at <redacted> is not readable \(<redacted>\)$/,
    empty: /^the provider made no video, as when its safety filters reject the input$/
  }
]

describe.each(upstreams)("POST /videos through $name", (upstream) => {
  const { cost, empty, failed, model } = upstream
  it.layer(gateway(upstream), { excludeTestServices: true })((it) => {
    it.effect("stores the finished video and charges the quote", () =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        const { charges, key } = yield* newKey
        const job = yield* make(model, key)
        expect(job).toMatchObject({ status: "completed", model, usage: { cost, is_byok: false } })
        const content = yield* ask(job.unsigned_urls?.[0] ?? "", { key })
        expect([content.status, content.bytes]).toEqual([200, Buffer.from(video)])
        expect(yield* charges).toMatchObject([
          { operation: "video", model, provider: upstream.adapter.name, cost: cost * 1e6, usage: { seconds: 5 } }
        ])
      })
    )

    it.effect("charges nothing for a job that fails, or ends without a video", () =>
      Effect.gen(function* () {
        const { jobs } = yield* Double
        const { charges, key } = yield* newKey
        jobs.next("fail", "empty")
        const errors = [(yield* make(model, key)).error, (yield* make(model, key)).error]
        expect(errors).toEqual([expect.stringMatching(failed), expect.stringMatching(empty)])
        expect(yield* charges).toEqual([])
      })
    )

    it.effect("asks once when the answer to the submission is lost", () =>
      Effect.gen(function* () {
        const { next, state } = yield* Double
        const { charges, key } = yield* newKey
        const before = state.requests.length
        next({ fault: "cut" })
        const job = yield* make(model, key)
        expect([job.status, job.error]).toEqual(["failed", expect.stringContaining("It costs nothing.")])
        expect(state.requests).toHaveLength(before + 1)
        expect(yield* charges).toEqual([])
      })
    )

    it.effect("refuses what the model does not make, without a call", () =>
      Effect.gen(function* () {
        const { state } = yield* Double
        const before = state.requests.length
        const answer = yield* post("/api/v1/videos", { model, prompt: "a harbor", duration: 60 })
        expect([answer.status, state.requests.length]).toEqual([400, before])
      })
    )
  })
})
