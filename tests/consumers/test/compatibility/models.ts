import { expect } from "vitest"
import { aNumber, type Entry, failureOf } from "./Entry.ts"

const bm25 = { author: "sandbox", slug: "bm25" }

/** The models of every page that the client reads. */
const pagesOf = async <Page extends { readonly result: { readonly data: ReadonlyArray<{ readonly id: string }> } }>(
  pages: AsyncIterable<Page>
) => {
  const ids: Array<Array<string>> = []
  for await (const { result } of pages) ids.push(result.data.map(({ id }) => id))
  return ids
}

export const entries: ReadonlyArray<Entry> = [
  {
    client: "@openrouter/sdk",
    call: "models.list",
    expectation: "works",
    run: async ({ clients }) => {
      const { result } = await clients.openrouter.models.list()
      expect(result).toMatchObject({ totalCount: result.data.length, links: { next: null } })
      expect(result.data.find(({ id }) => id === "sandbox/tones")).toMatchObject({
        canonicalSlug: "sandbox/tones",
        architecture: { inputModalities: ["audio"], outputModalities: ["transcription"], tokenizer: "Other" },
        pricing: { prompt: "0", completion: "0" },
        supportedParameters: ["response_format"],
        links: { details: "/api/v1/models/sandbox/tones/endpoints" }
      })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "models.list: filters",
    expectation: "works",
    run: async ({ clients }) => {
      const { result } = await clients.openrouter.models.list({
        outputModalities: "rerank,transcription",
        inputModalities: "image",
        providers: "sandbox",
        sort: "newest"
      })
      expect(result.data.map(({ id }) => id)).toEqual(["sandbox/colors"])
    }
  },
  {
    client: "@openrouter/sdk",
    call: "models.list: pages",
    expectation: "works",
    run: async ({ clients }) => {
      const { result } = await clients.openrouter.models.list()
      const pages = await pagesOf(await clients.openrouter.models.list({ limit: 2, offset: 1 }))
      expect(pages[0]).toHaveLength(2)
      expect(pages.flat()).toEqual(result.data.slice(1).map(({ id }) => id))
    }
  },
  {
    client: "@openrouter/sdk",
    call: "models.list: without data retention",
    expectation: { differs: "400: send `provider.zdr` with a request, and see `data_policy` of `providers.list`" },
    run: async ({ clients }) => {
      const error = await failureOf(clients.openrouter.models.list({ zdr: "true" }))
      expect(error).toMatchObject({ name: "BadRequestResponseError" })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "models.list: by price",
    expectation: { differs: "400: models are priced by different units" },
    run: async ({ clients }) => {
      for (const wanted of [{ maxPrice: 1 }, { sort: "pricing-low-to-high" as const }]) {
        const error = await failureOf(clients.openrouter.models.list(wanted))
        expect(error).toMatchObject({ name: "BadRequestResponseError" })
      }
    }
  },
  {
    client: "@openrouter/sdk",
    call: "models.count",
    expectation: "works",
    run: async ({ clients }) => {
      const { result } = await clients.openrouter.models.list()
      expect(await clients.openrouter.models.count()).toEqual({ data: { count: result.data.length } })
      const videos = result.data.filter(({ architecture }) => architecture.outputModalities.includes("video"))
      const counted = await clients.openrouter.models.count({ outputModalities: "video" })
      expect(counted.data.count).toBe(videos.length)
    }
  },
  {
    client: "@openrouter/sdk",
    call: "models.get",
    expectation: "works",
    run: async ({ clients }) => {
      const { data } = await clients.openrouter.models.get(bm25)
      expect(data).toMatchObject({
        id: "sandbox/bm25",
        architecture: { inputModalities: ["text"], outputModalities: ["rerank"], modality: "text->rerank" },
        contextLength: null,
        perRequestLimits: null,
        topProvider: { isModerated: false }
      })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "models.get: a variant",
    expectation: "works",
    run: async ({ clients }) => {
      const { data } = await clients.openrouter.models.get({ ...bm25, slug: "bm25:free" })
      expect(data.id).toBe("sandbox/bm25:free")
    }
  },
  {
    client: "@openrouter/sdk",
    call: "models.get: an unknown model",
    expectation: "works",
    run: async ({ clients }) => {
      for (const slug of ["nothing", "bm25:nitro", "org/bm25"]) {
        const error = await failureOf(clients.openrouter.models.get({ author: "sandbox", slug }))
        expect(error).toMatchObject({ name: "NotFoundResponseError", error: { code: 404 } })
      }
    }
  },
  {
    client: "@openrouter/sdk",
    call: "endpoints.list",
    expectation: "works",
    run: async ({ clients }) => {
      const { data } = await clients.openrouter.endpoints.list(bm25)
      expect(data).toMatchObject({ id: "sandbox/bm25", created: aNumber, description: "" })
      expect(data.endpoints).toMatchObject([
        {
          providerName: "sandbox",
          tag: "sandbox",
          modelId: "sandbox/bm25",
          pricing: { prompt: "0" },
          uptimeLast1d: null
        }
      ])
    }
  },
  {
    client: "@openrouter/sdk",
    call: "providers.list",
    expectation: "works",
    run: async ({ clients }) => {
      const { data } = await clients.openrouter.providers.list()
      expect(data.map(({ name, slug }) => [name, slug])).toEqual([["sandbox", "sandbox"]])
    }
  },
  {
    client: "@openrouter/sdk",
    call: "videoGeneration.listVideosModels",
    expectation: "works",
    run: async ({ clients }) => {
      const { data } = await clients.openrouter.videoGeneration.listVideosModels()
      const titleCard = data.find(({ id }) => id === "sandbox/title-card")
      expect(titleCard?.supportedAspectRatios).toContain("16:9")
      expect(titleCard?.supportedResolutions).toContain("480p")
      expect(titleCard).toMatchObject({
        canonicalSlug: "sandbox/title-card",
        pricingSkus: { duration_seconds: "0.01" },
        supportedDurations: null,
        supportedFrameImages: [],
        upscaleFactor: null
      })
    }
  },
  {
    client: "openai",
    call: "models.list",
    expectation: "works",
    run: async ({ clients }) => {
      const { data, object } = await clients.openai.models.list()
      expect(object).toBe("list")
      expect(data.find(({ id }) => id === "sandbox/bm25")).toMatchObject({
        object: "model",
        owned_by: "sandbox",
        created: aNumber
      })
    }
  },
  {
    client: "openai",
    call: "models.retrieve",
    expectation: { differs: "404: the path of one model is `/model/{author}/{slug}`" },
    run: async ({ clients }) => {
      expect(await failureOf(clients.openai.models.retrieve("sandbox/bm25"))).toMatchObject({ status: 404 })
    }
  }
]
