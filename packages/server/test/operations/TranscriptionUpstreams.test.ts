// Transcriptions through the whole service and the adapters, against doubles of the upstreams on
// sockets.
import { NodeHttpClient, NodeServices } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import { Response } from "@model-gateway/core/Transcription"
import * as Deepgram from "@model-gateway/providers/Deepgram"
import type { Model } from "@model-gateway/offers/Model"
import { gatewayCredential } from "@model-gateway/offers/Offer"
import * as OpenAi from "@model-gateway/providers/OpenAi"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { startDeepgramDouble } from "@model-gateway/test-doubles/DeepgramDouble"
import type { Double } from "@model-gateway/test-doubles/Double"
import { documentedErrors, fieldsOf, startOpenAiDouble } from "@model-gateway/test-doubles/OpenAiDouble"
import * as TestLedger from "../accounting/TestLedger.ts"
import { envelopeOf, inSet, issuePaths } from "../TestEnvelope.ts"
import { form, formHeaders, layer, type Part, TestGateway } from "../TestGateway.ts"
import { keypad } from "./TestAudio.ts"

const key = "sk-secret-0123456789"

class Doubles extends Context.Service<Doubles, { readonly openAi: Double; readonly deepgram: Double }>()(
  "test/Doubles"
) {}

const started = (start: () => Promise<Double>) =>
  Effect.acquireRelease(Effect.promise(start), (double) => Effect.promise(() => double.close()))

const layerDoubles = Layer.effect(
  Doubles,
  Effect.gen(function* () {
    const openAi = yield* started(() => startOpenAiDouble({ keys: [key] }))
    const deepgram = yield* started(() => startDeepgramDouble({ keys: [key] }))
    return Doubles.of({ openAi, deepgram })
  })
)

/** One model on both upstreams. */
const model = (upstreamId: string, microCredits: number): Model => ({
  kind: "transcription",
  publicId: "acme/ears",
  upstreamId,
  name: "Ears",
  pricing: { unit: "second", microCredits }
})

const audio = keypad("1259")

const gateway = Layer.unwrap(
  Effect.gen(function* () {
    const { deepgram, openAi } = yield* Doubles
    const credential = gatewayCredential(Redacted.make(key))
    const first = { name: "openai", baseUrl: `${openAi.url}/v1`, credential }
    const second = { name: "deepgram", baseUrl: `${deepgram.url}/v1`, credential }
    return layer({}, [
      yield* OpenAi.adapter.offers(first, [
        model("whisper-1", 100),
        { ...model("whisper-1", 100), publicId: "acme/small", parameters: { maxBytes: audio.length + 4096 } },
        ...OpenAi.adapter.models
      ]),
      yield* Deepgram.adapter.offers(second, [model("nova-3", 200)])
    ])
  })
).pipe(
  Layer.provideMerge(layerDoubles),
  Layer.provide([NodeHttpClient.layerUndici, NodeServices.layer, SecureRandom.layerWebCrypto])
)

const transcribe = (modelId: string, ...more: ReadonlyArray<Part>) =>
  Effect.flatMap(TestGateway, ({ ask }) =>
    ask("/api/v1/audio/transcriptions", {
      method: "POST",
      headers: formHeaders,
      body: form({ name: "model", value: modelId }, ...more, { name: "file", filename: "tones.wav", value: audio })
    })
  )

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Response))

/** What Deepgram answers. */
const transcript = (detected_language?: string) => ({
  body: {
    metadata: { duration: 0.8 },
    results: {
      channels: [
        {
          alternatives: [{ transcript: "1259" }],
          ...(detected_language === undefined ? {} : { detected_language })
        }
      ]
    }
  }
})

/** The fields of the last form that OpenAI got. */
const sentFields = Effect.map(Doubles, ({ openAi }) => {
  const request = openAi.state.requests.at(-1)
  return (request === undefined ? undefined : fieldsOf(request))?.map(({ name, value }) => [name, value]) ?? []
})

it.layer(gateway, { excludeTestServices: true })("POST /audio/transcriptions through upstreams", (it) => {
  it.effect("sends the whole file again to the second provider if the first one fails [spec F9]", () =>
    Effect.gen(function* () {
      const { deepgram, openAi } = yield* Doubles
      openAi.next(documentedErrors.server)
      deepgram.next(transcript("en-US"))
      const answer = yield* transcribe("acme/ears", { name: "response_format", value: "verbose_json" })
      inSet("transcribe", answer)
      expect(decode(answer.text)).toMatchObject({
        text: "1259",
        language: "en",
        task: "transcribe",
        usage: { cost: 0.00016, seconds: 0.8 }
      })
      const first = openAi.state.requests.at(-1)
      const second = deepgram.state.requests.at(-1)
      expect(Buffer.from(first?.bytes ?? []).includes(audio)).toBe(true)
      expect(Buffer.from(second?.bytes ?? []).equals(audio)).toBe(true)
      expect(second?.headers["content-length"]).toBe(String(audio.length))
      const [row] = yield* TestLedger.usageOf()
      expect(row).toMatchObject({ provider: "deepgram", reserved: 200, cost: 160 })
    })
  )

  it.effect("charges the tokens that the upstream reports, and returns them [spec F4 F5 F7]", () =>
    Effect.gen(function* () {
      const answer = yield* transcribe("openai/gpt-4o-transcribe", { name: "language", value: "EN" })
      expect(decode(answer.text)).toEqual({
        text: "…",
        usage: { cost: 0.000_045, seconds: 0.8, input_tokens: 10, output_tokens: 2, total_tokens: 12 }
      })
      expect((yield* sentFields).map(([name]) => name)).toEqual([
        "model",
        "language",
        "temperature",
        "response_format",
        "file"
      ])
      const rows = yield* TestLedger.usageOf()
      expect(rows.at(-1)).toMatchObject({ cost: 45 })
    })
  )

  it.effect("answers the length of the audio, whatever the provider bills [spec F6]", () =>
    Effect.gen(function* () {
      // OpenAI bills a whole second of 0.8.
      const answer = yield* transcribe("acme/ears")
      expect(decode(answer.text)).toEqual({ text: "…", usage: { cost: 0.0001, seconds: 0.8 } })
    })
  )

  it.effect("sends the temperature of the request, or 0 [spec M13 M14]", () =>
    Effect.gen(function* () {
      for (const temperature of [undefined, "0", "0.25", "1"]) {
        const parts = temperature === undefined ? [] : [{ name: "temperature", value: temperature }]
        expect((yield* transcribe("openai/whisper-1", ...parts)).status).toBe(200)
        expect((yield* sentFields).filter(([name]) => name === "temperature")).toEqual([
          ["temperature", temperature ?? "0"]
        ])
      }
    })
  )

  it.effect("passes on the entry of the provider that serves, and no other one [spec M19]", () =>
    Effect.gen(function* () {
      const { deepgram, openAi } = yield* Doubles
      const options = { openai: { prompt: "Names: Ada", "include[]": ["logprobs"] }, deepgram: { tag: "archive" } }
      const provider = (only: string) => ({ name: "provider", value: JSON.stringify({ only: [only], options }) })
      expect((yield* transcribe("acme/ears", provider("openai"))).status).toBe(200)
      expect(yield* sentFields).toEqual(
        expect.arrayContaining([
          ["prompt", "Names: Ada"],
          ["include[]", "logprobs"]
        ])
      )
      expect(openAi.state.requests.at(-1)?.text).not.toContain("archive")
      deepgram.next(transcript("en"))
      expect((yield* transcribe("acme/ears", provider("deepgram"))).status).toBe(200)
      const sent = new URL(deepgram.state.requests.at(-1)?.url ?? "", deepgram.url).searchParams
      expect([sent.get("tag"), sent.get("prompt")]).toEqual(["archive", null])
    })
  )

  it.effect("has the upstream detect the language if the request names none [spec M7]", () =>
    Effect.gen(function* () {
      const { deepgram } = yield* Doubles
      const asking = (...parts: ReadonlyArray<Part>) =>
        Effect.gen(function* () {
          deepgram.next(transcript(parts.length === 0 ? "en" : undefined))
          const verbose = { name: "response_format", value: "verbose_json" }
          const only = { name: "provider", value: '{"only":["deepgram"]}' }
          const answer = yield* transcribe("acme/ears", verbose, only, ...parts)
          const sent = new URL(deepgram.state.requests.at(-1)?.url ?? "", deepgram.url).searchParams
          return [decode(answer.text).language, sent.get("detect_language"), sent.get("language")]
        })
      expect(yield* asking()).toEqual(["en", "true", null])
      expect(yield* asking({ name: "language", value: "FR" })).toEqual(["fr", null, "fr"])
    })
  )

  it.effect("refuses verbose_json that the model does not have, without a call [spec M11]", () =>
    Effect.gen(function* () {
      const { openAi } = yield* Doubles
      const before = openAi.state.requests.length
      const answer = yield* transcribe("openai/gpt-4o-transcribe", { name: "response_format", value: "verbose_json" })
      expect([answer.status, issuePaths(answer)]).toEqual([400, ["response_format"]])
      expect(openAi.state.requests).toHaveLength(before)
    })
  )

  it.effect("forwards the temperature, or names it in warnings [spec M13]", () =>
    Effect.gen(function* () {
      const { deepgram, openAi } = yield* Doubles
      const temperature = { name: "temperature", value: "0.25" }
      const asking = (provider: object) =>
        transcribe("acme/ears", temperature, { name: "provider", value: JSON.stringify(provider) })
      expect(decode((yield* asking({ only: ["openai"] })).text)).not.toHaveProperty("warnings")
      const sent = openAi.state.requests.at(-1)
      expect(fieldsOf(sent ?? { headers: {}, bytes: new Uint8Array() })).toContainEqual(
        expect.objectContaining({ name: "temperature", value: "0.25" })
      )
      deepgram.next(transcript())
      expect(decode((yield* asking({ only: ["deepgram"] })).text).warnings).toEqual([
        "temperature: acme/ears takes no temperature, so it was ignored."
      ])
      expect(deepgram.state.requests.at(-1)?.url).not.toContain("0.25")
      // The first provider that uses all of it serves the request.
      const required = yield* asking({ order: ["deepgram"], require_parameters: true })
      expect(decode(required.text)).not.toHaveProperty("warnings")
    })
  )

  it.effect("names the field that an adapter refuses", () =>
    Effect.gen(function* () {
      const { deepgram, openAi } = yield* Doubles
      const before = [deepgram, openAi].map(({ state }) => state.requests.length)
      const refused = (model: string, only: string, options: object) =>
        Effect.map(
          transcribe(model, {
            name: "provider",
            value: JSON.stringify({ only: [only], options: { [only]: options } })
          }),
          (answer) => [answer.status, issuePaths(answer)]
        )
      expect(yield* refused("acme/ears", "deepgram", { redact: "pci" })).toEqual([
        400,
        ["provider.options.deepgram.redact"]
      ])
      expect(yield* refused("acme/ears", "deepgram", { multichannel: true })).toEqual([
        400,
        ["provider.options.deepgram.multichannel"]
      ])
      expect(yield* refused("acme/ears", "openai", { 'a"b': 1 })).toEqual([400, ["provider.options.openai"]])
      // The audio alone is within the limit.
      expect(yield* refused("acme/small", "openai", { prompt: "x".repeat(4096) })).toEqual([413, ["file"]])
      expect([deepgram, openAi].map(({ state }) => state.requests.length)).toEqual(before)
    })
  )

  it.effect("tells callers nothing of the operator's account", () =>
    Effect.gen(function* () {
      const { openAi } = yield* Doubles
      const seen: Array<readonly [number, string]> = []
      for (const name of ["quota", "invalidKey", "rateLimit", "tooShort"] as const) {
        openAi.next(documentedErrors[name])
        const answer = yield* transcribe("openai/whisper-1")
        inSet("transcribe", answer)
        seen.push([answer.status, envelopeOf(answer).error.message])
        for (const secret of ["org-AbCd", "wxyz", key, openAi.url, "billing"]) expect(answer.text).not.toContain(secret)
      }
      expect(seen).toEqual([
        [502, "provider returned error"],
        [502, "provider returned error"],
        [529, "provider returned error: it is overloaded"],
        [400, "invalid request parameters: Audio file is too short. Minimum audio length is 0.1 seconds."]
      ])
    })
  )
})
