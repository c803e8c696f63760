import { describe, expect, it } from "@effect/vitest"
import type { RerankOffer } from "@model-gateway/offers/Offer"
import { make as cost } from "@model-gateway/offers/MicroCredits"
import type { Charge } from "@model-gateway/offers/Pricing"
import { Effect } from "effect"
import { make } from "../../src/routing/ModelCatalog.ts"
import { makeUpstream, model } from "../video/TestVideo.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"

const counts: ReadonlyArray<Charge["usage"]> = [
  { total_tokens: 1e300 },
  { total_tokens: Number.POSITIVE_INFINITY },
  { total_tokens: Number.NaN },
  { search_units: -5 },
  { seconds: -0.1 },
  { seconds: 1_000_000_001 }
]

describe("an offer of the catalog", () => {
  const request = { query: "tea", documents: [{ text: "tea" }] }
  const credential = { id: "gateway" }
  const rerank = (charge: Charge): RerankOffer["run"] | undefined => {
    const [offer] = scripted({ name: "one", rerank: (request) => Effect.succeed(asTheyCame(request)) })
    if (offer?.kind !== "rerank") return undefined
    const run = () => Effect.succeed({ answer: { results: [] }, charge })
    return make([{ ...offer, run }]).rerank("test/rank")?.offers[0].run
  }

  it.effect("fails with a bad response if a count of its charge cannot be", () =>
    Effect.gen(function* () {
      for (const usage of counts) {
        const error = yield* Effect.flip(rerank({ cost: cost(1), usage })?.(request, credential) ?? Effect.void)
        const [name] = Object.keys(usage)
        expect(error).toMatchObject({
          status: 200,
          reason: { _tag: "BadResponse", description: `an impossible count of ${name}` }
        })
      }
      const negative = yield* Effect.flip(rerank({ cost: cost(-1), usage: {} })?.(request, credential) ?? Effect.void)
      expect(negative).toMatchObject({ reason: { description: "an impossible cost" } })
    })
  )

  it.effect("passes on a charge as it is", () =>
    Effect.gen(function* () {
      const charge = { cost: cost(0), usage: { seconds: 1_000_000_000, total_tokens: 0, search_units: 1.5 } }
      expect(yield* rerank(charge)?.(request, credential) ?? Effect.void).toMatchObject({ charge })
    })
  )

  it.effect("sorts a ranking, and fails with a bad response if it names a document twice or none", () =>
    Effect.gen(function* () {
      const documents = [{ text: "tea" }, { text: "coffee" }]
      const ranking = (results: ReadonlyArray<readonly [index: number, score: number]>) => {
        const [offer] = scripted({
          name: "one",
          rerank: () =>
            Effect.succeed({
              results: results.map(([index, relevance_score]) => ({ index, relevance_score })),
              total_tokens: 1
            })
        })
        return offer === undefined
          ? Effect.void
          : (make([offer]).rerank("test/rank")?.offers[0].run({ query: "tea", documents }, credential) ?? Effect.void)
      }
      for (const [results, description] of [
        [
          [
            [1, 0.2],
            [1, 0.1]
          ],
          "a document ranked twice"
        ],
        [[[2, 0.2]], "an index without a document"],
        [[[-1, 0.2]], "an index without a document"],
        [[[0.5, 0.2]], "an index without a document"]
      ] as const) {
        expect(yield* Effect.flip(ranking(results))).toMatchObject({ reason: { _tag: "BadResponse", description } })
      }
      for (const results of [
        [
          [0, 0.1],
          [1, 0.2]
        ],
        [
          [1, 0.2],
          [0, 0.2]
        ]
      ] as const) {
        expect(yield* ranking(results)).toMatchObject({ answer: { results: [{ index: 1 }, { index: 0 }] } })
      }
    })
  )

  it.effect("checks the charge of a completed video", () =>
    Effect.gen(function* () {
      const upstream = makeUpstream()
      const charge = { cost: cost(1), usage: { videos: 1e300 } }
      upstream.poll = () => Effect.succeed({ status: "completed", outputs: 1, charge })
      const offer = make(upstream.offers).video(model.id)?.offers[0]
      const job = { handle: "up-1", request: {} }
      expect(yield* Effect.flip(offer?.poll(job, credential) ?? Effect.void)).toMatchObject({
        reason: { _tag: "BadResponse" }
      })
      upstream.poll = () => Effect.succeed({ status: "in_progress" })
      expect(yield* offer?.poll(job, credential) ?? Effect.void).toEqual({ status: "in_progress" })
    })
  )

  it.effect("refuses a handle of a video job that is too long to keep", () =>
    Effect.gen(function* () {
      const upstream = makeUpstream()
      const submit = (handle: string) => {
        upstream.submit = () => Effect.succeed(handle)
        const offer = make(upstream.offers).video(model.id)?.offers[0]
        return offer?.submit({ request: {}, token: "t" }, credential) ?? Effect.void
      }
      expect(yield* submit("a".repeat(16_382))).toHaveLength(16_382)
      expect(yield* Effect.flip(submit("a".repeat(16_383)))).toMatchObject({
        reason: { _tag: "BadResponse", description: "a job name that is too long" }
      })
    })
  )
})
