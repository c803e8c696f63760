/**
 * Offers whose charges are checked: a charge with a cost or a count that cannot be is a bad response
 * of the provider.
 *
 * An adapter checks what its upstream sends. This check is for all of them, so that no charge is
 * stored that the ledger, its sums or a reader of it could not hold.
 */
import type { RerankOffer, TranscriptionOffer, VideoOffer } from "@model-gateway/providers/Offer"
import { type Charge, flawOf } from "@model-gateway/providers/Pricing"
import { BadResponse, ProviderError } from "@model-gateway/providers/ProviderError"
import { Effect } from "effect"

const failIfWrong = (charge: Charge): Effect.Effect<void, ProviderError> => {
  const description = flawOf(charge)
  return description === undefined
    ? Effect.void
    : Effect.fail(new ProviderError({ reason: new BadResponse({ description }), status: 200 }))
}

/** A rerank offer, checked. */
export const rerank = (offer: RerankOffer): RerankOffer => ({
  ...offer,
  run: (request, credential) => Effect.tap(offer.run(request, credential), ({ charge }) => failIfWrong(charge))
})

/** A transcription offer, checked. */
export const transcription = (offer: TranscriptionOffer): TranscriptionOffer => ({
  ...offer,
  run: (request, credential) => Effect.tap(offer.run(request, credential), ({ charge }) => failIfWrong(charge))
})

/** A video offer, checked. */
export const video = (offer: VideoOffer): VideoOffer => ({
  ...offer,
  poll: (job, credential) =>
    Effect.tap(offer.poll(job, credential), (status) =>
      status.status === "completed" ? failIfWrong(status.charge) : Effect.void
    )
})
