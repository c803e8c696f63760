/**
 * The `user` of a request through the executable: it is in the request log, and at no provider.
 * A double of each provider says what it was sent.
 */
import * as Generations from "@model-gateway/core/Generations"
import { createClient } from "@model-gateway/node/promise"
import { Schema } from "effect"
import { expect, it, onTestFinished } from "vitest"
import { wavHeader } from "@model-gateway/test-services/Wav"
import { startCohereDouble } from "@model-gateway/test-doubles/CohereDouble"
import { startDeepgramDouble } from "@model-gateway/test-doubles/DeepgramDouble"
import { startFalDouble } from "@model-gateway/test-doubles/FalDouble"
import { startGoogleDouble } from "@model-gateway/test-doubles/GoogleDouble"
import { start as startJinaDouble } from "@model-gateway/test-doubles/plain/Jina"
import { startOpenAiDouble } from "@model-gateway/test-doubles/OpenAiDouble"
import { startReplicateDouble } from "@model-gateway/test-doubles/ReplicateDouble"
import { startRunwayDouble } from "@model-gateway/test-doubles/RunwayDouble"
import { start as startTeiDouble } from "@model-gateway/test-doubles/plain/Tei"
import { start as startVoyageDouble } from "@model-gateway/test-doubles/plain/Voyage"
import { firstKey, folder, serve } from "./Executable.ts"
import { fileOf } from "./Loaded.ts"

const key = "co-secret-0123456789"

const asList = Schema.decodeUnknownSync(Generations.ListResponse)
const asOne = Schema.decodeUnknownSync(Generations.Response)

it("keeps the end user of a request in the private log, and from providers [spec L19 L20]", async () => {
  const double = await startCohereDouble({ keys: [key] })
  onTestFinished(() => double.close())
  const file = fileOf(
    JSON.stringify({
      upstreams: { cohere: { baseUrl: double.url, apiKey: { env: "COHERE" } } },
      models: {
        "acme/rerank": {
          offers: [{ upstream: "cohere", model: "rerank-v3.5", price: { search_unit: 0.002 } }]
        }
      }
    })
  )
  const gateway = await serve(folder(), ["--config", file, "--log-level", "Debug", "--log-format", "json"], {
    COHERE: key
  })
  const apiKey = await firstKey(gateway)
  const [, managementKey = ""] = await gateway.prints(/management key +(mg_mk_\w{38})/)
  const ask = (path: string, using: string, body?: unknown) =>
    fetch(`${gateway.origin}/api/v1${path}`, {
      headers: { authorization: `Bearer ${using}`, "content-type": "application/json", connection: "close" },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) })
    })
  const user = "customer-17"
  const rerank = { model: "acme/rerank", query: "tea", documents: ["coffee", "tea"] }
  expect((await ask("/rerank", apiKey, { ...rerank, user })).status).toBe(200)
  expect((await ask("/rerank", apiKey, rerank)).status).toBe(200)
  const found = asList(await (await ask(`/generations?user=${user}`, managementKey)).json()).data
  expect(found.map(({ external_user, operation }) => [operation, external_user])).toEqual([["rerank", user]])
  for (const { id } of found) {
    const { data } = asOne(await (await ask(`/generation?id=${id}`, apiKey)).json())
    expect(data.external_user).toBe(user)
  }
  expect(asList(await (await ask("/generations?user=nobody", managementKey)).json()).data).toEqual([])

  expect(double.state.requests.length).toBe(2)
  expect(JSON.stringify(double.state.requests)).not.toContain(user)
  gateway.signal("SIGTERM")
  const { stderr } = await gateway.ended
  for (const { id } of found) {
    const line = stderr.split("\n").find((each) => each.includes("A request names its end user") && each.includes(id))
    expect(line).toBeDefined()
  }
  expect(stderr).toContain(`"external_user":"${user}"`)
}, 180_000)

it("does so for each operation, at a model of each provider [spec L19 L20 M21 N44]", async () => {
  const keys = [key]
  const doubles = await Promise.all([
    startCohereDouble({ keys }),
    startJinaDouble({ keys }),
    startVoyageDouble({ keys }),
    startOpenAiDouble({ keys }),
    startDeepgramDouble({ keys }),
    startFalDouble({ keys }),
    startReplicateDouble({ keys }),
    startRunwayDouble({ keys, polls: 1 }),
    startGoogleDouble({ keys }),
    startTeiDouble({ keys }),
    startOpenAiDouble({
      keys,
      models: { "whisper-large-v3": { verbose: true } },
      path: "/openai/v1/audio/transcriptions"
    })
  ])
  for (const double of doubles) onTestFinished(() => double.close())
  const [cohere, jina, voyage, openai, deepgram, fal, replicate, runway, google, tei, groq] = doubles
  const gateway = await serve(folder(), ["--initial-credits", "1000"], {
    COHERE_API_KEY: key,
    COHERE_BASE_URL: cohere.url,
    JINA_API_KEY: key,
    JINA_BASE_URL: `${jina.url}/v1`,
    VOYAGE_API_KEY: key,
    VOYAGE_BASE_URL: `${voyage.url}/v1`,
    OPENAI_API_KEY: key,
    OPENAI_BASE_URL: `${openai.url}/v1`,
    DEEPGRAM_API_KEY: key,
    DEEPGRAM_BASE_URL: `${deepgram.url}/v1`,
    FAL_KEY: key,
    FAL_BASE_URL: fal.url,
    REPLICATE_API_TOKEN: key,
    REPLICATE_BASE_URL: `${replicate.url}/v1`,
    RUNWAYML_API_SECRET: key,
    RUNWAYML_BASE_URL: runway.url,
    GEMINI_API_KEY: key,
    GEMINI_BASE_URL: `${google.url}/v1beta`,
    TEI_API_KEY: key,
    TEI_BASE_URL: tei.url,
    GROQ_API_KEY: key,
    GROQ_BASE_URL: groq.url
  })
  const apiKey = await firstKey(gateway)
  const [, managementKey = ""] = await gateway.prints(/management key +(mg_mk_\w{38})/)
  await using client = await createClient({ baseUrl: `${gateway.origin}/api/v1`, apiKey })
  await using management = await createClient({ baseUrl: `${gateway.origin}/api/v1`, apiKey: managementKey })
  const user = "customer-17"
  for (const model of ["cohere/rerank-v3.5", "jina/jina-reranker-v3", "voyage/rerank-2.5", "tei/bge"]) {
    await client.rerank({ model, query: "tea", documents: ["coffee", "tea"], user })
  }
  const samples = "speech: one cup of tea, please."
  const wav = Buffer.concat([wavHeader({ rate: 16_000, size: samples.length }), Buffer.from(samples)])
  const input_audio = { data: wav.toString("base64"), format: "wav" } as const
  for (const model of ["openai/whisper-1", "deepgram/nova-3", "groq/whisper-large-v3"]) {
    await client.transcribe({ model, input_audio, user })
    await client.transcribe({ model, file: new Blob([wav]), filename: "a.wav", user })
  }
  // At the same time, because each waits between its polls.
  await Promise.all(
    ["fal/fal-ai/veo3.1", "replicate/bytedance/seedance-1-lite", "runway/gen4.5", "google/gemini-omni-1.1-flash"].map(
      async (model) => {
        const job = await client.submitVideo({ model, prompt: "a cup of tea", user })
        expect((await client.awaitVideo(job.id)).status).toBe("completed")
      }
    )
  )
  const { data } = await management.run(Generations.listGenerations({ user, limit: 100 }))
  expect(data.map(({ operation }) => operation).toSorted()).toEqual([
    ...Array.from({ length: 4 }, () => "rerank"),
    ...Array.from({ length: 6 }, () => "transcription"),
    ...Array.from({ length: 4 }, () => "video")
  ])
  for (const { id } of data) expect((await client.run(Generations.getGeneration(id))).external_user).toBe(user)
  expect((await management.run(Generations.listGenerations({ user: "nobody" }))).data).toEqual([])
  for (const { state } of doubles) {
    expect(state.requests.length).toBeGreaterThan(0)
    for (const { headers, text, url } of state.requests)
      expect(`${url}\n${JSON.stringify(headers)}\n${text}`).not.toContain(user)
  }
}, 180_000)
