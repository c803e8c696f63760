/** An offer that may serve a request, and the credential to call it with. */
import type { Credential, Offer } from "@model-gateway/offers/Offer"

/** An offer and the credential to call it with. */
export interface Candidate<out O extends Offer = Offer> {
  readonly offer: O
  readonly credential: Credential
}

/** The offer with the gateway's own credential. None if the gateway has none for it. */
export const ofGateway = <O extends Offer>(offer: O): ReadonlyArray<Candidate<O>> =>
  offer.credential === undefined ? [] : [{ offer, credential: offer.credential }]

/**
 * The key of the candidate's circuit and measurements. Each credential has its own, so that a
 * rejected credential of one caller does not affect the others.
 */
export const keyOf = ({ credential, offer }: Candidate): string =>
  `${offer.kind} ${offer.provider} ${offer.publicId} ${credential.id}`
