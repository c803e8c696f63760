// What GET `/videos/models` says of every built-in video model is what requests are checked
// against.
import { NodeHttpClient, NodeServices } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { AspectRatio, type FrameType, Resolution } from "@model-gateway/core/Video"
import { adapters } from "@model-gateway/providers/Adapters"
import * as ModelArk from "@model-gateway/providers/ModelArk"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { RerankOffer, VideoOffer } from "@model-gateway/offers/Offer"
import { unsupported, type VideoRequest } from "@model-gateway/offers/Video"
import { Effect, Layer, Result } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { toModel, toVideoModel } from "../../src/routing/ModelShape.ts"

const ofVideos = adapters.filter(({ models }) => models.some(({ kind }) => kind === "video"))

const services = Layer.mergeAll(NodeHttpClient.layerUndici, NodeServices.layer, SecureRandom.layerWebCrypto)

const still = { url: "data:image/png;base64,AAAA" }

const frames = (...types: ReadonlyArray<typeof FrameType.Type>): VideoRequest => ({
  frame_images: types.map((frame_type) => ({ type: "image_url", image_url: still, frame_type }))
})

/** The fields that a request is refused for. */
const refusedFor = (offer: VideoOffer, request: VideoRequest): ReadonlyArray<string> => {
  const issues = unsupported(request, offer.capabilities, offer.publicId)
  const checked = Effect.runSync(Effect.result(offer.check(request)))
  if (Result.isSuccess(checked)) return issues.map(({ path }) => path)
  const { reason } = checked.failure
  return [...issues, ...("issues" in reason ? (reason.issues ?? []) : [])].map(({ path }) => path)
}

describe("GET /videos/models", () => {
  for (const adapter of ofVideos) {
    it.effect(`lists what requests to ${adapter.name} are checked against`, () =>
      Effect.gen(function* () {
        const upstream = { name: adapter.name, baseUrl: "https://example.com", credential: { id: "gateway" } }
        const offers = yield* adapter.offers(upstream, adapter.models)
        for (const offer of offers) {
          if (offer.kind !== "video" || offer.capabilities.upscale) continue
          const entry = { id: offer.publicId, kind: "video" as const, offers: [offer] as const }
          const listed = toVideoModel(entry)
          const least: VideoRequest = {
            prompt: "a harbor",
            ...(listed.supported_frame_images.length > 0 ? frames("first_frame") : {})
          }
          const takes = (field: string, more: VideoRequest, request = least) =>
            !refusedFor(offer, { ...request, ...more }).some((path) => path.startsWith(field))
          const seconds = Array.from({ length: 70 }, (_, index) => index + 1)
          const durations = seconds.filter((duration) => takes("duration", { duration }))
          expect([listed.id, durations]).toEqual([listed.id, listed.supported_durations])
          expect(durations).toContain(listed.default_duration)
          expect(listed.capabilities.max_duration).toBe(Math.max(...durations))
          expect(Resolution.literals.filter((resolution) => takes("resolution", { resolution }))).toEqual(
            Resolution.literals.filter((resolution) => listed.supported_resolutions.includes(resolution))
          )
          // At some resolution, with or without an image.
          const ratios = AspectRatio.literals.filter((aspect_ratio) =>
            [least, { prompt: "a harbor" }].some((request) => takes("aspect_ratio", { aspect_ratio }, request))
          )
          expect([listed.id, ratios]).toEqual([
            listed.id,
            AspectRatio.literals.filter((ratio) => listed.supported_aspect_ratios.includes(ratio))
          ])
          const sizes = listed.supported_sizes ?? []
          const isSize = (size: string) =>
            [least, { prompt: "a harbor" }].some((request) => takes("size", { size }, request))
          expect([...sizes, "16x16"].filter(isSize)).toEqual(sizes)
          for (const frame_type of ["first_frame", "last_frame"] as const) {
            const types =
              frame_type === "last_frame" ? (["first_frame", "last_frame"] as const) : ["first_frame" as const]
            expect([listed.id, frame_type, takes("frame_images", frames(...types))]).toEqual([
              listed.id,
              frame_type,
              listed.supported_frame_images.includes(frame_type)
            ])
          }
          const warnings = offer.ignored?.({ ...least, seed: 7 }) ?? []
          expect([listed.id, warnings.length === 0]).toEqual([listed.id, listed.seed])
          const { architecture, supported_parameters } = toModel("", entry)
          expect(supported_parameters.includes("seed")).toBe(listed.seed)
          expect(architecture.input_modalities.includes("image")).toBe(
            takes("frame_images", frames("first_frame")) ||
              takes("input_references", { input_references: [{ type: "image_url", image_url: still }] })
          )
        }
      }).pipe(Effect.provide(services))
    )
  }

  it.effect("lists a price per token of video for one token", () =>
    Effect.gen(function* () {
      const upstream = { name: "modelark", baseUrl: "https://example.com", credential: { id: "gateway" } }
      const [offer] = yield* ModelArk.adapter.offers(upstream, ModelArk.adapter.models)
      if (offer?.kind !== "video") return expect.fail("no video")
      const entry = { id: offer.publicId, kind: "video" as const, offers: [offer] as const }
      expect(toVideoModel(entry).pricing_skus).toEqual({ video_tokens: "0.000007", video_tokens_1080p: "0.0000077" })
      expect(toModel("", entry).pricing).toMatchObject({ prompt: "0", completion: "0.0000077" })
    }).pipe(Effect.provide(services))
  )
})

describe("GET /models", () => {
  it("says when a model ends: on the last day of its offers, and never if one of them has no end", () => {
    const offer = (expiresOn?: string): RerankOffer => ({
      kind: "rerank",
      publicId: "acme/rerank",
      upstreamId: "rerank",
      provider: "acme",
      name: "Rerank",
      isFree: false,
      ...(expiresOn === undefined ? {} : { expiresOn }),
      credential: undefined,
      pricing: { unit: "search_unit", microCredits: 1 },
      capabilities: { image_documents: false },
      quote: () => MicroCredits.zero,
      run: () => Effect.never
    })
    const ends = (first: string | undefined, ...others: ReadonlyArray<string | undefined>) =>
      toModel("", { id: "acme/rerank", kind: "rerank", offers: [offer(first), ...others.map(offer)] }).expiration_date
    expect(ends(undefined)).toBeNull()
    expect(ends("2027-02-26")).toBe("2027-02-26")
    expect(ends("2027-02-26", "2027-03-01", "2027-01-31")).toBe("2027-03-01")
    expect(ends("2027-02-26", undefined)).toBeNull()
    expect(ends(undefined, "2027-02-26")).toBeNull()
  })
})
