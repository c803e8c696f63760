import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert } from "@effect/vitest"
import { Effect, Layer, Redacted, type Scope } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import type { Adapter, Upstream } from "@model-gateway/offers/Adapter"
import type { Services } from "../../src/Adapters.ts"
import * as AudioSource from "@model-gateway/offers/AudioSource"
import type { Model } from "@model-gateway/offers/Model"
import { type Credential, gatewayCredential, type TranscriptionOffer } from "@model-gateway/offers/Offer"
import type { Reason } from "@model-gateway/offers/ProviderError"
import type { TranscriptionRequest } from "@model-gateway/offers/Transcription"
import type { Double } from "@model-gateway/test-doubles/Double"

/** What all adapters need. */
export const services = Layer.mergeAll(NodeHttpClient.layerUndici, NodeServices.layer, SecureRandom.layerWebCrypto)

/** A double, for the scope. */
export const started = <D extends Double>(start: () => Promise<D>): Effect.Effect<D, never, Scope.Scope> =>
  Effect.acquireRelease(Effect.promise(start), (double) => Effect.promise(() => double.close()))

/** A request whose audio the doubles take for these words, one a second. */
export const speaking = (words: string, more: Partial<TranscriptionRequest> = {}): TranscriptionRequest => ({
  audio: {
    source: AudioSource.fromBytes(new TextEncoder().encode(`speech: ${words}`)),
    format: "wav",
    durationSeconds: words.split(" ").length
  },
  timestamp_granularities: [],
  ...more
})

/** The offers of models at an upstream. */
export const offersOf = (
  adapter: Adapter<Services>,
  upstream: Partial<Upstream>,
  key: string,
  models: ReadonlyArray<Model> = adapter.models
) =>
  Effect.map(
    adapter.offers(
      { name: adapter.name, baseUrl: "", credential: gatewayCredential(Redacted.make(key)), ...upstream },
      models
    ),
    (offers) =>
      offers.map((offer) => {
        if (offer.kind !== "transcription" || offer.credential === undefined) return assert.fail("no such offer")
        const { credential } = offer
        const run = (request: TranscriptionRequest, own: Credential = credential) => offer.run(request, own)
        const named: { readonly offer: TranscriptionOffer; readonly run: typeof run } = { offer, run }
        return named
      })
  )

/** A reason as a caller or the operator reads it. */
export const told = (reason: Reason): string =>
  "description" in reason ? `${reason._tag}: ${reason.description}` : `${reason._tag}: ${reason.message}`
