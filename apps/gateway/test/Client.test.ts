/**
 * What this project's client gets from the executable, and from another service that sends nothing
 * but what the specification lists.
 */
import { BadRequest, createClient, NotFound, PaymentRequired, reveal } from "@model-gateway/node/promise"
import { createServer } from "node:http"
import { describe, expect, it, onTestFinished } from "vitest"
import { startFalDouble } from "../../../packages/providers/test/support/FalDouble.mjs"
import { firstKey, folder, serve } from "./Executable.ts"
import { listen } from "./Listen.ts"

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

const startOther = async () => {
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const [status, body] = other[`${request.method} ${request.url}`] ?? [500, failure(500, "no such answer")]
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
    })
  })
  return createClient({ baseUrl: `http://127.0.0.1:${await listen(server)}/api/v1`, apiKey: "key" })
}

describe("the client at another service", () => {
  it("decodes what the specification lists, and words and codes that it does not know [spec B4 D26 D27]", async () => {
    await using client = await startOther()
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

  it("lists what a video model takes, and decodes what it ignored [spec N26 N31 N33 N35]", async () => {
    const fal = await startFalDouble({ keys: ["fal-secret"] })
    onTestFinished(() => fal.close())
    const gateway = await serve(folder(), [], { FAL_KEY: "fal-secret", FAL_BASE_URL: fal.url })
    await using client = await createClient({
      baseUrl: `${gateway.origin}/api/v1`,
      apiKey: await firstKey(gateway)
    })
    const ltx = { model: "fal/fal-ai/ltx-2.3/text-to-video", prompt: "a harbor" }
    const url = "https://example.com/c.png"
    const image = { type: "image_url", image_url: { url } } as const
    const accepted = await client.submitVideo({
      ...ltx,
      size: "1440x2560",
      seed: 7,
      input_references: [{ type: "audio_url", audio_url: { url } }]
    })
    expect(accepted.warnings).toEqual([
      `input_references: ${ltx.model} takes no audio references, so they were ignored.`,
      `seed: ${ltx.model} takes no seed, so it was ignored.`
    ])
    expect((await client.awaitVideo(accepted.id)).warnings).toEqual(accepted.warnings)

    const frame = { ...image, frame_type: "first_frame" } as const
    const refusals = [
      [
        { model: "fal/fal-ai/kling-video/v2.5-turbo/pro/image-to-video", frame_images: [frame, frame] },
        "frame_images.1.frame_type"
      ],
      [{ model: "fal/fal-ai/veo3.1", input_references: [image] }, "input_references.0"],
      [{ model: "fal/fal-ai/veo3.1", size: "640x360" }, "size"],
      [{ model: "fal/fal-ai/veo3.1", size: "1280x720", resolution: "1080p" }, "size"],
      [{ model: "fal/fal-ai/veo3.1", resolution: "480p" }, "resolution"]
    ] as const
    for (const [request, path] of refusals) {
      const refused: unknown = await client
        .submitVideo({ prompt: "a harbor", ...request })
        .catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(BadRequest)
      expect(refused).toMatchObject({ metadata: { issues: [{ path }] } })
    }
  })
})
