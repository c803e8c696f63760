/**
 * Whether a video request is accepted, and who may make it: chosen once, when it comes, by the guardrail and the preferences of that time.
 *
 * Nothing is asked of an upstream here. Its trouble never fails a submission: the job is accepted and fails later. What is known to be wrong beforehand is refused at once, and so are the
 * sandbox's models that answer with a status.
 */
import {
  BadRequest,
  Forbidden,
  InternalServerError,
  NotFound,
  PayloadTooLarge,
  PaymentRequired,
  phrases,
  TooManyRequests,
  Unauthorized
} from "@model-gateway/core/GatewayError"
import type { Request } from "@model-gateway/core/Video"
import type { VideoModel } from "@model-gateway/providers/Model"
import type { VideoCapability } from "@model-gateway/providers/Provider"
import type { Reason, Simulated } from "@model-gateway/providers/ProviderError"
import { Duration, Effect, Result } from "effect"
import * as Issues from "../http/Issues.ts"
import type { Caller } from "../keys/Key.ts"
import type { Endpoint, ModelCatalogue } from "../models/ModelCatalogue.ts"
import * as Candidates from "../routing/Candidates.ts"
import * as VideoRequests from "./VideoRequest.ts"

/** What a submission can be refused with. */
export type Refusal =
  | BadRequest
  | Unauthorized
  | PaymentRequired
  | Forbidden
  | NotFound
  | PayloadTooLarge
  | TooManyRequests
  | InternalServerError

/** An accepted request: who makes it, and what exactly. */
export interface Accepted {
  readonly endpoint: Endpoint<VideoModel>
  /** With what the model would choose filled in. */
  readonly request: ReturnType<typeof VideoRequests.complete>
}

/** An accepted request, and who else would take it, by preference, should the first be down. */
export interface Decision extends Accepted {
  readonly fallbacks: ReadonlyArray<Accepted>
}

const simulated = (reason: Simulated): Refusal => {
  const message = `${phrases[reason.status]} (simulated)`
  switch (reason.status) {
    case 400:
      return new BadRequest({ error: { message, metadata: { issues: [{ path: "model", message: "simulated" }] } } })
    case 401:
      return new Unauthorized({ error: { message } })
    case 402:
      return new PaymentRequired({ error: { message } })
    case 403:
      return new Forbidden({ error: { message } })
    case 404:
      return new NotFound({ error: { message } })
    case 413:
      return new PayloadTooLarge({ error: { message } })
    case 429: {
      const seconds = Math.max(1, Math.ceil(Duration.toSeconds(reason.retryAfter ?? Duration.seconds(1))))
      return new TooManyRequests({ error: { message, metadata: { retry_after: seconds } } })
    }
    case 500:
    case 502:
    case 503:
    case 504:
    case 524:
    case 529:
      // Beyond 500 the operation has no status for an upstream's failure.
      return new InternalServerError({ error: { message: `${phrases[500]} (simulated)` } })
  }
}

/** What a provider's own check says against the request; undefined where it is no word against the request. */
const refusalOf = (reason: Reason, model: string): Refusal | undefined => {
  switch (reason._tag) {
    case "InvalidRequest":
      return Issues.invalid([{ path: "", message: reason.message }])
    case "UnknownModel":
      return new NotFound({ error: { message: `${phrases[404]}: the provider does not know the model ${model}` } })
    case "Simulated":
      return simulated(reason)
    case "Unauthorized":
    case "RateLimited":
    case "Overloaded":
    case "Unavailable":
    case "Timeout":
    case "BadResponse":
      return undefined
  }
}

const capabilityOf = ({ provider }: Endpoint<VideoModel>): VideoCapability => {
  if (provider.video === undefined) throw new Error(`The provider ${provider.name} lists a video model and makes none`)
  return provider.video
}

/** Jobs are not timed like requests, so there is nothing to sort by but price. */
const unobserved = () => undefined

/**
 * Chooses the providers that the guardrail, the preferences and the request itself allow. When none takes the request, the first one's reason is told.
 */
export const decide = Effect.fn("VideoAcceptance.decide")(function* (
  catalogue: ModelCatalogue["Service"],
  caller: Caller,
  wanted: Request
): Effect.fn.Return<Decision, Refusal> {
  const contradictions = VideoRequests.issues(wanted)
  if (contradictions.length > 0) return yield* Issues.invalid(contradictions)
  yield* Candidates.allowModel(wanted.model, caller.guardrail)
  const entry = catalogue.video(wanted.model)
  if (entry === undefined) return yield* Candidates.unknownModel(catalogue, "video", wanted.model)
  const endpoints = yield* Candidates.select(entry, {
    preferences: wanted.provider,
    guardrail: caller.guardrail,
    observed: unobserved
  })

  const attempt = Effect.fnUntraced(function* (endpoint: Endpoint<VideoModel>): Effect.fn.Return<Accepted, Refusal> {
    const { model, provider } = endpoint
    const request = VideoRequests.complete(wanted, model)
    const checked = yield* Effect.result(
      capabilityOf(endpoint).check(VideoRequests.forProvider(request, provider.name, model.id))
    )
    const refusal = Result.isFailure(checked) ? refusalOf(checked.failure.reason, model.id) : undefined
    // A model that only answers with a status does so whatever else there is to say.
    if (Result.isFailure(checked) && checked.failure.reason._tag === "Simulated" && refusal !== undefined) {
      return yield* refusal
    }
    const issues = VideoRequests.issuesForModel(request, model)
    if (issues.length > 0) return yield* Issues.invalid(issues)
    return refusal === undefined ? { endpoint, request } : yield* refusal
  })

  const [accepted, refusals] = yield* Effect.partition(endpoints, attempt)
  const [first, ...fallbacks] = accepted
  if (first !== undefined) return { ...first, fallbacks }
  return yield* refusals[0] ?? Candidates.unknownModel(catalogue, "video", wanted.model)
})
