// Transcriptions through the whole service and the adapters, against doubles of the upstreams on
// sockets.
import { NodeHttpClient, NodeServices } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import { Response } from "@model-gateway/core/Transcription"
import * as Deepgram from "@model-gateway/providers/Deepgram"
import type { Model } from "@model-gateway/providers/Model"
import { gatewayCredential } from "@model-gateway/providers/Offer"
import * as OpenAi from "@model-gateway/providers/OpenAi"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { startDeepgramDouble } from "../../../providers/test/support/DeepgramDouble.mjs"
import type { Double } from "../../../providers/test/support/Double.mjs"
import { documentedErrors, fieldsOf, startOpenAiDouble } from "../../../providers/test/support/OpenAiDouble.mjs"
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

const gateway = Layer.unwrap(
  Effect.gen(function* () {
    const { deepgram, openAi } = yield* Doubles
    const credential = gatewayCredential(Redacted.make(key))
    const first = { name: "openai", baseUrl: `${openAi.url}/v1`, credential }
    const second = { name: "deepgram", baseUrl: `${deepgram.url}/v1`, credential }
    return layer({}, [
      yield* OpenAi.adapter.offers(first, [model("whisper-1", 100), ...OpenAi.adapter.models]),
      yield* Deepgram.adapter.offers(second, [model("nova-3", 200)])
    ])
  })
).pipe(
  Layer.provideMerge(layerDoubles),
  Layer.provide([NodeHttpClient.layerUndici, NodeServices.layer, SecureRandom.layerWebCrypto])
)

const audio = keypad("1259")

const transcribe = (modelId: string, ...more: ReadonlyArray<Part>) =>
  Effect.flatMap(TestGateway, ({ ask }) =>
    ask("/api/v1/audio/transcriptions", {
      method: "POST",
      headers: formHeaders,
      body: form({ name: "model", value: modelId }, ...more, { name: "file", filename: "tones.wav", value: audio })
    })
  )

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Response))

it.layer(gateway, { excludeTestServices: true })("POST /audio/transcriptions through upstreams", (it) => {
  it.effect("sends the whole file again to the second provider if the first one fails", () =>
    Effect.gen(function* () {
      const { deepgram, openAi } = yield* Doubles
      openAi.next(documentedErrors.server)
      deepgram.next({
        body: {
          metadata: { duration: 0.8 },
          results: { channels: [{ alternatives: [{ transcript: "1259" }], detected_language: "en-US" }] }
        }
      })
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

  it.effect("charges the tokens that the upstream reports, and returns them", () =>
    Effect.gen(function* () {
      const { openAi } = yield* Doubles
      const answer = yield* transcribe("openai/gpt-4o-transcribe", { name: "language", value: "EN" })
      expect(decode(answer.text)).toEqual({
        text: "…",
        usage: { cost: 0.000_045, seconds: 0.8, input_tokens: 10, output_tokens: 2, total_tokens: 12 }
      })
      const sent = openAi.state.requests.at(-1)
      expect(fieldsOf(sent ?? { headers: {}, bytes: new Uint8Array() })?.map(({ name }) => name)).toEqual([
        "model",
        "language",
        "response_format",
        "file"
      ])
      const rows = yield* TestLedger.usageOf()
      expect(rows.at(-1)).toMatchObject({ cost: 45 })
    })
  )

  it.effect("refuses verbose_json that the model does not have, without a call", () =>
    Effect.gen(function* () {
      const { openAi } = yield* Doubles
      const before = openAi.state.requests.length
      const answer = yield* transcribe("openai/gpt-4o-transcribe", { name: "response_format", value: "verbose_json" })
      expect([answer.status, issuePaths(answer)]).toEqual([400, ["response_format"]])
      expect(openAi.state.requests).toHaveLength(before)
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
