/**
 * The sandbox: offers that need no upstream and no key, so that everything works on first run.
 *
 * | Model | What it does | Price |
 * |---|---|---|
 * | `sandbox/bm25` | ranks by BM25 | 0.001 credits a search unit |
 * | `sandbox/bm25:free` | the same | free, counts against the key's free requests |
 * | `sandbox/colors` | ranks images by color, brightness and shape | 0.001 credits a search unit |
 * | `sandbox/tones` | transcribes keypad tones in WAV audio | 0.0001 credits a second |
 * | `sandbox/title-card` | renders the prompt as a moving title card | 0.01 credits a second |
 * | `sandbox/title-card-upscaler` | renders a title card again, larger | 0.01 credits a second |
 * | `sandbox/status-<code>` | answers with that failure | nothing |
 *
 * @since 0.1.0
 */
import { AspectRatio } from "@model-gateway/core/Video"
import {
  gatewayCredential,
  ignoredOptions,
  type OfferBase,
  type Offers,
  type RerankOffer,
  type TranscriptionOffer,
  type VideoOffer
} from "@model-gateway/offers/Offer"
import { cost, searchUnits } from "@model-gateway/offers/Pricing"
import { invalidFields, type ProviderError } from "@model-gateway/offers/ProviderError"
import type { RerankRequest, RerankResponse } from "@model-gateway/offers/Rerank"
import {
  audioFieldOf,
  type TranscriptionRequest,
  type TranscriptionResponse
} from "@model-gateway/offers/Transcription"
import { ignored } from "@model-gateway/offers/Video"
import { Effect, type Scope, Stream } from "effect"
import * as Bm25 from "./Bm25.ts"
import * as Canvas from "./internal/canvas.ts"
import * as Colors from "./Colors.ts"
import * as Renders from "./internal/titleCardRenders.ts"
import * as SandboxStatus from "./SandboxStatus.ts"
import * as TitleCard from "./TitleCard.ts"
import * as TitleCardUpscaler from "./TitleCardUpscaler.ts"
import * as TitleCardVideo from "./TitleCardVideo.ts"
import * as Tones from "./Tones.ts"
import * as Wav from "./Wav.ts"

/**
 * The provider's name.
 *
 * @category constants
 * @since 0.1.0
 */
export const name = "sandbox"

/** What all offers share. There is no upstream, so the upstream's id is the public one. */
const base = (publicId: string, displayName: string): OfferBase => ({
  publicId,
  upstreamId: publicId,
  provider: name,
  name: displayName,
  isFree: false,
  isInProcess: true,
  dataPolicy: { training: false, retainsPrompts: false },
  credential: gatewayCredential()
})

const rerankCapabilities = { image_documents: false }

const textsOf = (
  publicId: string,
  { documents }: RerankRequest
): Effect.Effect<ReadonlyArray<string>, ProviderError> => {
  const texts: Array<string> = []
  for (const { text } of documents) {
    if (text === undefined) {
      const path = `documents.${texts.length}`
      return Effect.fail(invalidFields([{ path, message: `${publicId} ranks text only` }]))
    }
    texts.push(text)
  }
  return Effect.succeed(texts)
}

/** A model that ranks, with what a ranking of it takes and costs. */
const ranker = (
  publicId: string,
  displayName: string,
  microCredits: number,
  capabilities: RerankOffer["capabilities"],
  rank: (request: RerankRequest) => Effect.Effect<Bm25.Ranking, ProviderError>
): RerankOffer => {
  const quote = ({ documents }: RerankRequest) => cost(microCredits, searchUnits(documents.length))
  const run = (request: RerankRequest) =>
    Effect.mapEager(rank(request), ({ results, total_tokens }) => {
      const answer: RerankResponse = { results }
      const usage = { search_units: searchUnits(request.documents.length), total_tokens }
      return { answer, charge: { cost: quote(request), usage } }
    })
  return {
    ...base(publicId, displayName),
    kind: "rerank",
    isFree: microCredits === 0,
    pricing: { unit: "search_unit", microCredits },
    capabilities,
    ignored: ignoredOptions({ provider: name, publicId }),
    quote,
    run
  }
}

const bm25 = (publicId: string, displayName: string, microCredits: number): RerankOffer =>
  ranker(publicId, displayName, microCredits, rerankCapabilities, (request) =>
    Effect.flatMapEager(textsOf(publicId, request), (texts) => Bm25.rank(request.query, texts, request.top_n))
  )

const transcriptionCapabilities: TranscriptionOffer["capabilities"] = {
  audio_formats: ["wav"],
  verbose: true,
  word_timestamps: true,
  temperature: false
}

const transcribe = Effect.fnUntraced(function* (
  request: TranscriptionRequest
): Effect.fn.Return<TranscriptionResponse, ProviderError> {
  const { format, source } = request.audio
  const path = audioFieldOf(request)
  if (format !== "wav") {
    return yield* invalidFields([{ path, message: `sandbox/tones supports wav audio, not ${format}` }])
  }
  // The audio is on the service's own disk. If it cannot be read, no provider failure describes
  // that.
  const bytes = yield* Effect.orDie(source.bytes)
  const audio = yield* Effect.mapError(Wav.parse(bytes), ({ message }) => invalidFields([{ path, message }]))
  const presses = yield* Tones.presses(audio)
  const segments = Tones.segments(presses).map((segment, id) => ({ id, ...segment }))
  return {
    text: segments.map((segment) => segment.text).join(" "),
    // ISO 639 for "no linguistic content": keys are the same in every language.
    language: request.language ?? "zxx",
    duration: audio.duration,
    segments,
    ...(request.timestamp_granularities.includes("word")
      ? { words: presses.map(({ end, key, start }) => ({ word: key, start, end })) }
      : {})
  }
})

const tonesPrice = 100
const tonesQuote = ({ audio }: TranscriptionRequest) => cost(tonesPrice, audio.durationSeconds)

const tones: TranscriptionOffer = {
  ...base("sandbox/tones", "Keypad tones"),
  kind: "transcription",
  pricing: { unit: "second", microCredits: tonesPrice },
  capabilities: transcriptionCapabilities,
  ignored: ignoredOptions({ provider: name, publicId: "sandbox/tones" }),
  quote: tonesQuote,
  run: Effect.fn("Sandbox.transcribe")(function* (request) {
    const answer = yield* transcribe(request)
    return { answer, charge: { cost: tonesQuote(request), usage: { seconds: request.audio.durationSeconds } } }
  })
}

const videoCapabilities: VideoOffer["capabilities"] = {
  resolutions: TitleCard.resolutions,
  aspect_ratios: AspectRatio.literals,
  default_duration: TitleCardVideo.defaultDuration,
  max_duration: TitleCardVideo.maxDuration,
  prompt_optional: false,
  frame_images: false,
  generate_audio: false,
  upscale: false,
  references: [],
  ignores_images: true
}

const titleCard = (cards: TitleCardVideo.TitleCards): VideoOffer => ({
  ...base("sandbox/title-card", "Title card"),
  kind: "video",
  pricing: { unit: "second", microCredits: TitleCardVideo.microCreditsPerSecond },
  capabilities: videoCapabilities,
  ignored: (request) => [
    ...ignored(request, videoCapabilities, "sandbox/title-card"),
    ...ignoredOptions({ provider: name, publicId: "sandbox/title-card" })(request)
  ],
  quote: TitleCardVideo.quote,
  ...cards
})

const upscaler = (cards: TitleCardVideo.TitleCards): VideoOffer => ({
  ...base(TitleCardUpscaler.id, "Title card upscaler"),
  kind: "video",
  pricing: { unit: "second", microCredits: TitleCardVideo.microCreditsPerSecond },
  capabilities: TitleCardUpscaler.capabilities,
  ignored: (request) => [
    ...ignored(request, TitleCardUpscaler.capabilities, TitleCardUpscaler.id),
    ...ignoredOptions({ provider: name, publicId: TitleCardUpscaler.id })(request)
  ],
  quote: TitleCardUpscaler.quote,
  ...cards
})

const free = () => cost(0, 0)

const statusOffers: Offers = [
  ...SandboxStatus.statuses.rerank.map((status): RerankOffer => ({
    ...base(SandboxStatus.modelId(status), `Status ${status}`),
    kind: "rerank",
    pricing: { unit: "search_unit", microCredits: 0 },
    capabilities: rerankCapabilities,
    quote: free,
    run: () => SandboxStatus.fail(status)
  })),
  ...SandboxStatus.statuses.transcription.map((status): TranscriptionOffer => ({
    ...base(SandboxStatus.modelId(status), `Status ${status}`),
    kind: "transcription",
    pricing: { unit: "second", microCredits: 0 },
    capabilities: transcriptionCapabilities,
    quote: free,
    run: () => SandboxStatus.fail(status)
  })),
  ...SandboxStatus.statuses.video.map((status): VideoOffer => ({
    ...base(SandboxStatus.modelId(status), `Status ${status}`),
    kind: "video",
    pricing: { unit: "second", microCredits: 0 },
    capabilities: videoCapabilities,
    quote: free,
    check: () => SandboxStatus.fail(status),
    isIdempotent: true,
    submit: () => SandboxStatus.fail(status),
    poll: () => SandboxStatus.fail(status),
    content: () => Stream.fromEffect(SandboxStatus.fail(status)),
    cancel: () => Effect.void
  }))
]

/**
 * Every offer of the sandbox. Title cards are rendered in processes of their own; closing the scope
 * ends every render. Without the package `@napi-rs/canvas`, or its native part for this platform, the
 * models that draw or read images are not offered, and a warning says so.
 *
 * @example
 * ```ts
 * import { make } from "@model-gateway/sandbox/Sandbox"
 * import { Effect } from "effect"
 *
 * const names = make().pipe(
 *   Effect.map((offers) => offers.map(({ publicId }) => publicId)),
 *   Effect.scoped
 * )
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options?: TitleCardVideo.Options): Effect.Effect<Offers, never, Scope.Scope> =>
  Effect.gen(function* () {
    const renders = yield* Renders.make(options)
    const colors = yield* Colors.make
    const drawn: Offers = [
      ranker("sandbox/colors", "Colors of images", 1000, { image_documents: true }, colors),
      titleCard(TitleCardVideo.of(renders)),
      upscaler(TitleCardUpscaler.make(renders))
    ]
    const canDraw = Canvas.isInstalled()
    if (!canDraw) {
      const models = drawn.map(({ publicId }) => publicId).join(", ")
      yield* Effect.logWarning(
        `${models} are not offered, because ${Canvas.name} is not installed for this platform. Install it beside this program: ` +
          `npm install ${Canvas.name}, with --global if the program is installed so.`
      )
    }
    return [
      bm25("sandbox/bm25", "BM25", 1000),
      bm25("sandbox/bm25:free", "BM25 (free)", 0),
      ...(canDraw ? drawn : []),
      tones,
      ...statusOffers
    ]
  })
