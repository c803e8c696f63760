import { assert, describe, it } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, type Schema } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { HttpClient } from "effect/http"
import * as Adapters from "../src/Adapters.ts"
import type { Offer } from "@model-gateway/offers/Offer"
import * as Passthrough from "@model-gateway/offers/Passthrough"
import type { ProviderError } from "@model-gateway/offers/ProviderError"
import type { VideoRequest } from "@model-gateway/offers/Video"
import { mp4Uri } from "@model-gateway/test-doubles/Mp4Double"
import { credentialOf, modelsOf } from "./support/models.ts"
import { speaking } from "./support/transcription.ts"

/** Dies on every call, so that what succeeds or fails has called no upstream. */
const unreachable = Layer.succeed(
  HttpClient.HttpClient,
  HttpClient.make(() => Effect.die("called"))
)

const services = Layer.mergeAll(unreachable, NodeServices.layer, SecureRandom.layerWebCrypto)

const gateways = ["gateway", "openrouter"]

/** The offers of every adapter over HTTP. A local command is called with none of the options. */
const offers = Effect.map(
  Effect.forEach(
    Adapters.adapters.filter(({ name }) => name !== "command"),
    (adapter) =>
      adapter.offers(
        {
          name: adapter.name,
          baseUrl: "https://upstream.example/v1",
          credential: credentialOf(adapter, "secret")
        },
        modelsOf(adapter, "")
      )
  ),
  (offers) => offers.flat()
)

const frame = {
  type: "image_url",
  image_url: { url: "data:image/png;base64,AAAA" },
  frame_type: "first_frame"
} as const

const film = (offer: Offer): VideoRequest => ({
  prompt: "a harbor",
  ...(offer.kind === "video" && offer.capabilities.upscale
    ? { input_references: [{ type: "video_url", video_url: { url: mp4Uri(2) } }] }
    : {}),
  ...(offer.kind === "video" && offer.capabilities.frame_images ? { frame_images: [frame] } : {})
})

/** Calls the upstream with the options. */
const call = (offer: Offer, options: Schema.JsonObject): Effect.Effect<unknown, ProviderError> => {
  const credential = offer.credential ?? assert.fail("no credential")
  switch (offer.kind) {
    case "rerank":
      return offer.run({ query: "tea", documents: [{ text: "green tea" }], options }, credential)
    case "transcription":
      return offer.run(speaking("hello", { options }), credential)
    case "video":
      return offer.submit({ request: { ...film(offer), options }, token: "token" }, credential)
  }
}

/** The paths at which the call is refused. Without a refusal the call dies. */
const refusedAt = (offer: Offer, options: Schema.JsonObject) =>
  Effect.map(Effect.flip(call(offer, options)), ({ reason }) =>
    reason._tag === "InvalidRequest" ? (reason.issues ?? []).map(({ path }) => path) : reason._tag
  )

const forAll = [
  "model",
  "version",
  "api_key",
  "apiKey",
  "Authorization",
  "headers",
  "webhook",
  "webhook_url",
  "webhookConfig",
  "callback",
  "callback_url",
  "output_gcs_uri",
  "storageUri",
  "stream",
  "n",
  "num_outputs",
  "service_tier"
]

const forVideos = ["duration", "resolution", "aspect_ratio", "generate_audio", "size", "fps", "video_url"]

/**
 * What else the price or the answer of an adapter depends on, or of its models of one kind. What a
 * rerank adapter sends itself is tested by `rerankSuite`.
 */
const own: Readonly<Record<string, ReadonlyArray<string>>> = {
  cohere: ["query", "documents", "top_n", "return_documents"],
  jina: ["query", "documents", "top_n", "return_documents"],
  voyage: ["query", "documents", "top_k", "return_documents"],
  tei: ["query", "texts", "return_text"],
  openai: ["file", "response_format", "timestamp_granularities[]", "url", "known_speaker_references"],
  groq: ["file", "response_format", "timestamp_granularities", "url"],
  deepgram: ["url", "multichannel", "encoding", "sample_rate", "channels", "redact"],
  elevenlabs: [
    "file",
    "source_url",
    "cloud_storage_url",
    "timestamps_granularity",
    "use_multi_channel",
    "file_format",
    "entity_detection",
    "transcript_edit"
  ],
  assemblyai: [
    "audio_url",
    "speech_models",
    "speech_model",
    "multichannel",
    "dual_channel",
    "audio_start_from",
    "summarization",
    "redact_pii"
  ],
  mistral: ["file", "file_id", "file_url", "timestamp_granularities", "speaker_references"],
  replicate: forVideos,
  fal: [...forVideos, "sync_mode"],
  runway: [...forVideos, "ratio", "promptImage", "promptVideo", "outputFormat", "referenceImages"],
  google: [
    ...forVideos,
    "input",
    "generation_config",
    "generationConfig",
    "response_format",
    "background",
    "store",
    "tools",
    "previous_interaction_id",
    "cachedContent"
  ],
  "vertex rerank": ["query", "records", "topN", "ignoreRecordDetailsInResponse"],
  "vertex transcription": ["uri", "content", "config", "multiChannelMode"],
  "vertex video": [...forVideos, "instances", "sampleCount", "image", "lastFrame", "referenceImages"],
  "xai transcription": ["file", "url", "audio_format", "sample_rate", "multichannel", "channels"],
  "xai video": [...forVideos, "image", "last_frame", "reference_images", "keyframes", "storage_options"],
  modelark: [...forVideos, "ratio", "content", "tools", "draft_task"]
}

const ownOf = ({ kind, provider }: Offer) => [...(own[provider] ?? []), ...(own[`${provider} ${kind}`] ?? [])]

const provide = Effect.provide(services)

describe("Passthrough", () => {
  it.effect("of every adapter refuses what changes price, receiver, credential or answer, before a call", () =>
    Effect.gen(function* () {
      const all = (yield* offers).filter(({ provider }) => !gateways.includes(provider))
      assert.includeMembers(
        [...new Set(all.map(({ provider }) => provider))],
        Object.keys(own).map((name) => name.replace(/ .*/, ""))
      )
      for (const offer of all) {
        for (const name of [...forAll, ...ownOf(offer)]) {
          const path = `provider.options.${offer.provider}.${name}`
          assert.deepStrictEqual(yield* refusedAt(offer, { [name]: "x" }), [path], offer.publicId)
          if (offer.kind !== "video") continue
          const { reason } = yield* Effect.flip(offer.check({ ...film(offer), options: { [name]: "x" } }))
          assert.include(reason.message, path)
        }
        // What the service asks before it reserves money says the same.
        assert.deepStrictEqual(
          offer.passthrough?.issues({ api_key: "x" }).map(({ path }) => path),
          [`provider.options.${offer.provider}.api_key`]
        )
      }
    }).pipe(provide)
  )

  it.effect("finds a field at any depth, and says no value of it", () =>
    Effect.gen(function* () {
      for (const offer of yield* offers) {
        if (gateways.includes(offer.provider)) continue
        const options = { settings: [{ deep: { webhook_url: "https://example.com/secret" } }] }
        const issues = offer.passthrough?.issues(options) ?? []
        assert.deepStrictEqual(
          issues.map(({ path }) => path),
          [`provider.options.${offer.provider}.settings.0.deep.webhook_url`]
        )
        assert.notInclude(JSON.stringify(issues), "secret")
      }
    }).pipe(provide)
  )

  it.effect("passes on every documented field, and one that nobody has documented", () =>
    Effect.gen(function* () {
      for (const offer of yield* offers) {
        if (gateways.includes(offer.provider)) continue
        const names = [...(offer.passthrough?.documented ?? []), "a_field_of_tomorrow"]
        for (const name of names) {
          const exit = yield* Effect.exit(call(offer, { [name]: 5 }))
          assert.include(String(exit), "called", `${offer.publicId} ${name}`)
        }
      }
    }).pipe(provide)
  )

  it.effect("to another gateway takes its provider preferences, and refuses anything else", () =>
    Effect.gen(function* () {
      const behind = (yield* offers).filter(({ provider }) => provider === "gateway")
      assert.deepStrictEqual(
        behind.map(({ kind }) => kind),
        ["rerank", "transcription", "video"]
      )
      for (const offer of behind) {
        assert.isTrue(offer.passthrough?.documented.includes("order"))
        assert.deepStrictEqual(offer.passthrough?.issues({ order: ["cohere"] }), [])
        assert.deepStrictEqual(yield* refusedAt(offer, { order: "cohere" }), ["provider.options.gateway"])
      }
    }).pipe(provide)
  )

  it.effect("to OpenRouter takes the same, without what changes price, credential or receiver", () =>
    Effect.gen(function* () {
      const routed = (yield* offers).filter(({ provider }) => provider === "openrouter")
      assert.lengthOf(routed, 3)
      for (const offer of routed) {
        assert.deepStrictEqual(offer.passthrough?.issues({ options: { cohere: { max_tokens_per_doc: 9 } } }), [])
        for (const name of forAll) {
          const options = { options: { cohere: { [name]: "x" } } }
          assert.deepStrictEqual(yield* refusedAt(offer, options), [
            `provider.options.openrouter.options.cohere.${name}`
          ])
        }
      }
    }).pipe(provide)
  )

  it("lists a bounded number of issues of an entry with many fields", () => {
    const { issues } = Passthrough.make("acme", { documented: [], refused: {} })
    const entry = Array.from({ length: 1000 }, () => ({ api_key: "x" }))
    assert.isAtMost(issues({ entry }).length, 21)
  })
})
