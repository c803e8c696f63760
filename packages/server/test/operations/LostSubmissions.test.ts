// The submission of a video through the whole service, at every adapter: if its answer is lost, the
// upstream has one job.
//
// A new adapter is in here by itself. One without built-in models needs an entry in `others`.
import { NodeHttpClient, NodeServices } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import type { Job } from "@model-gateway/core/Video"
import type { Model } from "@model-gateway/offers/Model"
import { gatewayCredential, type Offer, type VideoOffer } from "@model-gateway/offers/Offer"
import * as Video from "@model-gateway/offers/Video"
import { adapters, type AnyAdapter } from "@model-gateway/providers/Adapters"
import { type Double, type Recorded, type Scripted, startDouble } from "@model-gateway/test-doubles/Double"
import { Context, Effect, Layer, Redacted } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { layer } from "../TestGateway.ts"
import { make, newKey } from "./VideoUpstream.ts"

/** Models of the adapters that list their models themselves. */
const others: Readonly<Record<string, ReadonlyArray<Model>>> = Object.fromEntries(
  ["gateway", "openrouter"].map((name) => [
    name,
    [
      {
        kind: "video",
        publicId: `${name}/film`,
        upstreamId: "film",
        name: "Film",
        pricing: { unit: "second", microCredits: 10_000 }
      } satisfies Model
    ]
  ])
)

/** What happens to the answers to POST requests. The upstream has received them. */
const losses = {
  "is reset": { fault: "reset" },
  "is closed": { fault: "cut" },
  "breaks in the middle of the answer": { fault: "cutBody" },
  "is silent after the headers": { fault: "hangBody" },
  "is silent": { fault: "hang" }
} satisfies Readonly<Record<string, Scripted>>

/** An upstream that takes every job. */
interface Upstream {
  readonly adapter: AnyAdapter
  readonly double: Double
  readonly offer: VideoOffer
  lose: Scripted
}

class Upstreams extends Context.Service<Upstreams, ReadonlyArray<Upstream>>()("test/Upstreams") {}

const isVideo = (offer: Offer): offer is VideoOffer => offer.kind === "video"

const prompt = "a harbor"

/** Whether a prompt is all that the model needs. */
const takesPrompt = (offer: VideoOffer) =>
  Effect.map(
    Effect.exit(offer.check({ prompt })),
    ({ _tag }) => _tag === "Success" && Video.unsupported({ prompt }, offer.capabilities, offer.publicId).length === 0
  )

const start = Effect.fnUntraced(function* (adapter: AnyAdapter) {
  const state: { lose: Scripted } = { lose: {} }
  const double = yield* Effect.acquireRelease(
    Effect.promise(() =>
      startDouble({
        answerTo: ({ method }) => (method === "POST" ? state.lose : { status: 404, body: "not found" })
      })
    ),
    (double) => Effect.promise(() => double.close())
  )
  const upstream = {
    name: adapter.name,
    baseUrl: double.url,
    // In the form of Google Cloud's, which names the project. Any text is a key for the others.
    credential: gatewayCredential(Redacted.make("my-project:test-secret-0123456789")),
    timeLimit: "500 millis"
  } as const
  const models = (others[adapter.name] ?? adapter.models).filter(({ kind }) => kind === "video")
  for (const offer of (yield* adapter.offers(upstream, models)).filter(isVideo)) {
    if (yield* takesPrompt(offer)) return Object.assign(state, { adapter, double, offer }) satisfies Upstream
  }
  return expect.fail(`no model of ${adapter.name} makes a video of a prompt`)
})

const makers = adapters.filter(({ kinds }) => kinds.includes("video"))

const gateway = Layer.unwrap(
  Effect.map(Upstreams, (upstreams) =>
    layer(
      { circuits: { failures: 1000 } },
      upstreams.map(({ offer }) => [offer])
    )
  )
).pipe(
  Layer.provideMerge(Layer.effect(Upstreams, Effect.forEach(makers, start))),
  Layer.provide([NodeHttpClient.layerUndici, NodeServices.layer, SecureRandom.layerWebCrypto])
)

const posts = ({ state }: Double): ReadonlyArray<Recorded> => state.requests.filter(({ method }) => method === "POST")

describe("a video whose submission was received", () => {
  it.layer(gateway, { excludeTestServices: true })((it) => {
    const loseAt = Effect.fnUntraced(function* (name: string, scripted: Scripted) {
      const upstream = (yield* Upstreams).find(({ adapter }) => adapter.name === name)
      if (upstream === undefined) return expect.fail(`no upstream ${name}`)
      const { charges, key } = yield* newKey
      const before = posts(upstream.double).length
      upstream.lose = scripted
      const job: Job = yield* make(upstream.offer.publicId, key)
      expect(job.status).toBe("failed")
      expect(job.error).toContain("was not submitted again")
      expect(yield* charges).toEqual([])
      expect(posts(upstream.double).length - before).toBe(1)
    })

    for (const [loss, scripted] of Object.entries(losses)) {
      it.effect.each(makers.map(({ name }) => name))(`is made once at %s if the connection ${loss}`, (name) =>
        loseAt(name, scripted)
      )
    }
  })
})
