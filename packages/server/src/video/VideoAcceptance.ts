/**
 * Which providers accept a video request. This is decided once, on submission.
 *
 * No upstream is called here. An upstream's outage never fails a submission: the job is accepted
 * and may fail later. Requests that are known to be invalid are rejected at once, and so are
 * requests to the sandbox models that answer with a status.
 */
import { type BadRequest, type Issue, PayloadTooLarge, phrases } from "@model-gateway/core/GatewayError"
import { type Request, submitVideoOperation } from "@model-gateway/core/Video"
import type { VideoOffer } from "@model-gateway/offers/Offer"
import type { Reason } from "@model-gateway/offers/ProviderError"
import { unsupported } from "@model-gateway/offers/Video"
import { Effect, Result } from "effect"
import * as Issues from "../internal/Issues.ts"
import type { ModelCatalog } from "../routing/ModelCatalog.ts"
import * as ProviderFailures from "../routing/ProviderFailures.ts"
import * as VideoRequests from "./VideoRequest.ts"

/** The errors that a submission can be rejected with. */
export type Refusal = (typeof submitVideoOperation.error)[number]["Type"]

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

const sortIssues = ({ provider }: typeof Request.Type): ReadonlyArray<Issue> =>
  provider?.sort === "latency" || provider?.sort === "throughput"
    ? [{ path: "provider.sort", message: `videos are sorted by price only, not by ${provider.sort}` }]
    : []

/** Fails with a 400 if no model can make the video. */
export const check = (wanted: typeof Request.Type): Effect.Effect<void, BadRequest> => {
  const contradictions = VideoRequests.issues(wanted)
  const issues = contradictions.length > 0 ? contradictions : sortIssues(wanted)
  return issues.length === 0 ? Effect.void : Effect.fail(Issues.invalid(issues))
}

/** A message names at most this many models. */
const maxNamedModels = 10

/** Models that take references to images. */
const modelsForImages = ({ videos }: ModelCatalog["Service"]): ReadonlyArray<string> =>
  videos
    .filter(({ offers }) => offers.some(({ capabilities }) => capabilities.references?.includes("image") === true))
    .map(({ id }) => id)
    .slice(0, maxNamedModels)

/**
 * The offers that accept the request. If none does, the caller gets the first one's reason. With
 * `acceptsSimulated`, a model that only answers with a status accepts it, instead of answering.
 */
export const supporting = (
  catalog: ModelCatalog["Service"],
  wanted: typeof Request.Type,
  { acceptsSimulated }: { readonly acceptsSimulated: boolean } = { acceptsSimulated: false }
) => {
  const attempt = Effect.fnUntraced(function* (offer: VideoOffer): Effect.fn.Return<VideoOffer, Refusal> {
    const request = VideoRequests.forOffer(wanted, offer)
    const checked = yield* Effect.result(offer.check(request))
    if (acceptsSimulated && Result.isFailure(checked) && checked.failure.reason._tag === "Simulated") return offer
    const refusal = Result.isFailure(checked) ? refusalOf(checked.failure.reason) : undefined
    // A model that only answers with a status takes precedence over other errors.
    if (Result.isFailure(checked) && checked.failure.reason._tag === "Simulated" && refusal !== undefined) {
      return yield* refusal
    }
    const issues = unsupported(request, offer.capabilities, offer.publicId, modelsForImages(catalog))
    if (issues.length > 0) return yield* Issues.invalid(issues)
    return refusal === undefined ? offer : yield* refusal
  })

  return Effect.fnUntraced(function* (
    offers: ReadonlyArray<VideoOffer>
  ): Effect.fn.Return<ReadonlyArray<VideoOffer>, Refusal> {
    const [able, refusals] = yield* Effect.partition(offers, attempt)
    if (able.length === 0 && refusals[0] !== undefined) return yield* refusals[0]
    return able
  })
}
