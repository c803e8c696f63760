/**
 * Hands a video job to the provider whose turn it is.
 *
 * The way goes through the router, as with every other operation: an endpoint whose circuit is open is not asked, and what the submission comes to counts for or against it. The router gets that one
 * candidate alone, because another may only be asked when it is on record that this one has not taken the job.
 */
import type { VideoRequest } from "@model-gateway/providers/Provider"
import type { Reason } from "@model-gateway/providers/ProviderError"
import { Timeout } from "@model-gateway/providers/ProviderError"
import { Duration, Effect } from "effect"
import { ModelCatalogue } from "../models/ModelCatalogue.ts"
import { Router } from "../routing/Router.ts"
import { tokenOf, type VideoJob } from "./VideoJob.ts"
import * as VideoVerdict from "./VideoVerdict.ts"

/** What a submission came to. */
export type Outcome =
  | { readonly _tag: "Accepted"; readonly upstreamId: string }
  /** The upstream has surely not taken the job; `isFinal`: nor would another provider. `reason` is there when it was asked. */
  | {
      readonly _tag: "NotTaken"
      readonly verdict: VideoVerdict.Verdict
      readonly isFinal: boolean
      readonly reason: Reason | undefined
    }
  /** The upstream may have taken the job. */
  | { readonly _tag: "Unknown"; readonly verdict: VideoVerdict.Verdict; readonly reason: Reason }

const outcomeOf = (reason: Reason): Outcome => {
  const verdict = VideoVerdict.of(reason)
  switch (reason._tag) {
    case "Timeout":
    case "BadResponse":
      return { _tag: "Unknown", verdict, reason }
    case "InvalidRequest":
    case "Simulated":
    case "UnknownModel":
    case "Unauthorized":
    case "RateLimited":
    case "Overloaded":
    case "Unavailable":
      return { _tag: "NotTaken", verdict, isFinal: !reason.canFallBack, reason }
  }
}

const notAsked = (verdict: VideoVerdict.Verdict): Outcome => ({
  _tag: "NotTaken",
  verdict,
  isFinal: false,
  reason: undefined
})

/** Over the router and the catalogue. `callTimeout` is how long the upstream may take to answer. */
export const make = Effect.fnUntraced(function* ({ callTimeout }: { readonly callTimeout: Duration.Input }) {
  const router = yield* Router
  const catalogue = yield* ModelCatalogue
  const attemptTimeout = Duration.fromInputUnsafe(callTimeout)

  return Effect.fnUntraced(function* (job: VideoJob, request: VideoRequest): Effect.fn.Return<Outcome> {
    const endpoint = catalogue
      .video(job.model)
      ?.endpoints.find(({ model, provider }) => provider.name === job.provider && model.id === job.upstreamModel)
    const video = endpoint?.provider.video
    if (endpoint === undefined || video === undefined) {
      return notAsked({ isPassing: false, error: `the provider ${job.provider} no longer has the model` })
    }
    return yield* router
      .route({
        candidates: [endpoint],
        call: () => video.submit({ request, token: tokenOf(job) }),
        attemptTimeout,
        deadline: Duration.infinity,
        units: 1
      })
      .pipe(
        Effect.map(({ answer }): Outcome => ({ _tag: "Accepted", upstreamId: answer.upstreamId })),
        Effect.catchTags({
          AttemptsFailed: ({ reason }) => Effect.succeed(outcomeOf(reason)),
          DeadlinePassed: () => Effect.succeed(outcomeOf(new Timeout())),
          NoneUp: ({ retryAfter }) =>
            Effect.succeed(notAsked({ isPassing: true, error: "the provider is not available", retryAfter }))
        })
      )
  })
})
