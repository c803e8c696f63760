/**
 * The sandbox: a provider that needs no upstream and no key, so that everything works on first run.
 *
 * | Model | What it does | Price |
 * |---|---|---|
 * | `sandbox/bm25` | ranks by BM25 | 0.001 credits a search unit |
 * | `sandbox/bm25:free` | the same | free, counts against the key's free requests |
 * | `sandbox/tones` | transcribes keypad tones in WAV audio | 0.0001 credits a second |
 * | `sandbox/title-card` | renders the prompt as a moving title card | 0.01 credits a second |
 * | `sandbox/status-<code>` | answers with that failure | nothing |
 *
 * @since 0.1.0
 */
import { AspectRatio } from "@model-gateway/core/Video"
import { Context, Effect, Layer, type Scope } from "effect"
import type { Model } from "@model-gateway/providers/Model"
import type {
  Provider,
  RerankRequest,
  RerankResponse,
  TranscriptionRequest,
  TranscriptionResponse,
  VideoCapability
} from "@model-gateway/providers/Provider"
import { invalidRequest, ProviderError, UnknownModel } from "@model-gateway/providers/ProviderError"
import * as Bm25 from "./Bm25.ts"
import * as SandboxStatus from "./SandboxStatus.ts"
import * as TitleCard from "./TitleCard.ts"
import * as TitleCardVideo from "./TitleCardVideo.ts"
import * as Tones from "./Tones.ts"
import * as Wav from "./Wav.ts"

/**
 * The provider's name.
 *
 * @since 0.1.0
 */
export const name = "sandbox"

const rerankModel = { kind: "rerank", provider: name, capabilities: { image_documents: false } } as const

const transcriptionModel = {
  kind: "transcription",
  provider: name,
  capabilities: { audio_formats: ["wav"], verbose: true, word_timestamps: true }
} as const

const videoModel = {
  kind: "video",
  provider: name,
  capabilities: {
    resolutions: TitleCard.resolutions,
    aspect_ratios: AspectRatio.literals,
    default_duration: TitleCardVideo.defaultDuration,
    max_duration: TitleCardVideo.maxDuration,
    prompt_optional: false,
    frame_images: false,
    generate_audio: false,
    upscale: false
  }
} as const

const searchUnit = (microCredits: number) => ({ unit: "search_unit", microCredits }) as const
const second = (microCredits: number) => ({ unit: "second", microCredits }) as const

/**
 * Every model of the sandbox.
 *
 * @since 0.1.0
 */
export const models: ReadonlyArray<Model> = [
  { ...rerankModel, id: "sandbox/bm25", name: "BM25", free: false, pricing: searchUnit(1000) },
  { ...rerankModel, id: "sandbox/bm25:free", name: "BM25 (free)", free: true, pricing: searchUnit(0) },
  { ...transcriptionModel, id: "sandbox/tones", name: "Keypad tones", free: false, pricing: second(100) },
  { ...videoModel, id: "sandbox/title-card", name: "Title card", free: false, pricing: second(10_000) },
  ...SandboxStatus.statuses.rerank.map((status): Model => ({
    ...rerankModel,
    id: SandboxStatus.modelId(status),
    name: `Status ${status}`,
    free: false,
    pricing: searchUnit(0)
  })),
  ...SandboxStatus.statuses.transcription.map((status): Model => ({
    ...transcriptionModel,
    id: SandboxStatus.modelId(status),
    name: `Status ${status}`,
    free: false,
    pricing: second(0)
  })),
  ...SandboxStatus.statuses.video.map((status): Model => ({
    ...videoModel,
    id: SandboxStatus.modelId(status),
    name: `Status ${status}`,
    free: false,
    pricing: second(0)
  }))
]

const unknownModel = (model: string) => Effect.fail(new ProviderError({ reason: new UnknownModel({ model }) }))

const rerank = (request: RerankRequest): Effect.Effect<RerankResponse, ProviderError> => {
  if (request.model !== "sandbox/bm25" && request.model !== "sandbox/bm25:free") {
    return Effect.andThen(SandboxStatus.failFor("rerank", request.model), unknownModel(request.model))
  }
  const texts: Array<string> = []
  for (const [index, { text }] of request.documents.entries()) {
    if (text === undefined) {
      return Effect.fail(invalidRequest(`document ${index} has no text, and ${request.model} ranks text only`))
    }
    texts.push(text)
  }
  return Bm25.rank(request.query, texts, request.top_n)
}

const transcribe = Effect.fn("Sandbox.transcribe")(function* (
  request: TranscriptionRequest
): Effect.fn.Return<TranscriptionResponse, ProviderError> {
  if (request.model !== "sandbox/tones") {
    yield* SandboxStatus.failFor("transcription", request.model)
    return yield* unknownModel(request.model)
  }
  const { format, source } = request.audio
  if (format !== "wav") return yield* invalidRequest(`${request.model} supports wav audio, not ${format}`)
  // The audio is on the service's own disk. If it cannot be read, no provider failure describes
  // that.
  const bytes = yield* Effect.orDie(source.bytes)
  const audio = yield* Effect.mapError(Wav.parse(bytes), (error) => invalidRequest(error.message))
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

const guardVideo = (cards: VideoCapability): VideoCapability => {
  const known = (model: string) =>
    model === "sandbox/title-card"
      ? Effect.void
      : Effect.andThen(SandboxStatus.failFor("video", model), unknownModel(model))
  return {
    ...cards,
    check: (request) => Effect.andThen(known(request.model), cards.check(request)),
    submit: (submission) => Effect.andThen(known(submission.request.model), cards.submit(submission))
  }
}

/**
 * The sandbox as a provider. Closing the scope ends every render.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { make } from "@model-gateway/sandbox/Sandbox"
 *
 * const program = Effect.gen(function* () {
 *   const sandbox = yield* make()
 *   return yield* sandbox.rerank({ model: "sandbox/bm25", query: "tea", documents: [{ text: "Green tea" }] })
 * }).pipe(Effect.scoped)
 * ```
 *
 * @since 0.1.0
 */
export const make = (options?: TitleCardVideo.Options): Effect.Effect<Sandbox["Service"], never, Scope.Scope> =>
  Effect.map(TitleCardVideo.make(options), (cards) => ({
    name,
    models,
    inProcess: true,
    rerank,
    transcribe,
    video: guardVideo(cards)
  }))

/**
 * The sandbox as a service: a provider that has every capability.
 *
 * @since 0.1.0
 */
export class Sandbox extends Context.Service<Sandbox, Required<Provider>>()("@model-gateway/sandbox/Sandbox") {}

/**
 * The sandbox, rendering one video at a time.
 *
 * @since 0.1.0
 */
export const layer: Layer.Layer<Sandbox> = Layer.effect(Sandbox, make())
