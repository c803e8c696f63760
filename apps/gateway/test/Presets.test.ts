/** The settings of the page of presets, at doubles in the form that each service documents. */
import * as AudioSource from "@model-gateway/offers/AudioSource"
import type { Offer } from "@model-gateway/offers/Offer"
import type { ProviderError } from "@model-gateway/offers/ProviderError"
import { type Double, type Recorded, type Scripted, startDouble } from "@model-gateway/test-doubles/Double"
import { fieldsOf } from "@model-gateway/test-doubles/OpenAiDouble"
import { Effect, Schema } from "effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it, onTestFinished } from "vitest"
import { fileOf, offered, withOffered } from "./Loaded.ts"

const page = readFileSync(fileURLToPath(new URL("../../../docs/reference/presets.md", import.meta.url)), "utf8")

/** The settings of the page by the title of their section. */
const presets = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.split("\n")[0] ?? "", /^```json\n([\s\S]*?)^```$/m.exec(section)?.[1] ?? ""] as const)
)

const key = "service-secret-0123456789"

const keys = {
  TOGETHER_API_KEY: key,
  FIREWORKS_API_KEY: key,
  DEEPINFRA_TOKEN: key,
  SILICONFLOW_API_KEY: key
}

/** A service: each of its paths, by the host that it is documented at. */
type Service = Readonly<Record<string, (request: Recorded) => Scripted>>

// Reranking

const Body = Schema.fromJsonString(
  Schema.Struct({
    model: Schema.String,
    query: Schema.String,
    documents: Schema.Array(Schema.String),
    top_n: Schema.optionalKey(Schema.Int),
    return_documents: Schema.optionalKey(Schema.Boolean)
  })
)

/** Ranks the documents that contain the query first. Fields that are not documented are an error. */
const ranking =
  (model: string, answer: (results: ReadonlyArray<object>) => object) =>
  ({ text }: Recorded): Scripted => {
    const body = Schema.decodeSync(Body)(text, { onExcessProperty: "error" })
    if (body.model !== model) return { status: 404, body: { error: { message: `no model ${body.model}` } } }
    const results = body.documents
      .map((document, index) => ({ index, relevance_score: document.includes(body.query) ? 0.9 : 0.1 }))
      .toSorted((a, b) => b.relevance_score - a.relevance_score)
    return { body: answer(results) }
  }

// Transcribing

const segment = { id: 0, start: 0, end: 1, text: "tea" }
const word = { word: "tea", start: 0, end: 1 }

/** Hears "tea". Of a verbose answer, only what the service documents. */
const hearing =
  (model: string) =>
  (request: Recorded): Scripted => {
    const fields = fieldsOf(request) ?? []
    const all = (name: string) => fields.filter((field) => field.name === name).map(({ value }) => value)
    if (all("model")[0] !== model) return { status: 404, body: { error: { message: "no such model" } } }
    if (all("response_format")[0] === "json") return { body: { text: "tea" } }
    const words = all("timestamp_granularities[]").includes("word") ? { words: [word] } : {}
    return { body: { task: "transcribe", language: "en", duration: 1, text: "tea", segments: [segment], ...words } }
  }

const services: Readonly<Record<string, Service>> = {
  Together: {
    "https://api.together.ai/v1/rerank": ranking("mixedbread-ai/mxbai-rerank-large-v2", (results) => ({
      object: "rerank",
      id: "1",
      model: "m",
      results: results.map((result) => ({ ...result, document: null })),
      usage: { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 }
    })),
    "https://api.together.ai/v1/audio/transcriptions": hearing("openai/whisper-large-v3")
  },
  Fireworks: {
    "https://api.fireworks.ai/inference/v1/rerank": ranking("accounts/fireworks/models/qwen3-reranker-8b", (data) => ({
      object: "list",
      model: "m",
      data,
      usage: { prompt_tokens: 7, total_tokens: 7 }
    })),
    "https://audio-turbo.us-virginia-1.direct.fireworks.ai/v1/audio/transcriptions": hearing("whisper-v3-turbo")
  },
  DeepInfra: {
    "https://api.deepinfra.com/v1/openai/audio/transcriptions": hearing("openai/whisper-large-v3")
  },
  SiliconFlow: {
    "https://api.siliconflow.com/v1/rerank": ranking("Qwen/Qwen3-Reranker-8B", (results) => ({
      id: "1",
      results,
      tokens: { input_tokens: 7, output_tokens: 0 }
    }))
  }
}

/** A double of a service. Its hosts are the first parts of its paths. */
const doubleOf = async (service: Service): Promise<Double> => {
  const double = await startDouble({
    answerTo: (request) => {
      if (request.headers["authorization"] !== `Bearer ${key}`) return { status: 401 }
      const [, url = ""] = /^\/(.*)$/.exec(request.url) ?? []
      return service[`https://${url}`]?.(request) ?? { status: 404 }
    }
  })
  onTestFinished(() => double.close())
  return double
}

const run = <A, E>(effect: Effect.Effect<A, E>) => Effect.runPromise(effect)

/** What callers get of an offer. */
const served = (offer: Offer): Effect.Effect<object, ProviderError> => {
  const credential = offer.credential ?? { id: "none" }
  switch (offer.kind) {
    case "rerank":
      return Effect.map(
        offer.run({ query: "tea", documents: [{ text: "coffee" }, { text: "green tea" }], top_n: 1 }, credential),
        ({ answer, charge }) => ({ results: answer.results, tokens: charge.usage["total_tokens"] })
      )
    case "transcription":
      return Effect.map(
        offer.run(
          {
            audio: { source: AudioSource.fromBytes(new Uint8Array(8)), format: "wav", durationSeconds: 1 },
            timestamp_granularities: ["word", "segment"]
          },
          credential
        ),
        ({ answer }) => ({ text: answer.text, segments: answer.segments.length, words: answer.words?.length })
      )
    case "video":
      return Effect.die("no preset makes videos")
  }
}

const expected: Readonly<Record<Offer["kind"], object>> = {
  rerank: { results: [{ index: 1, relevance_score: 0.9 }], tokens: 7 },
  transcription: { text: "tea", segments: 1, words: 1 },
  video: {}
}

describe("the presets", () => {
  it("are those of the page, each with a service that it is checked against", () => {
    expect([...presets.keys()]).toEqual(Object.keys(services))
  })

  for (const [title, service] of Object.entries(services)) {
    it(`serve ${title} with the copied settings`, async () => {
      const text = presets.get(title) ?? ""
      const double = await doubleOf(service)
      // As they are copied, they call the documented addresses.
      const copied = await run(offered(fileOf(text), keys))
      const own = copied.upstreams.filter(({ adapter, name }) => name !== adapter.name)
      expect(Object.keys(service).filter((url) => !own.some(({ baseUrl }) => url.startsWith(`${baseUrl}/`)))).toEqual(
        []
      )

      const atDouble = fileOf(text.replaceAll("https://", `${double.url}/`))
      const answers = await run(
        withOffered(atDouble, keys, ({ offers }) =>
          Effect.forEach(
            offers.filter(({ provider }) => own.some(({ name }) => name === provider)),
            (offer) => Effect.map(served(offer), (answer) => ({ kind: offer.kind, answer }))
          )
        )
      )
      expect(answers).toHaveLength(Object.keys(service).length)
      for (const { answer, kind } of answers) expect(answer).toEqual(expected[kind])
    })
  }
})
