import { Effect, Redacted, Stream } from "effect"
import { assert } from "@effect/vitest"
import type { Adapter, Upstream } from "../../src/Adapter.ts"
import { gatewayCredential, type VideoOffer } from "../../src/Offer.ts"
import type { ProviderError, Reason } from "../../src/ProviderError.ts"
import type { JobHandle, VideoRequest, VideoStatus } from "../../src/Video.ts"
import type { Model } from "../../src/Model.ts"

export const key = "video-secret-0123456789"

export const credential = gatewayCredential(Redacted.make(key))

/** The offer of one model at a base URL, and calls of it with its own credential. */
export const offered = (
  adapter: Adapter,
  baseUrl: string,
  publicId: string,
  options: Partial<Upstream> & { readonly models?: ReadonlyArray<Model> } = {}
) =>
  Effect.gen(function* () {
    const { models = adapter.models, ...more } = options
    const offers = yield* adapter.offers({ name: adapter.name, baseUrl, credential, ...more }, models)
    const offer = offers.find((offer) => offer.publicId === publicId)
    if (offer?.kind !== "video") return assert.fail(`no video offer ${publicId}`)
    return { offer, ...callsOf(offer) }
  })

/** Calls of an offer with the gateway's credential. */
export const callsOf = (offer: VideoOffer) => {
  const submit = (request: VideoRequest) => offer.submit({ request, token: "token" }, credential)
  const poll = (handle: JobHandle, request: VideoRequest) => offer.poll({ handle, request }, credential)
  const content = (handle: JobHandle, request: VideoRequest, index = 0) =>
    Effect.map(Stream.runCollect(offer.content({ handle, request, index }, credential)), (chunks) =>
      Buffer.concat([...chunks])
    )
  /** Polls until the job is over. */
  const follow = (handle: JobHandle, request: VideoRequest): Effect.Effect<VideoStatus, ProviderError> =>
    Effect.gen(function* () {
      for (let polls = 0; polls < 10; polls++) {
        const status = yield* poll(handle, request)
        if (status.status !== "in_progress") return status
      }
      return assert.fail("the job does not end")
    })
  return { submit, poll, content, follow }
}

export const told = (reason: Reason): string =>
  "description" in reason ? `${reason._tag}: ${reason.description}` : `${reason._tag}: ${reason.message}`
