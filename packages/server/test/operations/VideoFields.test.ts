// What a caller writes about a video, as it arrives at the upstream: a double of fal.
import { expect, it } from "@effect/vitest"
import type { Adapter } from "@model-gateway/offers/Adapter"
import * as Fal from "@model-gateway/providers/Fal"
import type { VideoModel } from "@model-gateway/offers/Model"
import { Effect, Schema } from "effect"
import { startFalDouble } from "@model-gateway/test-doubles/FalDouble"
import { issuePaths, post } from "../TestEnvelope.ts"
import { Double, gateway, make, newKey } from "./VideoUpstream.ts"

/** fal's Veo, with or without audio by default, or with nothing that says so. */
const veo = (publicId: string, parameters: { readonly audio?: boolean }): VideoModel => ({
  kind: "video",
  publicId,
  upstreamId: "fal-ai/veo3.1",
  name: "Veo",
  pricing: { unit: "second", microCredits: 1000 },
  parameters: {
    fields: {
      duration: "duration",
      resolution: "resolution",
      aspect_ratio: "aspect_ratio",
      generate_audio: "generate_audio",
      seed: "seed"
    },
    durations: [4, 8],
    duration_form: "string_s",
    resolutions: ["720p", "4K"],
    resolution_names: { "4K": "4k" },
    aspect_ratios: ["16:9", "9:16"],
    options: ["negative_prompt"],
    ...parameters
  }
})

const adapter: Adapter = {
  ...Fal.adapter,
  models: [veo("acme/loud", { audio: true }), veo("acme/silent", { audio: false }), veo("acme/unsaid", {})]
}

const upstream = { name: "fal", adapter, start: startFalDouble, path: "", model: "acme/loud", cost: 0 }

const Input = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json))

/** Makes a video. Returns the job, and the input that fal got. */
const made = Effect.fnUntraced(function* (model: string, request: object = {}) {
  const { state } = yield* Double
  const { key } = yield* newKey
  const job = yield* make(model, key, { duration: 4, ...request })
  expect(job.status).toBe("completed")
  const submission = state.requests.findLast(({ method }) => method === "POST")
  return { job, sent: Schema.decodeUnknownSync(Input)(submission?.text ?? "{}") }
})

it.layer(gateway(upstream), { excludeTestServices: true })("POST /videos", (it) => {
  it.effect.each([
    ["acme/loud", undefined, true],
    ["acme/loud", false, false],
    ["acme/silent", undefined, false],
    ["acme/silent", true, true],
    ["acme/unsaid", undefined, false],
    ["acme/unsaid", true, true]
  ] as const)(
    "generates audio as the request says, else as the endpoint does, else none: %s, %s [spec N27 N28 N29]",
    ([model, generate_audio, expected]) =>
      Effect.gen(function* () {
        const { sent } = yield* made(model, generate_audio === undefined ? {} : { generate_audio })
        expect(sent["generate_audio"]).toBe(expected)
      })
  )

  it.effect("makes 4K, in the upstream's word for it [spec N21]", () =>
    Effect.gen(function* () {
      const { sent } = yield* made("acme/loud", { resolution: "4K", aspect_ratio: "9:16" })
      expect(sent).toMatchObject({ resolution: "4k", aspect_ratio: "9:16", duration: "4s", prompt: "a harbor" })
    })
  )

  it.effect("passes on the entry of the provider that makes the video, and no other one [spec N42]", () =>
    Effect.gen(function* () {
      const options = { fal: { negative_prompt: "fog" }, replicate: { guidance: "elsewhere" } }
      const { sent } = yield* made("acme/loud", { provider: { options } })
      expect(sent).toMatchObject({ negative_prompt: "fog", prompt: "a harbor" })
      expect(JSON.stringify(sent)).not.toContain("elsewhere")
    })
  )

  it.effect("refuses what only upscaling models take, before the upstream is asked [spec N38 N41]", () =>
    Effect.gen(function* () {
      const { state } = yield* Double
      const before = state.requests.length
      for (const [field, value] of [
        ["creativity", 0.5],
        ["upscale_factor", 2]
      ] as const) {
        const answer = yield* post("/api/v1/videos", {
          model: "acme/loud",
          prompt: "a harbor",
          duration: 4,
          [field]: value
        })
        expect([answer.status, issuePaths(answer)]).toEqual([400, [field]])
      }
      expect(state.requests).toHaveLength(before)
    })
  )
})
