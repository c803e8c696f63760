import { describe, expect, it } from "@effect/vitest"
import type { VideoModel } from "@model-gateway/offers/Model"
import type { Offer, VideoOffer } from "@model-gateway/offers/Offer"
import { videoCost } from "@model-gateway/offers/Pricing"
import { ProviderError, Unavailable } from "@model-gateway/offers/ProviderError"
import { Effect, Layer, Redacted, Schema } from "effect"
import { ProviderKeys } from "../../src/access/ProviderKeys.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import * as ModelCatalog from "../../src/routing/ModelCatalog.ts"
import * as AcceptedModel from "../../src/video/AcceptedModel.ts"
import type { VideoQueue } from "../../src/video/VideoQueue.ts"
import { layer as layerWorker, type VideoWorker } from "../../src/video/VideoWorker.ts"
import { layer, makeUpstream, model, payer, submit, type Upstream } from "./TestVideo.ts"
import { charged, money, read, untouched, workUntil, workUntilOver } from "./TestWorker.ts"

const modelAt = (microCredits: number): VideoModel => ({
  kind: "video",
  publicId: "test/film",
  upstreamId: "test/film",
  name: "Film",
  pricing: { unit: "second", microCredits }
})

/** The price of the submissions: 50,000 micro-credits for 5 seconds. */
const promised = modelAt(10_000)
const accepted = AcceptedModel.of(promised)

const decode = Schema.decodeUnknownSync(AcceptedModel.AcceptedModel)

/** The upstream's offer of a model, which charges the model's price. */
const offerOf = ({ offers: [offer] }: Upstream, declared: VideoModel): VideoOffer => {
  if (offer?.kind !== "video") throw new Error("The upstream of the tests makes videos.")
  return {
    ...offer,
    pricing: declared.pricing,
    model: declared,
    poll: (job, credential) =>
      Effect.map(offer.poll(job, credential), (status) =>
        status.status === "completed"
          ? { ...status, charge: { ...status.charge, cost: videoCost(declared.pricing, { seconds: 5 }) } }
          : status
      )
  }
}

/** A catalog that the test can replace. */
interface Catalog {
  offers: ReadonlyArray<Offer>
  /** Default: it makes the offers of the upstreams. */
  makeVideoOffer: ModelCatalog.MakeVideoOffer
}

/** At first, the catalog has the providers `test` and `second` at the price of the submissions. */
const testing = <A, E>(
  test: (
    catalog: Catalog,
    first: Upstream,
    second: Upstream
  ) => Effect.Effect<A, E, VideoWorker | VideoQueue | Layer.Success<ReturnType<typeof layer>>>
) =>
  Effect.suspend(() => {
    const [first, second] = [makeUpstream(), makeUpstream([model], "second")]
    const catalog: Catalog = {
      offers: [offerOf(first, promised), offerOf(second, promised)],
      makeVideoOffer: (provider, declared) => Effect.succeed(offerOf(provider === "second" ? second : first, declared))
    }
    const current = () => ModelCatalog.make(catalog.offers, catalog.makeVideoOffer)
    return Effect.provide(
      test(catalog, first, second),
      layerWorker().pipe(
        Layer.provide(Layer.succeed(ModelCatalog.ModelCatalog, ModelCatalog.delegate(current))),
        Layer.provideMerge(layer(first.offers, second.offers))
      )
    )
  })

/** Works until an upstream has the job. It does not end before `end`. */
const acceptedBy = Effect.fnUntraced(function* (upstream: Upstream, id: string) {
  const { poll } = upstream
  upstream.poll = () => Effect.succeed({ status: "in_progress" })
  yield* workUntil(Effect.map(read(id), ({ handle }) => handle !== null && upstream.polls > 0))
  return {
    end: Effect.suspend(() => {
      upstream.poll = poll
      return workUntilOver(id)
    })
  }
})

describe("a video job whose model changes before it ends", () => {
  it.effect("costs what it was accepted for", () =>
    testing((catalog, upstream) =>
      Effect.gen(function* () {
        const by = yield* payer()
        const job = yield* submit(by, { accepted })
        const { end } = yield* acceptedBy(upstream, job.id)
        catalog.offers = [offerOf(upstream, modelAt(90_000))]
        yield* end
        expect(yield* money(by.workspaceId)).toEqual(charged)
      })
    )
  )

  it.effect("is finished if its model left the catalog when an upstream had it, and not submitted before that", () =>
    testing((catalog, upstream) =>
      Effect.gen(function* () {
        const by = yield* payer()
        const job = yield* submit(by, { accepted })
        const { end } = yield* acceptedBy(upstream, job.id)
        const late = yield* submit(by, { accepted })
        catalog.offers = []
        yield* end
        expect(yield* read(job.id)).toMatchObject({ status: "completed" })
        expect(yield* money(by.workspaceId)).toMatchObject({ balance: charged.balance })
        yield* workUntilOver(late.id)
        expect(yield* read(late.id)).toMatchObject({
          status: "failed",
          error: "the provider test no longer has the model, or the gateway no longer has its credential"
        })
        expect(upstream.submissions).toHaveLength(1)
        expect(yield* money(by.workspaceId)).toMatchObject(charged)
      })
    )
  )

  it.effect("fails if its upstream is no longer configured either", () =>
    testing((catalog, upstream) =>
      Effect.gen(function* () {
        const by = yield* payer()
        const job = yield* submit(by, { accepted })
        const { end } = yield* acceptedBy(upstream, job.id)
        catalog.offers = []
        catalog.makeVideoOffer = () => Effect.undefined
        yield* end
        expect(yield* read(job.id)).toMatchObject({ status: "failed" })
        expect(yield* money(by.workspaceId)).toEqual(untouched)
      })
    )
  )

  it.effect("costs what the provider that took it promised, each of several at its own price", () =>
    testing((catalog, first, second) =>
      Effect.gen(function* () {
        first.submit = () => Effect.fail(new ProviderError({ reason: new Unavailable({}) }))
        const by = yield* payer()
        const other = { provider: "second", upstream_model: "test/film", credential: "gateway", cost_micro: 100_000 }
        const fallbacks = [{ ...other, model: AcceptedModel.of(modelAt(20_000)) }]
        const job = yield* submit(by, { accepted, fallbacks })
        const { end } = yield* acceptedBy(second, job.id)
        catalog.offers = [offerOf(second, modelAt(90_000))]
        yield* end
        expect(yield* money(by.workspaceId)).toMatchObject({ balance: 900_000, reserved: 0 })
      })
    )
  )

  it.effect("keeps the provider key that it was submitted with, and the cost that is shown for it", () =>
    testing((catalog, upstream) =>
      Effect.gen(function* () {
        const by = yield* payer()
        const { organizationId } = yield* (yield* WorkspaceStore).find(by.workspaceId)
        const owner = { organizationId, workspaceId: by.workspaceId }
        const { id } = yield* (yield* ProviderKeys).create({ ...owner, provider: "test", secret: Redacted.make("own") })
        const job = yield* submit(by, { accepted, credential: `byok_${id}` })
        const { end } = yield* acceptedBy(upstream, job.id)
        catalog.offers = [offerOf(upstream, modelAt(90_000))]
        yield* end
        expect(yield* read(job.id)).toMatchObject({ status: "completed", isByok: true, cost: 50_000 })
        expect(new Set(upstream.credentials)).toEqual(new Set([`byok_${id}`]))
      })
    )
  )

  it.effect.each([
    { title: "costs the price when it ends, if it was accepted before jobs kept their model", keeps: undefined },
    {
      title: "costs the price when it ends, if its provider can no longer offer the model as it was",
      keeps: accepted,
      makeVideoOffer: () => Effect.undefined
    }
  ])("$title", ({ keeps, makeVideoOffer }) =>
    testing((catalog, upstream) =>
      Effect.gen(function* () {
        const by = yield* payer()
        const job = yield* submit(by, keeps && { accepted: keeps })
        const { end } = yield* acceptedBy(upstream, job.id)
        catalog.offers = [offerOf(upstream, modelAt(90_000))]
        if (makeVideoOffer !== undefined) catalog.makeVideoOffer = makeVideoOffer
        yield* end
        expect(yield* money(by.workspaceId)).toMatchObject({ balance: 550_000, reserved: 0 })
      })
    )
  )

  it.effect("is polled by the offer of the catalog, if the model is as it was", () =>
    testing((catalog, upstream) =>
      Effect.gen(function* () {
        const by = yield* payer()
        const job = yield* submit(by, { accepted })
        const { end } = yield* acceptedBy(upstream, job.id)
        catalog.offers = [offerOf(upstream, modelAt(10_000))]
        catalog.makeVideoOffer = () => Effect.die(new Error("not asked"))
        yield* end
        expect(yield* money(by.workspaceId)).toEqual(charged)
      })
    )
  )
})

it("a job keeps a price of any unit, by resolution and audio, and parameters", () => {
  const models: ReadonlyArray<VideoModel> = [
    promised,
    { ...promised, pricing: { unit: "second", prices: [{ resolution: "1080p", audio: true, microCredits: 11.5 }] } },
    { ...promised, pricing: { unit: "video", prices: [{ audio: false, microCredits: 1 }, { microCredits: 2 }] } },
    { ...promised, pricing: { unit: "video_token", prices: [{ microCredits: 7_700_000 }] }, parameters: { sizes: [] } }
  ]
  for (const declared of models) {
    const stored: unknown = JSON.parse(JSON.stringify(AcceptedModel.of(declared)))
    expect(AcceptedModel.toModel(decode(stored), declared.upstreamId)).toEqual({
      ...declared,
      name: declared.publicId
    })
  }
})
