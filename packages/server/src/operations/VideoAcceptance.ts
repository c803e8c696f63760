/**
 * Decides whether a video request is accepted and which providers may make the video. The decision
 * is made once, on submission, with the guardrail and preferences of that moment.
 *
 * No upstream is called here. An upstream's outage never fails a submission: the job is accepted
 * and may fail later. Requests that are known to be invalid are rejected at once, and so are
 * requests to the sandbox models that answer with a status.
 */
import { PayloadTooLarge, phrases } from "@model-gateway/core/GatewayError"
import { type Request, submitVideoOperation } from "@model-gateway/core/Video"
import type { VideoOffer } from "@model-gateway/offers/Offer"
import { unsupported } from "@model-gateway/offers/Video"
import type { Reason } from "@model-gateway/offers/ProviderError"
import { Effect, Result } from "effect"
import type { Caller } from "../access/Caller.ts"
import * as Issues from "../http/Issues.ts"
import type { Candidate } from "../routing/Candidate.ts"
import type { ModelCatalogue } from "../routing/ModelCatalogue.ts"
import * as Candidates from "../routing/Candidates.ts"
import type { Own } from "../routing/OwnKeys.ts"
import * as ProviderFailures from "../routing/ProviderFailures.ts"
import * as VideoRequests from "../video/VideoRequest.ts"

/** The errors that a submission can be rejected with. */
export type Refusal = (typeof submitVideoOperation.error)[number]["Type"]

/** An accepted request: the offer with its credential, and the exact request. */
export interface Accepted extends Candidate<VideoOffer> {
  /** The request with the model's defaults filled in. */
  readonly request: ReturnType<typeof VideoRequests.complete>
}

/** An accepted request, and the fallbacks in order of preference. */
export interface Decision extends Accepted {
  readonly fallbacks: ReadonlyArray<Accepted>
}

/**
 * The error that a provider's own check reports about the request, or undefined if the failure is
 * not about the request.
 */
const refusalOf = (reason: Reason): Refusal | undefined => {
  switch (reason._tag) {
    case "InvalidRequest":
      return Issues.invalid(reason.issues ?? [{ path: "", message: reason.message }])
    case "Simulated":
      return ProviderFailures.forSimulated<Refusal>(submitVideoOperation.error, reason)
    case "InputTooLarge":
      return new PayloadTooLarge({ error: { message: `${phrases[413]}: ${reason.message}` } })
    case "UnknownModel":
    case "Unauthorized":
    case "OutOfCredit":
    case "RateLimited":
    case "Overloaded":
    case "Unavailable":
    case "Timeout":
    case "ConnectionLost":
    case "BadResponse":
      return undefined
  }
}

/** Jobs are not timed like requests, so they can be sorted by price only. */
const unobserved = () => undefined

const unsorted = (sort: string) => ({
  path: "provider.sort",
  message: `videos are sorted by price only, not by ${sort}`
})

/** A message names at most this many models. */
const maxNamedModels = 10

/** Models that take references to images. */
const modelsForImages = ({ videos }: ModelCatalogue["Service"]): ReadonlyArray<string> =>
  videos
    .filter(({ offers }) => offers.some(({ capabilities }) => capabilities.references?.includes("image") === true))
    .map(({ id }) => id)
    .slice(0, maxNamedModels)

/**
 * Chooses the providers that the guardrail, the preferences and the request allow. If no provider
 * accepts the request, the caller gets the first provider's reason.
 */
export const decide = Effect.fn("VideoAcceptance.decide")(function* (
  catalogue: ModelCatalogue["Service"],
  caller: Caller,
  own: Own,
  wanted: typeof Request.Type
): Effect.fn.Return<Decision, Refusal> {
  const contradictions = VideoRequests.issues(wanted)
  if (contradictions.length > 0) return yield* Issues.invalid(contradictions)
  const sort = wanted.provider?.sort
  if (sort === "latency" || sort === "throughput") return yield* Issues.invalid([unsorted(sort)])
  yield* Candidates.allowModel(wanted.model, caller.guardrail)
  const entry = catalogue.video(wanted.model)
  if (entry === undefined) return yield* Candidates.unknownModel(catalogue, "video", wanted.model)
  const allowed = yield* Candidates.allowed(entry, { preferences: wanted.provider, guardrail: caller.guardrail })
  yield* Candidates.passable(allowed, wanted.provider)
  const requestFor = (offer: VideoOffer) => VideoRequests.complete(wanted, offer.capabilities)
  const attempt = Effect.fnUntraced(function* (offer: VideoOffer): Effect.fn.Return<VideoOffer, Refusal> {
    const request = requestFor(offer)
    const checked = yield* Effect.result(offer.check(VideoRequests.forProvider(request, offer.provider)))
    const refusal = Result.isFailure(checked) ? refusalOf(checked.failure.reason) : undefined
    // A model that only answers with a status takes precedence over other errors.
    if (Result.isFailure(checked) && checked.failure.reason._tag === "Simulated" && refusal !== undefined) {
      return yield* refusal
    }
    const issues = unsupported(request, offer.capabilities, offer.publicId, modelsForImages(catalogue))
    if (issues.length > 0) return yield* Issues.invalid(issues)
    return refusal === undefined ? offer : yield* refusal
  })

  const [able, refusals] = yield* Effect.partition(allowed, attempt)
  if (able.length === 0 && refusals[0] !== undefined) return yield* refusals[0]
  const candidates = yield* Candidates.ranked(able, {
    preferences: wanted.provider,
    observed: unobserved,
    own,
    isFreeTier: caller.key.isFreeTier,
    quote: (offer) => offer.quote(VideoRequests.forProvider(requestFor(offer), offer.provider)),
    ignored: (offer) => offer.ignored?.(VideoRequests.forProvider(requestFor(offer), offer.provider)) ?? []
  })
  const [first, ...fallbacks] = candidates.map((candidate) => ({ ...candidate, request: requestFor(candidate.offer) }))
  return first === undefined
    ? yield* Candidates.unknownModel(catalogue, "video", wanted.model)
    : { ...first, fallbacks }
})
