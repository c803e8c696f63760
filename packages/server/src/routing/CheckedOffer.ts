/**
 * Offers whose results are checked before they are stored and returned. Bad responses of the
 * provider are: a charge with a cost or a count that cannot be, a ranking that names a document
 * twice or none, and a video job's handle of many kilobytes. A ranking that is out of order is
 * sorted: its provider has billed it.
 *
 * An adapter checks what its upstream sends. These checks are for all adapters, so that callers get
 * what the contract says, and nothing is stored that the ledger, its sums or a reader of it could
 * not hold.
 */
import type { RerankOffer, TranscriptionOffer, VideoOffer } from "@model-gateway/offers/Offer"
import { type Charge, flawOf } from "@model-gateway/offers/Pricing"
import { BadResponse, ProviderError } from "@model-gateway/offers/ProviderError"
import * as Ranking from "@model-gateway/offers/Ranking"
import type { JobHandle } from "@model-gateway/offers/Video"
import { Effect } from "effect"

const badResponse = (description: string) =>
  Effect.fail(new ProviderError({ reason: new BadResponse({ description }), status: 200 }))

const failIfWrong = (charge: Charge): Effect.Effect<void, ProviderError> => {
  const description = flawOf(charge)
  return description === undefined ? Effect.void : badResponse(description)
}

/** The longest handle in characters of JSON. The longest known ones are three URLs. */
const maxHandle = 16_384

const failIfLong = (handle: JobHandle): Effect.Effect<void, ProviderError> =>
  JSON.stringify(handle).length <= maxHandle ? Effect.void : badResponse("a job name that is too long")

/** A rerank offer, checked. */
export const rerank = (offer: RerankOffer): RerankOffer => ({
  ...offer,
  run: (request, credential) =>
    Effect.flatMapEager(offer.run(request, credential), ({ answer, charge }) => {
      const description = flawOf(charge) ?? Ranking.flawOf(answer.results, request.documents.length)
      return description === undefined
        ? Effect.succeed({ answer: { ...answer, results: Ranking.sorted(answer.results) }, charge })
        : badResponse(description)
    })
})

/** A transcription offer, checked. */
export const transcription = (offer: TranscriptionOffer): TranscriptionOffer => ({
  ...offer,
  run: (request, credential) => Effect.tap(offer.run(request, credential), ({ charge }) => failIfWrong(charge))
})

/** A video offer, checked. */
export const video = (offer: VideoOffer): VideoOffer => ({
  ...offer,
  submit: (submission, credential) => Effect.tap(offer.submit(submission, credential), failIfLong),
  poll: (job, credential) =>
    Effect.tap(offer.poll(job, credential), (status) =>
      status.status === "completed" ? failIfWrong(status.charge) : Effect.void
    )
})
