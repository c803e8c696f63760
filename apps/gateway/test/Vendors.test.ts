/**
 * What models of each vendor take, ignore and count of a request, through the executable: over
 * plain HTTP, and with the client. A double of each vendor says what it was sent.
 */
import * as Models from "@model-gateway/core/Models"
import { Schema } from "effect"
import { expect, it } from "vitest"
import { wavHeader } from "@model-gateway/test-services/Wav"
import { startCohereDouble } from "@model-gateway/test-doubles/CohereDouble"
import { startDeepgramDouble } from "@model-gateway/test-doubles/DeepgramDouble"
import { startFalDouble } from "@model-gateway/test-doubles/FalDouble"
import { startGoogleDouble } from "@model-gateway/test-doubles/GoogleDouble"
import { start as startJinaDouble } from "@model-gateway/test-doubles/plain/Jina"
import { fieldsOf, startOpenAiDouble } from "@model-gateway/test-doubles/OpenAiDouble"
import { video } from "@model-gateway/test-doubles/JobDouble"
import { startReplicateDouble } from "@model-gateway/test-doubles/ReplicateDouble"
import { startModelArkDouble } from "@model-gateway/test-doubles/ModelArkDouble"
import { startRunwayDouble } from "@model-gateway/test-doubles/RunwayDouble"
import { startVertexDouble } from "@model-gateway/test-doubles/VertexDouble"
import { startXaiDouble } from "@model-gateway/test-doubles/XaiDouble"
import { firstKey, folder, serve, shared } from "./Executable.ts"
import { waysTo } from "./Ways.ts"

const key = "upstream-secret-0123456789"
const keys = [key]

type Double = Awaited<ReturnType<typeof startJinaDouble>>

const lastOf = ({ state }: Double) => state.requests.at(-1) ?? expect.fail("nothing was sent")

const bodyOf = (double: Double): unknown => JSON.parse(lastOf(double).text)

/** The body in which a double was sent a prompt. */
const postWith = ({ state }: Double, prompt: string): string =>
  state.requests.find(({ method, text }) => method === "POST" && text.includes(prompt))?.text ??
  expect.fail("nothing was sent")

/** A gateway with a double of each vendor. */
const started = shared(async (atEnd) => {
  const doubles = {
    ark: await startModelArkDouble({ keys }),
    cohere: await startCohereDouble({ keys }),
    deepgram: await startDeepgramDouble({ keys }),
    fal: await startFalDouble({ keys }),
    google: await startGoogleDouble({ keys }),
    jina: await startJinaDouble({ keys }),
    openAi: await startOpenAiDouble({ keys }),
    replicate: await startReplicateDouble({ keys }),
    runway: await startRunwayDouble({ keys, polls: 1 }),
    vertex: await startVertexDouble({ keys: [] }),
    xai: await startXaiDouble({ keys })
  }
  for (const double of Object.values(doubles)) atEnd(() => double.close())
  const environment = {
    ARK_API_KEY: key,
    ARK_BASE_URL: `${doubles.ark.url}/api/v3`,
    COHERE_API_KEY: key,
    COHERE_BASE_URL: doubles.cohere.url,
    DEEPGRAM_API_KEY: key,
    DEEPGRAM_BASE_URL: `${doubles.deepgram.url}/v1`,
    FAL_KEY: key,
    FAL_BASE_URL: doubles.fal.url,
    GEMINI_API_KEY: key,
    GEMINI_BASE_URL: `${doubles.google.url}/v1beta`,
    JINA_API_KEY: key,
    JINA_BASE_URL: `${doubles.jina.url}/v1`,
    OPENAI_API_KEY: key,
    OPENAI_BASE_URL: `${doubles.openAi.url}/v1`,
    REPLICATE_API_TOKEN: key,
    REPLICATE_BASE_URL: `${doubles.replicate.url}/v1`,
    RUNWAYML_API_SECRET: key,
    RUNWAYML_BASE_URL: doubles.runway.url,
    VERTEX_SERVICE_ACCOUNT: Buffer.from(JSON.stringify(doubles.vertex.serviceAccount())).toString("base64"),
    VERTEX_BASE_URL: doubles.vertex.url,
    XAI_API_KEY: key,
    XAI_BASE_URL: `${doubles.xai.url}/v1`
  }
  const gateway = await serve(folder(atEnd), ["--initial-credits", "1000"], environment, { atEnd })
  return { ...doubles, gateway, apiKey: await firstKey(gateway) }
})

const connect = async () => {
  const all = started()
  return { ...all, both: await waysTo(all.gateway.origin, all.apiKey) }
}

it("ranks images at a vendor, by link and as data [spec L4]", async () => {
  const { apiKey, both, gateway, jina } = await connect()
  const model = "jina/jina-reranker-m0"
  const linked = { image: "https://example.com/green/tea.png" }
  const pixels = Buffer.from("a small picture").toString("base64")
  const inline = { image: `data:image/png;base64,${pixels}` }
  const response = await fetch(`${gateway.origin}/api/v1/models`, { headers: { authorization: `Bearer ${apiKey}` } })
  const { data } = Schema.decodeUnknownSync(Models.ListResponse)(await response.json())
  expect(data.find(({ id }) => id === model)?.architecture.input_modalities).toEqual(["text", "image"])
  for (const { rerank } of both) {
    const { results, usage } = await rerank({ model, query: "green tea", documents: ["coffee", linked, inline] })
    expect(bodyOf(jina)).toMatchObject({ documents: [{ text: "coffee" }, linked, { image: pixels }] })
    expect(results[0]).toMatchObject({ index: 1, document: linked })
    expect(results.find(({ index }) => index === 2)?.document).toEqual(inline)
    // The vendor counts 768 for an image.
    expect(usage?.total_tokens).toBeGreaterThan(2 * 768)
    const calls = jina.state.requests.length
    await expect(
      rerank({ model: "jina/jina-reranker-v3", query: "tea", documents: ["coffee", linked] })
    ).rejects.toMatchObject({ status: 400, issues: [{ path: "documents.1.image" }] })
    expect(jina.state.requests.length).toBe(calls)
  }
})

it("says of a rerank what the vendor's bill or rule says, and invents no count [spec E7 E8]", async () => {
  const { both, cohere } = await connect()
  const short = ["coffee", "tea"]
  // Cohere splits long documents and counts the parts: perhaps more than the 100 of a unit.
  const long = Array.from({ length: 60 }, () => "tea ".repeat(600))
  const results = [{ index: 1, relevance_score: 0.5 }]
  const cases = [
    [short, undefined, { search_units: 1 }],
    [short, { search_units: 3 }, { search_units: 3 }],
    [short, { search_units: 3, input_tokens: 41 }, { search_units: 3, total_tokens: 41 }],
    [short, { input_tokens: 41 }, { search_units: 1, total_tokens: 41 }],
    [long, { input_tokens: 1204 }, { total_tokens: 1204 }]
  ] as const
  for (const { rerank } of both) {
    for (const [documents, billed_units, counted] of cases) {
      cohere.next({ body: { results, meta: { billed_units } } })
      const { usage } = await rerank({ model: "cohere/rerank-v3.5", query: "tea", documents, top_n: 1 })
      const { cost, ...counts } = usage ?? expect.fail("no usage")
      expect(counts).toEqual(counted)
      expect(cost).toBe(0.002 * ("search_units" in counted ? counted.search_units : 1))
    }
  }
})

it("names in warnings the temperature that a vendor does not take [spec M13]", async () => {
  const { both, deepgram, openAi } = await connect()
  const samples = "speech: one cup of tea, please."
  const wav = Buffer.concat([wavHeader({ rate: 16_000, size: samples.length }), Buffer.from(samples)])
  const request = { input_audio: { data: wav.toString("base64"), format: "wav" }, temperature: 0.5 } as const
  for (const { transcribe } of both) {
    const ignored = await transcribe({ ...request, model: "deepgram/nova-3" })
    expect(ignored.warnings).toEqual(["temperature: deepgram/nova-3 takes no temperature, so it was ignored."])
    expect(lastOf(deepgram).url).not.toContain("temperature")
    const taken = await transcribe({ ...request, model: "openai/whisper-1" })
    expect(taken).not.toHaveProperty("warnings")
    expect(fieldsOf(lastOf(openAi))).toContainEqual(expect.objectContaining({ name: "temperature", value: "0.5" }))
  }
})

it("takes a seed at every video model, and names in warnings where it is ignored [spec N34]", async () => {
  const { both, fal } = await connect()
  await Promise.all(
    both.flatMap(({ finalVideo, submitVideo }, way) =>
      (
        [
          ["fal/fal-ai/veo3.1", true],
          ["fal/fal-ai/kling-video/v3/turbo/pro/text-to-video", false]
        ] as const
      ).map(async ([model, takesSeed]) => {
        const prompt = `${model}, ${way}`
        const accepted = await submitVideo({ model, prompt, seed: 7 })
        expect(accepted.warnings).toEqual(takesSeed ? undefined : [`seed: ${model} takes no seed, so it was ignored.`])
        expect((await finalVideo(accepted.id)).status).toBe("completed")
        expect([model, postWith(fal, prompt).includes('"seed":7')]).toEqual([model, takesSeed])
      })
    )
  )
})

it("takes references at every video vendor, and names in warnings those that it ignores [spec N31 N33]", async () => {
  const { both, fal, google, replicate, runway } = await connect()
  const audio = { type: "audio_url", audio_url: { url: "https://example.com/a.mp3" } } as const
  const clip = { type: "video_url", video_url: { url: "https://example.com/b.mp4" } } as const
  const still = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } } as const
  const ignored = (model: string) =>
    ["audio", "video"].map((kind) => `input_references: ${model} takes no ${kind} references, so they were ignored.`)
  const ignoring = [
    ["fal/fal-ai/veo3.1", fal],
    ["replicate/bytedance/seedance-1-lite", replicate],
    ["runway/gen4.5", runway],
    ["google/gemini-omni-1.1-flash", google]
  ] as const
  const taking = [
    ["replicate/bytedance/seedance-1-lite", replicate],
    ["google/gemini-omni-1.1-flash", google]
  ] as const
  // All at the same time, because each waits between its polls.
  await Promise.all(
    both.flatMap(({ finalVideo, submitVideo }, way) => [
      ...ignoring.map(async ([model, double]) => {
        const prompt = `${model} ignores, ${way}`
        const warnings = ignored(model)
        const accepted = await submitVideo({ model, prompt, input_references: [audio, clip] })
        expect(accepted.warnings).toEqual(warnings)
        expect(await finalVideo(accepted.id)).toMatchObject({ status: "completed", warnings })
        expect(postWith(double, prompt)).not.toContain("example.com")
      }),
      ...taking.map(async ([model, double]) => {
        const prompt = `${model} takes, ${way}`
        const accepted = await submitVideo({ model, prompt, input_references: [still] })
        expect(accepted).not.toHaveProperty("warnings")
        expect((await finalVideo(accepted.id)).status).toBe("completed")
        expect(postWith(double, prompt)).toContain("iVBORw0KGgo=")
      })
    ])
  )
}, 180_000)

it("charges what a vendor says of a video, and stores one that is in the answer", async () => {
  const { apiKey, both, gateway, vertex } = await connect()
  const priced = [
    ["xai/grok-imagine-video", 2, 0.1],
    ["modelark/dreamina-seedance-2-0-fast-260128", 4, 0.48888],
    ["vertex/veo-3.1-fast-generate-001", 4, 0.6]
  ] as const
  const [{ finalVideo, rerank, submitVideo, transcribe } = expect.fail("no way")] = both
  await Promise.all(
    priced.map(async ([model, duration, cost]) => {
      const { id } = await submitVideo({ model, prompt: `of ${model}`, duration, aspect_ratio: "16:9" })
      const job = await finalVideo(id)
      expect([model, job.status, job.usage?.cost]).toEqual([model, "completed", cost])
      const content = await fetch(`${gateway.origin}/api/v1/videos/${id}/content?index=0`, {
        headers: { authorization: `Bearer ${apiKey}` }
      })
      expect(Buffer.from(await content.arrayBuffer())).toEqual(Buffer.from(video))
    })
  )
  const { results } = await rerank({
    model: "vertex/semantic-ranker-default-004",
    query: "green tea",
    documents: ["coffee", "green tea"]
  })
  expect(results[0]).toMatchObject({ index: 1, relevance_score: 1 })
  const samples = "speech: one cup of tea"
  const wav = Buffer.concat([wavHeader({ rate: 16_000, size: samples.length }), Buffer.from(samples)])
  vertex.next({ body: { results: [{ alternatives: [{ transcript: "one cup of tea" }], languageCode: "en-us" }] } })
  const { text } = await transcribe({
    model: "vertex/chirp_2",
    input_audio: { data: wav.toString("base64"), format: "wav" }
  })
  expect(text).toBe("one cup of tea")
}, 120_000)
