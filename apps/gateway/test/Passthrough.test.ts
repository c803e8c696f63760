/** `provider.options`, from the client through the executable to doubles of the providers. */
import * as Video from "@model-gateway/core/Video"
import { BadRequest, createClient } from "@model-gateway/node/promise"
import { describe, expect, it } from "vitest"
import { silence } from "@model-gateway/test-services/Wav"
import { startCohereDouble } from "@model-gateway/test-doubles/CohereDouble"
import { startFalDouble } from "@model-gateway/test-doubles/FalDouble"
import { fieldsOf, startOpenAiDouble } from "@model-gateway/test-doubles/OpenAiDouble"
import { start as startVoyageDouble } from "@model-gateway/test-doubles/plain/Voyage"
import { firstKey, folder, serve, shared } from "./Executable.ts"
import { fileOf } from "./Loaded.ts"

const key = "upstream-secret-0123456789"

const veo = "fal/fal-ai/veo3.1"

const started = shared(async (atEnd) => {
  const [cohere, voyage, openAi, fal] = await Promise.all([
    startCohereDouble({ keys: [key] }),
    startVoyageDouble({ keys: [key] }),
    startOpenAiDouble({ keys: [key] }),
    startFalDouble({ keys: [key] })
  ])
  const doubles = [cohere, voyage, openAi, fal]
  for (const double of doubles) atEnd(() => double.close())
  const models = {
    "acme/rerank": {
      offers: [
        { upstream: "cohere", model: "rerank-v3.5", price: { search_unit: 0.002 } },
        { upstream: "voyage", model: "rerank-2.5", price: { input_tokens: 5 } }
      ]
    }
  }
  const environment = {
    COHERE_API_KEY: key,
    COHERE_BASE_URL: cohere.url,
    VOYAGE_API_KEY: key,
    VOYAGE_BASE_URL: `${voyage.url}/v1`,
    OPENAI_API_KEY: key,
    OPENAI_BASE_URL: `${openAi.url}/v1`,
    FAL_KEY: key,
    FAL_BASE_URL: fal.url
  }
  const config = fileOf(JSON.stringify({ models }), atEnd)
  const gateway = await serve(folder(atEnd), ["--config", config], environment, { atEnd })
  const apiKey = await firstKey(gateway)
  const client = await createClient({ baseUrl: `${gateway.origin}/api/v1`, apiKey })
  atEnd(() => client[Symbol.asyncDispose]())
  const spent = async () => {
    const response = await fetch(`${gateway.origin}/api/v1/key`, { headers: { authorization: `Bearer ${apiKey}` } })
    return JSON.stringify(await response.json())
  }
  const calls = () => doubles.reduce((sum, { state }) => sum + state.requests.length, 0)
  return { client, cohere, voyage, openAi, fal, spent, calls }
})

type Started = ReturnType<typeof started>

const rerank = ({ client }: Started, options: object, more: object = {}) =>
  client.rerank({
    model: "acme/rerank",
    query: "tea",
    documents: ["coffee", "tea"],
    provider: { ...more, options: { ...options } }
  })

const transcribe = ({ client }: Started, options: object) =>
  client.transcribe({
    model: "openai/whisper-1",
    file: new File([silence({ size: 16_000 })], "silence.wav"),
    provider: { options: { ...options } }
  })

const film = ({ client }: Started, options: object) =>
  client.submitVideo({ model: veo, prompt: "a harbor", duration: 4, provider: { options: { ...options } } })

describe("provider.options", { timeout: 120_000 }, () => {
  it("reach the provider that serves a request as they are, and no other provider [spec M19 N42]", async () => {
    const gateway = started()
    const both = { cohere: { priority: 7 }, voyage: { truncation: false } }
    await rerank(gateway, both)
    await rerank(gateway, both, { only: ["voyage"] })
    const [toCohere, toVoyage] = [gateway.cohere, gateway.voyage].map(({ state }): unknown =>
      JSON.parse(state.requests[0]?.text ?? "")
    )
    expect(toCohere).toMatchObject({ priority: 7 })
    expect(toCohere).not.toHaveProperty("truncation")
    expect(toVoyage).toMatchObject({ truncation: false })
    expect(toVoyage).not.toHaveProperty("priority")

    await transcribe(gateway, { openai: { prompt: "Ünal", include: ["logprobs"] } })
    const form = gateway.openAi.state.requests[0] ?? expect.fail("no form was sent")
    expect(fieldsOf(form)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: "prompt", value: "Ünal" }),
        expect.objectContaining({ name: "include[]", value: "logprobs" })
      ])
    )

    let job = await film(gateway, { fal: { negative_prompt: "rain", safety: { level: ["low"] } } })
    while (!Video.isFinal(job.status)) job = await gateway.client.getVideo(job.id, { wait: "30 seconds" })
    expect(job.status).toBe("completed")
    const posted = gateway.fal.state.requests.find(({ method }) => method === "POST")
    expect(JSON.parse(posted?.text ?? "")).toEqual({
      prompt: "a harbor",
      duration: "4s",
      resolution: "720p",
      generate_audio: true,
      negative_prompt: "rain",
      safety: { level: ["low"] }
    })
  })

  it("are a 400 that names the field, before anything is called or charged, if they change price, receiver or credential [spec M19 N42]", async () => {
    const gateway = started()
    const before = [gateway.calls(), await gateway.spent()]
    const cases = [
      [() => rerank(gateway, { cohere: { model: "other" } }), "provider.options.cohere.model"],
      // The second provider of the model, which could serve the request as well.
      [() => rerank(gateway, { voyage: { top_k: 1 } }), "provider.options.voyage.top_k"],
      [() => rerank(gateway, { cohere: { a: "x".repeat(16_384) } }), "provider.options.cohere"],
      [() => transcribe(gateway, { openai: { stream: true } }), "provider.options.openai.stream"],
      [() => transcribe(gateway, { openai: { api_key: "x" } }), "provider.options.openai.api_key"],
      [() => film(gateway, { fal: { duration: "8s" } }), "provider.options.fal.duration"],
      [() => film(gateway, { fal: { webhook_url: "https://example.com" } }), "provider.options.fal.webhook_url"]
    ] as const
    for (const [call, path] of cases) {
      const error: unknown = await call().then(
        () => expect.fail(`${path} was accepted`),
        (error: unknown) => error
      )
      expect(error).toBeInstanceOf(BadRequest)
      expect(error).toMatchObject({ error: { metadata: { issues: [{ path }] } } })
    }
    expect([gateway.calls(), await gateway.spent()]).toEqual(before)
    // An entry for a provider that the request excludes is not sent, and not read.
    await rerank(gateway, { voyage: { top_k: 1 } }, { ignore: ["voyage"] })
  })

  it("are listed with the names that the provider documents", async () => {
    const { client } = started()
    const { data: models } = await client.listVideoModels()
    const passed = Object.fromEntries(
      models.map(({ allowed_passthrough_parameters, id }) => [id, allowed_passthrough_parameters])
    )
    expect(passed[veo]).toEqual(["negative_prompt", "auto_fix", "safety_tolerance"])
    expect(passed["sandbox/title-card"]).toEqual([])
  })
})
