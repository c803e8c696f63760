// Videos through the whole service and an adapter, against doubles of the upstreams on sockets.
import { NodeHttpClient } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { isFinal, Job } from "@model-gateway/core/Video"
import type { Adapter } from "@model-gateway/providers/Adapter"
import * as Fal from "@model-gateway/providers/Fal"
import { gatewayCredential } from "@model-gateway/providers/Offer"
import * as Replicate from "@model-gateway/providers/Replicate"
import { Context, Duration, Effect, Layer, Redacted, Schedule, Schema } from "effect"
import { startFalDouble } from "../../../providers/test/support/FalDouble.mjs"
import { type JobDouble, video } from "../../../providers/test/support/JobDouble.mjs"
import { startReplicateDouble } from "../../../providers/test/support/ReplicateDouble.mjs"
import { Accounting } from "../../src/accounting/Accounting.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import * as TestLedger from "../accounting/TestLedger.ts"
import { post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"

const secret = "upstream-secret-0123456789"

/** An upstream, and a request of 8 seconds at its highest price. */
interface Upstream {
  readonly name: string
  readonly adapter: Adapter
  readonly start: (options: { readonly keys: ReadonlyArray<string> }) => Promise<JobDouble>
  /** The base URL is that of the double with this path. */
  readonly path: string
  readonly model: string
  /** In credits. */
  readonly cost: number
}

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

class Double extends Context.Service<Double, JobDouble>()("test/Double") {}

/** A service with the adapter's offers, which calls a double. */
const gateway = ({ adapter, path, start }: Upstream) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { url } = yield* Double
      const credential = gatewayCredential(Redacted.make(secret))
      const upstream = { name: adapter.name, baseUrl: `${url}${path}`, credential }
      const offers = yield* adapter.offers(upstream, adapter.models)
      return layer({ circuits: { failures: 1000, openFor: Duration.seconds(10) } }, [offers])
    })
  ).pipe(
    Layer.provideMerge(
      Layer.effect(
        Double,
        Effect.acquireRelease(
          Effect.promise(() => start({ keys: [secret] })),
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
  const accepted = yield* post("/api/v1/videos", { model, prompt: "a harbor", duration: 8 }, { key })
  expect({ status: accepted.status, text: accepted.text }).toMatchObject({ status: 202 })
  const { id } = decode(accepted.text)
  return yield* ask(`/api/v1/videos/${id}?wait=30`, { key }).pipe(
    Effect.map(({ text }) => decode(text)),
    Effect.repeat({ until: ({ status }) => isFinal(status), schedule: Schedule.spaced("20 millis") })
  )
})

/** What is held for jobs that are not over. */
const held = Effect.gen(function* () {
  const { workspace } = yield* TestGateway
  return (yield* (yield* Accounting).balanceOf(workspace.id))?.held
})

describe.each(upstreams)("POST /videos through $name", (upstream) => {
  const { cost, model, name } = upstream
  it.layer(gateway(upstream), { excludeTestServices: true })((it) => {
    it.effect("stores the finished video and charges the quote", () =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        const { charges, key } = yield* newKey
        const job = yield* make(model, key)
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
        expect(yield* held).toBe(0)
      })
    )

    it.effect("fetches the video under a new link when the first one has expired", () =>
      Effect.gen(function* () {
        const { jobs, state } = yield* Double
        const { key } = yield* newKey
        jobs.next("expire")
        const before = state.requests.length
        expect((yield* make(model, key)).status).toBe("completed")
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
        const job = yield* make(model, key)
        expect(job.status).toBe("failed")
        expect(job.error).toMatch(error)
        expect(job.error).not.toMatch(/https?:|r8_|secret/)
        expect(yield* charges).toEqual([])
        expect(yield* held).toBe(0)
      })
    )

    it.effect.each(["cut", "cutBody"] as const)("asks once when the answer to the submission is lost: %s", (fault) =>
      Effect.gen(function* () {
        const { next, state } = yield* Double
        const { charges, key } = yield* newKey
        const before = state.requests.length
        next({ status: 201, fault })
        const job = yield* make(model, key)
        expect(job.status).toBe("failed")
        expect(job.error).toMatch(/It may have taken the job, so the job was not submitted again\. It costs nothing\.$/)
        expect(state.requests.length - before).toBe(1)
        expect(yield* charges).toEqual([])
        expect(yield* held).toBe(0)
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
