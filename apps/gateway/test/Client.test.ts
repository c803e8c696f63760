/**
 * What this project's client gets from the executable, and what both get from another service that
 * sends nothing but what the specification lists.
 */
import { createClient, NotFound, PaymentRequired, reveal } from "@model-gateway/node/promise"
import { createServer } from "node:http"
import { describe, expect, it } from "vitest"
import { silence } from "@model-gateway/test-services/Wav"
import { firstKey, folder, serve } from "./Executable.ts"
import { listen } from "./Listen.ts"
import { fileOf } from "./Loaded.ts"
import { waysTo } from "./Ways.ts"

const rerank = { model: "sandbox/bm25", query: "tea", documents: ["coffee", "tea"] }

/** The 20 fields of the specification's table, with a period that the client does not know. */
const keyRecord = {
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
  creator_user_id: null,
  expires_at: null,
  free_model_daily_requests: { limit: 50, remaining: 47, used: 3 },
  include_byok_in_limit: false,
  is_free_tier: true,
  is_management_key: false,
  is_provisioning_key: false,
  label: "sk-or-v1-au7…890",
  limit: 100,
  limit_remaining: 74.5,
  limit_reset: "yearly",
  rate_limit: { interval: "10s", requests: -1, note: "deprecated" },
  usage: 25.5,
  usage_daily: 1,
  usage_weekly: 2,
  usage_monthly: 3
}

const job = { id: "v_1", polling_url: "/api/v1/videos/v_1", status: "queued" }

const failure = (code: number, message: string) => ({ error: { code, message } })

/** A service with no field that the specification does not list. */
const other: { readonly [request: string]: readonly [status: number, body: unknown] } = {
  "GET /api/v1/key": [200, { data: keyRecord }],
  "POST /api/v1/rerank": [404, failure(1042, "Model not found")],
  "POST /api/v1/audio/transcriptions": [200, { text: "five" }],
  "POST /api/v1/videos": [202, job],
  "GET /api/v1/videos/v_1": [200, { ...job, new_field: [{ deep: 1 }] }],
  "DELETE /api/v1/files/f_1": [200, { _shape: "native", id: "f_1", type: "file_deleted" }],
  "POST /api/v1/guardrails/g_1/assignments/keys": [200, { assigned_count: 2 }]
}

/** Returns its base URL. */
const startOther = async (answerTo = (request: string) => other[request]) => {
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const [status, body] = answerTo(`${request.method} ${request.url}`) ?? [500, failure(500, "no such answer")]
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
    })
  })
  return `http://127.0.0.1:${await listen(server)}/api/v1`
}

describe("the client at another service", () => {
  it("decodes what the specification lists, and words and codes that it does not know [spec B4 D26 D27]", async () => {
    await using client = await createClient({ baseUrl: await startOther(), apiKey: "key" })
    expect(await client.currentKey()).toEqual(keyRecord)
    expect(await client.transcribe({ model: "m", input_audio: { data: "AAAA", format: "wav" } })).toEqual({
      text: "five"
    })
    expect(await client.submitVideo({ model: "m", prompt: "tea" })).toEqual(job)
    expect(await client.getVideo("v_1")).toEqual(job)
    expect(await client.deleteFile("f_1")).toMatchObject({ id: "f_1" })
    expect(await client.assignKeys("g_1", { key_hashes: ["a".repeat(64)] })).toEqual({ assigned_count: 2 })
    const refused: unknown = await client.rerank(rerank).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(NotFound)
    expect(refused).toMatchObject({ status: 404, metadata: { code: 1042 } })
  })
})

describe("the executable in front of another service", { timeout: 120_000 }, () => {
  it("reads what the specification lists, and follows a job through states that it does not know", async () => {
    let polls = 0
    const baseUrl = await startOther((request) => {
      if (request === "GET /api/v1/videos/v_1" && ++polls % 2 === 0) {
        return [200, { ...job, status: "completed", unsigned_urls: ["/api/v1/videos/v_1/content?index=0"] }]
      }
      return request === "GET /api/v1/videos/v_1/content?index=0" ? [200, "a video"] : other[request]
    })
    const offers = [{ upstream: "other", model: "m", price: { second: 0.001 } }]
    const file = fileOf(
      JSON.stringify({
        upstreams: { other: { adapter: "gateway", baseUrl, apiKey: "other-secret-0123456789" } },
        models: { "acme/hear": { kind: "transcription", offers }, "acme/film": { kind: "video", offers } }
      })
    )
    const gateway = await serve(folder(), ["--config", file])
    for (const way of await waysTo(gateway.origin, await firstKey(gateway))) {
      const wav = silence({ rate: 16_000, size: 32_000 })
      const input_audio = { data: wav.toString("base64"), format: "wav" } as const
      expect((await way.transcribe({ model: "acme/hear", input_audio })).text).toBe("five")
      const { id } = await way.submitVideo({ model: "acme/film", prompt: "tea" })
      expect(await way.finalVideo(id)).toMatchObject({ status: "completed", usage: { cost: 0.005 } })
    }
    expect(polls).toBe(4)
  })
})

describe("the client at the executable", { timeout: 120_000 }, () => {
  it("has every field of the key record, and reads both ways out of a key's limit [spec D26]", async () => {
    const gateway = await serve(folder())
    const apiKey = await firstKey(gateway)
    const [, managementKey = ""] = await gateway.prints(/management key +(mg_mk_\w{38})/)
    const baseUrl = `${gateway.origin}/api/v1`
    await using client = await createClient({ baseUrl, apiKey })
    const record = await client.currentKey()
    expect(Object.keys(record)).toEqual(expect.arrayContaining(Object.keys(keyRecord)))

    await using management = await createClient({ baseUrl, apiKey: managementKey })
    const create = (limit_reset: "daily" | null) => management.createKey({ name: "small", limit: 0.0005, limit_reset })
    for (const reset of ["daily", null] as const) {
      const { key } = await create(reset)
      const sentence = `Raise the limit${reset === null ? "" : " or wait for its reset"}, and add credits if the workspace has too few.`
      const response = await fetch(`${baseUrl}/rerank`, {
        method: "POST",
        headers: { authorization: `Bearer ${reveal(key)}`, "content-type": "application/json" },
        body: JSON.stringify(rerank)
      })
      expect(response.status).toBe(402)
      expect(await response.text()).toContain(sentence)
      await using limited = await createClient({ baseUrl, apiKey: reveal(key) })
      const refused = limited.rerank(rerank)
      await expect(refused).rejects.toBeInstanceOf(PaymentRequired)
      await expect(refused).rejects.toThrow(sentence)
    }
  })
})
