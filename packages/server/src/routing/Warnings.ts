/** What a provider ignored of a request, as the answer's `warnings`. */
import type { Ignoring } from "@model-gateway/offers/Offer"

/** An answer has at most this many warnings: upstreams can send any number. */
const maxWarnings = 100

/** A sentence is cut after this many characters. */
const maxCharacters = 500

const shortened = (sentence: string): string =>
  sentence.length > maxCharacters ? `${sentence.slice(0, maxCharacters).toWellFormed()}…` : sentence

/** The field `warnings`. Left out if there are none. */
export interface Warnings {
  readonly warnings?: ReadonlyArray<string>
}

/**
 * The warnings of a request: what its offer ignores, and what its upstream says that it ignored. A
 * sentence that both say is there once.
 */
export const ofSentences = (ignored: ReadonlyArray<string>, said: ReadonlyArray<string> = []): Warnings => {
  if (ignored.length + said.length === 0) return {}
  return { warnings: [...new Set([...ignored, ...said].map(shortened))].slice(0, maxWarnings) }
}

/** The warnings of a request to an offer that states itself all that it ignores. */
export const of = <Request>(offer: Ignoring<Request>, request: Request, said?: ReadonlyArray<string>): Warnings =>
  ofSentences(offer.ignored?.(request) ?? [], said)
