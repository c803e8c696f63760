/**
 * The free tier: keys with `is_free_tier`, which spend no credits.
 *
 * Such a key may use the gateway's credentials for offers whose price is 0 only. Its requests to
 * them count toward its free requests of the day. The caller's provider keys cost no credits, so it
 * may use them for every offer.
 */
import type { Offer } from "@model-gateway/offers/Offer"
import { perUnit } from "@model-gateway/offers/Pricing"
import type { Candidate } from "./Candidate.ts"
import * as AllowedProviderKeys from "./AllowedProviderKeys.ts"

/** Whether each price of the offer is 0, so that no request costs anything there. */
export const costsNothing = ({ pricing }: Offer): boolean =>
  Object.values(perUnit(pricing)).every((microCredits) => microCredits === 0)

/** Whether a key of the free tier may use the candidate. */
const isAllowed = (candidate: Candidate): boolean =>
  AllowedProviderKeys.usesProviderKey(candidate) || costsNothing(candidate.offer)

/**
 * The groups of candidates without those that a key of the free tier may not use. If it may use
 * none, they stay as they are: admission refuses them, after it has looked for a stored answer.
 */
export const allowed = <O extends Offer>(
  groups: ReadonlyArray<ReadonlyArray<Candidate<O>>>
): ReadonlyArray<ReadonlyArray<Candidate<O>>> => {
  const left = groups.map((group) => group.filter(isAllowed)).filter((group) => group.length > 0)
  return left.length === 0 ? groups : left
}
