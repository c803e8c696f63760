import { expect, it } from "@effect/vitest"
import * as Models from "@model-gateway/core/Models"
import type { Offers } from "@model-gateway/providers/Offer"
import { Effect, Schema } from "effect"
import { layer, TestGateway } from "../TestGateway.ts"
import { makeUpstream } from "../video/TestVideo.ts"
import { post } from "../TestEnvelope.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Models.ListResponse))

const byToken: Offers = scripted({ name: "cheap", rerank: (request) => Effect.succeed(asTheyCame(request)) }).flatMap(
  (offer) =>
    offer.kind === "rerank"
      ? [{ ...offer, pricing: { unit: "token" as const, inputMicroCredits: 50_000, outputMicroCredits: 200_000 } }]
      : []
)

const byVideo: Offers = makeUpstream().offers.flatMap((offer) =>
  offer.kind === "video"
    ? [
        {
          ...offer,
          pricing: {
            unit: "video" as const,
            prices: [{ resolution: "720p" as const, microCredits: 200_000 }, { microCredits: 350_000 }] as const
          }
        }
      ]
    : []
)

it.layer(layer({}, [byToken, byVideo]), { excludeTestServices: true })("prices by token and by video", (it) => {
  it.effect("are published for one token and for one video", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const { data } = yield* decode((yield* ask("/api/v1/models")).text)
      const prices = Object.fromEntries(data.map(({ id, pricing }) => [id, pricing]))
      expect(prices).toMatchObject({
        "test/rank": { prompt: 0.000_000_05, completion: 0.000_000_2 },
        "test/film": { request: 0.35 }
      })
    })
  )

  it.effect("are limited per million tokens", () =>
    Effect.gen(function* () {
      const rerank = (max_price: object) =>
        post("/api/v1/rerank", { model: "test/rank", query: "q", documents: ["d"], provider: { max_price } })
      expect((yield* rerank({ prompt: 0.05, completion: 0.2 })).status).toBe(200)
      expect((yield* rerank({ prompt: 0.04 })).status).toBe(404)
      expect((yield* rerank({ prompt: -1 })).status).toBe(400)
    })
  )
})
