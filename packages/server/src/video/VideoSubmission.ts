/**
 * Submits a video job to its current candidate.
 *
 * Submissions go through the router like other operations: an offer with an open circuit is not
 * called, and the result counts toward its circuit. The router gets this one candidate only,
 * because another one may be tried only after it is recorded that this one has not taken the job.
 */
import { canFallBack, type Reason, Timeout } from "@model-gateway/offers/ProviderError"
import type { JobHandle, VideoRequest } from "@model-gateway/offers/Video"
import { isIdempotent, type VideoOffer } from "@model-gateway/offers/Offer"
import { Clock, Duration, Effect } from "effect"
import type { ProviderAttempt } from "../accounting/ProviderAttempt.ts"
import type { Candidate } from "../routing/Candidate.ts"
import { Router } from "../routing/Router.ts"
import { goneError, usesProviderKey } from "./VideoCandidate.ts"
import { tokenOf, type VideoJob } from "./VideoJob.ts"
import * as RetryDecision from "./RetryDecision.ts"

/** The result of a submission. */
export type Outcome =
  | { readonly _tag: "Accepted"; readonly handle: JobHandle }
  /**
   * The upstream certainly has not taken the job. `isFinal`: other providers would not take it
   * either. `reason` is set if the upstream was called.
   */
  | {
      readonly _tag: "NotTaken"
      readonly decision: RetryDecision.RetryDecision
      readonly isFinal: boolean
      readonly reason: Reason | undefined
    }
  /** The upstream may have taken the job. */
  | { readonly _tag: "Unknown"; readonly decision: RetryDecision.RetryDecision; readonly reason: Reason }

/** A submission: its result, and the attempt at the provider. None if the offer is gone. */
export interface Submitted {
  readonly outcome: Outcome
  readonly attempts: ReadonlyArray<ProviderAttempt>
}

/** Whether the provider bills a submission. If it accepted the job, its end decides that. */
const billedOf = ({ _tag }: Outcome): ProviderAttempt["billed"] => (_tag === "NotTaken" ? "no" : "unknown")

const outcomeOf = (reason: Reason, isByok: boolean): Outcome => {
  const decision = RetryDecision.ofSubmission(reason, isByok)
  switch (reason._tag) {
    case "Timeout":
    case "ConnectionLost":
    case "BadResponse":
      return { _tag: "Unknown", decision, reason }
    case "InvalidRequest":
    case "InputTooLarge":
    case "Simulated":
    case "UnknownModel":
    case "Unauthorized":
    case "OutOfCredit":
    case "RateLimited":
    case "Overloaded":
    case "Unavailable":
      return { _tag: "NotTaken", decision, isFinal: !canFallBack(reason), reason }
  }
}

const notAsked = (decision: RetryDecision.RetryDecision): Outcome => ({
  _tag: "NotTaken",
  decision,
  isFinal: false,
  reason: undefined
})

/**
 * How long after the first submission it may be repeated. Services forget an idempotency key after
 * 24 hours, and their clocks differ from ours.
 */
const repeatableFor = Duration.hours(23)

/** Whether the job may be submitted again if the answer is lost, or was. */
export const isRepeatable = Effect.fnUntraced(function* (
  { askedAt }: Pick<VideoJob, "askedAt">,
  candidate: Candidate<VideoOffer> | undefined
): Effect.fn.Return<boolean> {
  if (candidate === undefined) return false
  const now = yield* Clock.currentTimeMillis
  if (askedAt !== null && now - askedAt > Duration.toMillis(repeatableFor)) return false
  return yield* isIdempotent(candidate.offer)
})

/** Makes the submission over the router. `callTimeout` limits the upstream call. */
export const make = Effect.fnUntraced(function* ({ callTimeout }: { readonly callTimeout: Duration.Input }) {
  const router = yield* Router
  const attemptTimeout = Duration.fromInputUnsafe(callTimeout)

  return Effect.fnUntraced(function* (
    job: VideoJob,
    candidate: Candidate<VideoOffer> | undefined,
    request: VideoRequest
  ): Effect.fn.Return<Submitted> {
    if (candidate === undefined) {
      return { outcome: notAsked({ isRetryable: false, error: goneError(job) }), attempts: [] }
    }
    const startedAt = yield* Clock.currentTimeMillis
    const { attempts, exit } = yield* router.route({
      owner: job.keyHash,
      candidates: [candidate],
      call: ({ credential, offer }) => offer.submit({ request, token: tokenOf(job) }, credential),
      attemptTimeout,
      deadline: Duration.infinity,
      units: 1
    })
    const outcome = yield* exit.pipe(
      Effect.map(({ answer }): Outcome => ({ _tag: "Accepted", handle: answer })),
      Effect.catchTags({
        AttemptsFailed: ({ reason }) => Effect.succeed(outcomeOf(reason, usesProviderKey(job))),
        DeadlinePassed: () => Effect.succeed(outcomeOf(new Timeout(), usesProviderKey(job))),
        NoneUp: ({ retryAfter }) =>
          Effect.succeed(notAsked({ isRetryable: true, error: "the provider is not available", retryAfter }))
      })
    )
    const billed = billedOf(outcome)
    return { outcome, attempts: attempts.map((attempt) => ({ ...attempt, billed, started_at: startedAt })) }
  })
})
