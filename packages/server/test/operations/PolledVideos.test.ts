// Videos through the whole service and upstreams that limit how often a job may be polled, against
// doubles on sockets. Their jobs are done at the first poll.
import { NodeHttpClient } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { isFinal, Job } from "@model-gateway/core/Video"
import type { Adapter } from "@model-gateway/providers/Adapter"
import * as Google from "@model-gateway/providers/Google"
import { gatewayCredential } from "@model-gateway/providers/Offer"
import * as Runway from "@model-gateway/providers/Runway"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { startGoogleDouble } from "../../../providers/test/support/GoogleDouble.mjs"
import { type JobDouble, video } from "../../../providers/test/support/JobDouble.mjs"
import { startRunwayDouble } from "../../../providers/test/support/RunwayDouble.mjs"
import { KeyStore } from "../../src/access/KeyStore.ts"
import * as TestLedger from "../accounting/TestLedger.ts"
import { post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"

const secret = "upstream-secret-0123456789"

interface Upstream {
  readonly name: string
  readonly adapter: Adapter
  readonly start: (options: { readonly keys: ReadonlyArray<string>; readonly polls: number }) => Promise<JobDouble>
  /** The base URL is that of the double with this path. */
  readonly path: string
  readonly model: string
  /** Of 5 seconds, in credits. */
  readonly cost: number
  /** What a caller reads of a job that failed, and of one without a video. */
  readonly failed: RegExp
  readonly empty: RegExp
}

const upstreams: ReadonlyArray<Upstream> = [
  {
    name: "Runway",
    adapter: Runway.adapter,
    start: startRunwayDouble,
    path: "",
    model: "runway/gen4.5",
    cost: 0.6,
    failed: /^the provider could not make the video$/,
    empty: /^the provider finished the job without a video$/
  },
  {
    name: "Google",
    adapter: Google.adapter,
    start: startGoogleDouble,
    path: "/v1beta",
    model: "google/gemini-omni-1.1-flash",
    cost: 0.5068,
    failed: /^The input image at <redacted> is not readable \(<redacted>\)$/,
    empty: /^the provider made no video, as when its safety filters reject the input$/
  }
]

class Double extends Context.Service<Double, JobDouble>()("test/Double") {}

/** A service with the adapter's offers, which calls a double. */
const gateway = ({ adapter, path, start }: Upstream) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { url } = yield* Double
      const credential = gatewayCredential(Redacted.make(secret))
      const upstream = { name: adapter.name, baseUrl: `${url}${path}`, credential }
      const offers = yield* adapter.offers(upstream, adapter.models)
      return layer({ circuits: { failures: 1000 } }, [offers])
    })
  ).pipe(
    Layer.provideMerge(
      Layer.effect(
        Double,
        Effect.acquireRelease(
          Effect.promise(() => start({ keys: [secret], polls: 1 })),
          (double) => Effect.promise(() => double.close())
        )
      )
    ),
    Layer.provide(NodeHttpClient.layerUndici)
  )

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Job))

/** A new key of the test's workspace, and what it was charged. */
const newKey = Effect.gen(function* () {
  const { workspace } = yield* TestGateway
  const { key, plain } = yield* (yield* KeyStore).create({
    organizationId: workspace.organizationId,
    workspaceId: workspace.id,
    name: "test"
  })
  return { key: Redacted.value(plain), charges: TestLedger.usageOf({ keyHash: key.hash }) }
})

/** Submits a job, and returns it when it is over. */
const make = Effect.fnUntraced(function* (model: string, key: string) {
  const { ask } = yield* TestGateway
  const accepted = yield* post("/api/v1/videos", { model, prompt: "a harbor" }, { key })
  expect({ status: accepted.status, text: accepted.text }).toMatchObject({ status: 202 })
  let job = decode(accepted.text)
  while (!isFinal(job.status)) job = decode((yield* ask(`${job.polling_url}?wait=30`, { key })).text)
  return job
})

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
