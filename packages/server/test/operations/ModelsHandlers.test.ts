import { expect, it } from "@effect/vitest"
import * as ModelEndpoints from "@model-gateway/core/ModelEndpoints"
import * as Models from "@model-gateway/core/Models"
import * as Providers from "@model-gateway/core/Providers"
import * as VideoModels from "@model-gateway/core/VideoModels"
import type { Offers } from "@model-gateway/offers/Offer"
import { Effect, Schema } from "effect"
import { envelopeOf, issuePaths, post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { makeUpstream } from "../video/TestVideo.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"

/** A rerank model of a provider, priced by token. */
const byToken = (publicId: string, provider: string, inputMicroCredits: number, credential?: null): Offers =>
  scripted({
    name: provider,
    rerank: (request) => Effect.succeed(asTheyCame(request)),
    ...(credential === undefined ? {} : { credential })
  }).flatMap((offer) =>
    offer.kind === "rerank"
      ? [{ ...offer, publicId, pricing: { unit: "token" as const, inputMicroCredits, outputMicroCredits: 200_000 } }]
      : []
  )

const byVideo: Offers = makeUpstream().offers.flatMap((offer) =>
  offer.kind === "video"
    ? [
        {
          ...offer,
          pricing: {
            unit: "video" as const,
            prices: [
              { resolution: "720p" as const, audio: true, microCredits: 200_000 },
              { microCredits: 350_000 }
            ] as const
          }
        }
      ]
    : []
)

const gateway = layer({}, [
  byToken("test/rank", "cheap", 50_000),
  byToken("test/rank", "dear", 60_000),
  byToken("maker/family/model:fast", "cheap", 1),
  byToken("own/*", "own", 0),
  byToken("maker/partly", "closed", 40_000, null),
  byToken("maker/partly", "dear", 60_000),
  byVideo
])

const ask = (path: string) => Effect.flatMap(TestGateway, ({ ask }) => ask(`/api/v1${path}`))

const read = <S extends Schema.ConstraintCodec<unknown, unknown>>(schema: S, path: string) =>
  Effect.flatMap(ask(path), ({ text }) => Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(text))

const idsOf = (path: string) => Effect.map(read(Models.ListResponse, path), ({ data }) => data.map(({ id }) => id))

it.layer(gateway, { excludeTestServices: true })("the models", (it) => {
  it.effect("have prices in decimal text, for one token and for one video", () =>
    Effect.gen(function* () {
      const { data } = yield* read(Models.ListResponse, "/models")
      const prices = Object.fromEntries(data.map(({ id, pricing }) => [id, pricing]))
      expect(prices).toMatchObject({
        "test/rank": { prompt: "0.00000005", completion: "0.0000002" },
        "maker/family/model:fast": { prompt: "0.000000000001", completion: "0.0000002" },
        "test/film": { prompt: "0", completion: "0", request: "0.35" }
      })
    })
  )

  it.effect("are limited per million tokens", () =>
    Effect.gen(function* () {
      const rerank = (max_price: object) =>
        post("/api/v1/rerank", { model: "test/rank", query: "q", documents: ["d"], provider: { max_price } })
      expect((yield* rerank({ prompt: 0.05, completion: 0.2 })).status).toBe(200)
      expect((yield* rerank({ prompt: "0.05" })).status).toBe(200)
      expect((yield* rerank({ prompt: 0.04 })).status).toBe(404)
      expect((yield* rerank({ prompt: "0.04" })).status).toBe(404)
      expect((yield* rerank({ prompt: -1 })).status).toBe(400)
    })
  )

  it.effect("are filtered by what they read and produce, their provider, author, parameters and text", () =>
    Effect.gen(function* () {
      const film = ["test/film"]
      const fast = ["maker/family/model:fast"]
      const all = yield* idsOf("/models")
      expect(yield* idsOf("/models?output_modalities=all")).toEqual(all)
      expect(yield* idsOf("/models?output_modalities=video&model_authors=test")).toEqual(film)
      expect(yield* idsOf("/models?output_modalities=text,embeddings")).toEqual([])
      expect(yield* idsOf("/models?input_modalities=image&model_authors=test,maker")).toEqual(film)
      expect(yield* idsOf("/models?providers=cheap,none")).toEqual(["test/rank", ...fast])
      expect(yield* idsOf("/models?model_authors=maker")).toEqual([...fast, "maker/partly"])
      expect(yield* idsOf("/models?providers=closed")).toEqual([])
      expect(yield* idsOf("/models?supported_parameters=seed&model_authors=test")).toEqual(film)
      expect(yield* idsOf("/models?supported_parameters=seed,tools")).toEqual([])
      expect(yield* idsOf("/models?q=FAMILY")).toEqual(fast)
      // Filters that nothing is known for.
      expect(yield* idsOf("/models?category=legal&context=1000&arch=GPT&sort=newest")).toEqual(all)
      expect(yield* read(Models.CountResponse, "/models/count")).toEqual({ data: { count: all.length } })
      const videos = yield* idsOf("/models?output_modalities=video")
      expect(yield* read(Models.CountResponse, "/models/count?output_modalities=video")).toEqual({
        data: { count: videos.length }
      })
    })
  )

  it.effect("come in pages that lead to each other", () =>
    Effect.gen(function* () {
      const all = yield* idsOf("/models?output_modalities=rerank")
      const seen: Array<string> = []
      let path: string | null = "/models?output_modalities=rerank&limit=2"
      while (path !== null) {
        const page: Models.ListResponse = yield* read(Models.ListResponse, path)
        expect(page.total_count).toBe(all.length)
        seen.push(...page.data.map(({ id }) => id))
        path = page.links.next?.replace("/api/v1", "") ?? null
      }
      expect(seen).toEqual(all)
      expect(yield* idsOf("/models?output_modalities=rerank&offset=1")).toEqual(all.slice(1))
      expect(yield* idsOf("/models?offset=1000")).toEqual([])
    })
  )

  it.effect("are not filtered by what would mislead about money or privacy: 400", () =>
    Effect.gen(function* () {
      for (const query of ["zdr=true", "region=eu", "max_price=1", "min_output_price=0", "sort=pricing-low-to-high"]) {
        const answer = yield* ask(`/models?${query}`)
        expect([query, answer.status, issuePaths(answer)]).toEqual([query, 400, query.split("=").slice(0, 1)])
      }
    })
  )

  it.effect("are read by author and slug, whose slashes are escaped", () =>
    Effect.gen(function* () {
      const { data } = yield* read(Models.Response, "/model/maker/family%2Fmodel%3Afast")
      expect(data).toMatchObject({
        id: "maker/family/model:fast",
        canonical_slug: "maker/family/model:fast",
        owned_by: "maker",
        links: { details: "/api/v1/models/maker/family%2Fmodel%3Afast/endpoints" }
      })
      expect((yield* read(Models.Response, "/model/maker%2Ffamily/model:fast")).data).toEqual({ ...data })
      // The model that an entry with a prefix stands for has the id that a request sends.
      expect((yield* read(Models.Response, "/model/own/Org%2FModel")).data).toMatchObject({
        id: "own/Org/Model",
        canonical_slug: "own/*"
      })
      for (const path of ["/model/maker/family%2Fmodel", "/model/test/rank:free", "/models/test/nothing/endpoints"]) {
        const answer = yield* ask(path)
        expect([path, answer.status, envelopeOf(answer).error.message]).toEqual([
          path,
          404,
          expect.stringContaining("there is no model ")
        ])
      }
      const long = yield* ask(`/model/maker/${"x".repeat(513)}`)
      expect([long.status, issuePaths(long)]).toEqual([400, ["slug"]])
      // A slash that is not escaped makes another path.
      expect((yield* ask("/model/maker/family/model:fast")).status).toBe(404)
    })
  )

  it.effect("have an offer for each provider, with its own price", () =>
    Effect.gen(function* () {
      const { data } = yield* read(ModelEndpoints.Response, "/models/test/rank/endpoints")
      expect(data).toMatchObject({ id: "test/rank", architecture: { modality: "text->rerank" } })
      expect(data.endpoints.map(({ name, pricing, tag }) => [name, tag, pricing.prompt])).toEqual([
        ["cheap | test/rank", "cheap", "0.00000005"],
        ["dear | test/rank", "dear", "0.00000006"]
      ])
      const escaped = yield* read(ModelEndpoints.Response, "/models/maker/family%2Fmodel:fast/endpoints")
      expect(escaped.data.endpoints).toHaveLength(1)
    })
  )

  it.effect("show no price of a provider for which there is no credential", () =>
    Effect.gen(function* () {
      const { data } = yield* read(Models.Response, "/model/maker/partly")
      expect(data).toMatchObject({ providers: ["dear"], pricing: { prompt: "0.00000006" } })
      const list = yield* read(Models.ListResponse, "/models?q=partly")
      expect(list.data).toEqual([data])
      const offers = yield* read(ModelEndpoints.Response, "/models/maker/partly/endpoints")
      expect(offers.data.endpoints.map(({ provider_name }) => provider_name)).toEqual(["dear"])
    })
  )

  it.effect("of the kind video tell what a video may be, and each price", () =>
    Effect.gen(function* () {
      const { data } = yield* read(VideoModels.ListResponse, "/videos/models")
      expect(data.map(({ id }) => id)).toEqual(yield* idsOf("/models?output_modalities=video"))
      expect(data.find(({ id }) => id === "test/film")).toMatchObject({
        pricing_skus: { generate_with_audio_720p: "0.2", generate: "0.35" },
        supported_frame_images: ["first_frame", "last_frame"],
        upscale_factor: null
      })
    })
  )

  it.effect("have providers, each once and by name", () =>
    Effect.gen(function* () {
      const { data } = yield* read(Providers.ListResponse, "/providers")
      expect(data.map(({ kinds, slug }) => [slug, kinds])).toEqual([
        ["cheap", ["rerank"]],
        ["dear", ["rerank"]],
        ["own", ["rerank"]],
        ["test", ["video"]]
      ])
    })
  )
})
