import { expect, it } from "@effect/vitest"
import * as Estimate from "@model-gateway/core/Estimate"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { Offers } from "@model-gateway/offers/Offer"
import * as Sandbox from "@model-gateway/sandbox/Sandbox"
import { Effect, Layer, Schema } from "effect"
import { type Answer, layer, TestGateway } from "../TestGateway.ts"
import { envelopeOf, issuePaths, post } from "../TestEnvelope.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"

let calls = 0

/** A rerank model of a provider, priced by search unit. */
const priced = (provider: string, microCredits: number): Offers =>
  scripted({
    name: provider,
    rerank: (request) =>
      Effect.sync(() => {
        calls++
        return asTheyCame(request)
      })
  }).flatMap((offer) =>
    offer.kind === "rerank" ? [{ ...offer, publicId: "test/rank", quote: () => MicroCredits.make(microCredits) }] : []
  )

const estimate = (operation: string, request: object, key?: string) =>
  post("/api/v1/estimate", { operation, request }, key === undefined ? undefined : { key })

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Estimate.Response))
const dataOf = ({ text }: Answer) => Effect.map(decode(text), ({ data }) => data)

const rerank = { model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] }

const gateway = Layer.unwrap(
  Effect.map(Sandbox.make(), (sandbox) => layer({}, [sandbox, priced("cheap", 10_000), priced("dear", 20_000)]))
)

it.layer(gateway, { excludeTestServices: true })("an estimate", (it) => {
  it.effect("of a rerank is what the request costs, and neither calls nor reserves anything", () =>
    Effect.gen(function* () {
      const estimated = yield* dataOf(yield* estimate("rerank", rerank))
      expect(estimated).toEqual({
        model: "sandbox/bm25",
        max_cost: 0.001,
        offers: [{ provider: "sandbox", upstream_model: "sandbox/bm25", max_cost: 0.001, is_byok: false }]
      })
      const { text } = yield* post("/api/v1/rerank", rerank)
      expect(JSON.parse(text)).toMatchObject({ usage: { cost: estimated.max_cost } })
      yield* estimate("rerank", { ...rerank, model: "test/rank" })
      expect(calls).toBe(0)
      const { ask } = yield* TestGateway
      expect(JSON.parse((yield* ask("/api/v1/key")).text)).toMatchObject({ data: { usage: estimated.max_cost } })
    })
  )

  it.effect("lists the offers in the order in which they are tried, and has the cost of the most expensive one", () =>
    Effect.gen(function* () {
      const of = (provider: object) =>
        Effect.flatMap(estimate("rerank", { ...rerank, model: "test/rank", provider }), dataOf)
      const both = yield* of({ order: ["dear"] })
      expect(both.max_cost).toBe(0.02)
      expect(both.offers.map(({ max_cost, provider }) => [provider, max_cost])).toEqual([
        ["dear", 0.02],
        ["cheap", 0.01]
      ])
      const cheapest = yield* of({ sort: "price", allow_fallbacks: false })
      expect([cheapest.max_cost, cheapest.offers.length]).toEqual([0.01, 1])
    })
  )

  it.effect("of a transcription follows from the length of the audio, which is not sent", () =>
    Effect.gen(function* () {
      const of = (request: object) => estimate("transcription", { model: "sandbox/tones", seconds: 90, ...request })
      expect(yield* dataOf(yield* of({ temperature: 0.5 }))).toEqual({
        model: "sandbox/tones",
        max_cost: 0.009,
        offers: [
          {
            provider: "sandbox",
            upstream_model: "sandbox/tones",
            max_cost: 0.009,
            is_byok: false,
            warnings: ["temperature: sandbox/tones takes no temperature, so it was ignored."]
          }
        ]
      })
      expect(issuePaths(yield* of({ seconds: -1 }))).toEqual(["request.seconds"])
      expect(issuePaths(yield* of({ format: "mp3" }))).toEqual(["request.format"])
    })
  )

  it.effect(
    "of a video has the checks of its submission, and a price also for a model that only answers a status",
    () =>
      Effect.gen(function* () {
        const of = (request: object) => estimate("video", { model: "sandbox/title-card", prompt: "Dawn", ...request })
        expect(yield* dataOf(yield* of({ duration: 8, resolution: "720p" }))).toMatchObject({ max_cost: 0.08 })
        expect(issuePaths(yield* of({ duration: 99 }))).toEqual(["request.duration"])
        expect(yield* dataOf(yield* of({ model: "sandbox/status-402" }))).toMatchObject({ max_cost: 0 })
      })
  )

  it.effect("may be read with any key, and refuses what the operation would refuse", () =>
    Effect.gen(function* () {
      const { managementKey } = yield* TestGateway
      expect((yield* estimate("rerank", rerank, managementKey)).status).toBe(200)
      const unknown = yield* estimate("rerank", { ...rerank, model: "test/none" })
      expect([unknown.status, envelopeOf(unknown).error.message]).toEqual([
        404,
        'resource not found: there is no model "test/none"'
      ])
      const chat = yield* estimate("chat", rerank)
      expect([chat.status, envelopeOf(chat).error.message]).toEqual([
        400,
        'invalid request parameters: Expected an object whose operation is "rerank", "transcription" or "video"'
      ])
      // Many invalid items are an answer of usual length, and take no longer than a few.
      const empty = yield* estimate("rerank", { ...rerank, documents: Array.from({ length: 900 }, () => ({})) })
      expect([empty.status, issuePaths(empty).at(0), issuePaths(empty).length]).toEqual([
        400,
        "request.documents.0",
        20
      ])
    })
  )
})
