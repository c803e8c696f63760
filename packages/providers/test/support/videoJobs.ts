import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Redacted, Result, type Scope, Stream } from "effect"
import { assert } from "@effect/vitest"
import type { Adapter, Upstream } from "@model-gateway/offers/Adapter"
import { gatewayCredential, type VideoOffer } from "@model-gateway/offers/Offer"
import type { ProviderError, Reason } from "@model-gateway/offers/ProviderError"
import type { JobHandle, VideoRequest, VideoStatus } from "@model-gateway/offers/Video"
import type { Model } from "@model-gateway/offers/Model"
import type { StartOptions } from "@model-gateway/test-doubles/Double"
import { type JobDouble, video } from "@model-gateway/test-doubles/JobDouble"

export const key = "video-secret-0123456789"

export const credential = gatewayCredential(Redacted.make(key))

export const undici = Effect.provide(NodeHttpClient.layerUndici)

export const request: VideoRequest = { prompt: "a harbor at dawn" }

export const frame = <Type extends "first_frame" | "last_frame">(url: string, frame_type: Type) =>
  ({ type: "image_url", image_url: { url }, frame_type }) as const

export const image = frame("https://example.com/a.png", "first_frame")
export const last = frame("https://example.com/b.png", "last_frame")

/** A double that accepts {@link key}, for the scope. */
export const started = <D extends JobDouble>(
  start: (options: StartOptions) => Promise<D>
): Effect.Effect<D, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => start({ keys: [key] })),
    (double) => Effect.promise(() => double.close())
  )

/** A call of a vendor's SDK. */
export const attempt = <A>(call: () => Promise<A>) => Effect.tryPromise({ try: call, catch: (error) => error })

/** What a request may be made from, besides text. */
interface Media {
  readonly first: typeof image
  readonly last: typeof last
  readonly reference: string
}

const links: Media = { first: image, last, reference: "https://example.com/c.png" }

/** The requests that a model takes: from text, from frames, and from as many references as it takes. */
const formsOf = (offer: VideoOffer, { first, last, reference }: Media): ReadonlyArray<VideoRequest> => {
  const { frame_images, last_frame = true, max_reference_images = 1, references = [] } = offer.capabilities
  const still = { type: "image_url", image_url: { url: reference } } as const
  const withText = Result.isSuccess(Effect.runSync(Effect.result(offer.check(request))))
  return [
    ...(withText ? [request] : []),
    ...(frame_images ? [{ ...request, frame_images: [first] }] : []),
    ...(frame_images && last_frame ? [{ ...request, frame_images: [first, last] }] : []),
    ...(references.includes("image")
      ? [{ ...request, input_references: Array.from({ length: max_reference_images }, () => still) }]
      : [])
  ]
}

const nameOf = ({ frame_images, input_references }: VideoRequest): string =>
  `from ${frame_images?.length ?? 0} frames and ${input_references?.length ?? 0} references`

/**
 * Makes a video of every built-in model that makes one by itself: in each form, at its shortest and
 * longest duration, and at each resolution. What the offer accepts, the upstream must accept, and
 * the charge is the quote. `more` are fields of each request.
 */
export const makeAll = Effect.fnUntraced(function* <R>(
  adapter: Adapter<R>,
  baseUrl: string,
  media: Media = links,
  more: Partial<VideoRequest> = {}
) {
  for (const { publicId } of adapter.models) {
    const { follow, offer, submit } = yield* offered(adapter, baseUrl, publicId)
    const { durations = [], resolutions, upscale } = offer.capabilities
    if (upscale) continue
    const made = new Set<string | number | undefined>()
    const forms = formsOf(offer, media).map((form) => ({ ...form, ...more }))
    const ends = [...new Set([durations[0], durations.at(-1)])]
    for (const form of forms) {
      const requests: ReadonlyArray<VideoRequest> = [
        form,
        ...resolutions.map((resolution) => ({ ...form, resolution })),
        ...ends.map((duration) => ({ ...form, ...(duration === undefined ? {} : { duration }) }))
      ]
      for (const wanted of requests) {
        // A resolution or a duration may be for other forms.
        if (Result.isFailure(yield* Effect.result(offer.check(wanted)))) continue
        const status = yield* follow(yield* submit(wanted), wanted)
        const where = `${publicId}: ${JSON.stringify(wanted)}`
        assert.strictEqual(status.status, "completed", where)
        assert.strictEqual(status.status === "completed" && status.charge.cost, offer.quote(wanted), where)
        assert.isAbove(offer.quote(wanted), 0)
        made.add(nameOf(form)).add(wanted.duration).add(wanted.resolution)
      }
    }
    for (const each of [...resolutions, ...ends, ...forms.map(nameOf)]) {
      assert.isTrue(made.has(each), `${publicId}: no video of ${each}`)
    }
  }
})

/** The offer of one model at a base URL, and calls of it with its own credential. */
export const offered = <R>(
  adapter: Adapter<R>,
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
  const own = offer.credential ?? credential
  const submit = (request: VideoRequest) => offer.submit({ request, token: "token" }, own)
  const poll = (handle: JobHandle, request: VideoRequest) => offer.poll({ handle, request }, own)
  const content = (handle: JobHandle, request: VideoRequest, index = 0) =>
    Effect.map(Stream.runCollect(offer.content({ handle, request, index }, own)), (chunks) =>
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

/** Checks that a download whose link has expired fails, and that the next one has a new link. */
export const renewLink = Effect.fnUntraced(function* (
  { jobs }: JobDouble,
  { content, follow, submit }: ReturnType<typeof callsOf>
) {
  jobs.next("expire")
  const handle = yield* submit(request)
  assert.deepInclude(yield* follow(handle, request), { status: "completed", outputs: 1 })
  const expired = yield* Effect.flip(content(handle, request))
  assert.deepStrictEqual([expired.reason._tag, expired.status], ["BadResponse", 403])
  assert.deepStrictEqual(yield* content(handle, request), Buffer.from(video))
})
