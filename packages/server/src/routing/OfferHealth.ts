/**
 * What a process knows of each offer with the gateway's credential: how its calls ended, and when
 * its circuit opened. Calls with provider keys of callers are not counted: they fail for reasons
 * that only these callers know.
 */
import type { Reason } from "@model-gateway/offers/ProviderError"
import type * as ProviderKeyUse from "../access/ProviderKeyUse.ts"
import { isProviderKey } from "../access/ProviderKeys.ts"
import * as LruMap from "../internal/LruMap.ts"
import * as CallStatistics from "./CallStatistics.ts"
import { type Candidate, keyOf } from "./Candidate.ts"

/** The end of a call. */
export interface EndedCall {
  /** In epoch milliseconds. */
  readonly at: number
  readonly outcome: Reason["_tag"] | "Success"
  /** The HTTP status of the provider's error. */
  readonly status: number | undefined
  /** The id of the request that made it, if one did. */
  readonly requestId: string | undefined
}

/** What the calls say of the credential. */
export type Credential = "accepted" | "rejected" | "out_of_credit" | "unknown"

/** What is known of an offer. */
export interface Known {
  readonly calls: CallStatistics.CallStatistics
  lastCall: EndedCall | undefined
  lastFailure: EndedCall | undefined
  credential: Credential
  /** In epoch milliseconds, while the circuit is not closed. */
  openedAt: number | undefined
}

/** What a call says of the credential. Undefined: nothing. */
const credentialOf = (outcome: EndedCall["outcome"]): Credential | undefined => {
  switch (outcome) {
    case "Unauthorized":
      return "rejected"
    case "OutOfCredit":
      return "out_of_credit"
    case "Success":
    case "InvalidRequest":
    case "InputTooLarge":
    case "RateLimited":
    case "UnknownModel":
      return "accepted"
    case "Overloaded":
    case "Unavailable":
    case "Timeout":
    case "ConnectionLost":
    case "BadResponse":
    case "Simulated":
      return undefined
  }
}

/** The offers that a process remembers. */
export interface OfferHealth {
  /** Undefined: it was never called. */
  readonly of: (candidate: Candidate) => Known | undefined
  /** Records the end of a call. `seconds` is how long it took. */
  readonly ended: (candidate: Candidate, call: EndedCall, seconds: number, isCounted: boolean) => void
  /**
   * Records that the circuit opened, in epoch milliseconds. After a failed probe (`again`), it has
   * been open since before.
   */
  readonly opened: (candidate: Candidate, at: number, again: boolean) => void
  /** Records that the circuit is closed. Another process may have closed it. */
  readonly closed: (candidate: Candidate) => void
}

/** The maximum number of offers. Beyond it, the one without a call for longest is forgotten. */
const maxOffers = 500

/** Without any call. `used` records the calls with provider keys. */
export const make = (used: ProviderKeyUse.Record = () => {}): OfferHealth => {
  const offers = LruMap.make<string, Known>(maxOffers)

  /** Undefined for a call that is not counted. */
  const known = (candidate: Candidate): Known | undefined => {
    if (isProviderKey(candidate.credential)) return undefined
    const key = keyOf(candidate)
    const found = offers.get(key)
    if (found !== undefined) return found
    const made: Known = {
      calls: CallStatistics.make(),
      lastCall: undefined,
      lastFailure: undefined,
      credential: "unknown",
      openedAt: undefined
    }
    offers.set(key, made)
    return made
  }

  return {
    of: (candidate) => offers.get(keyOf(candidate)),
    ended: (candidate, call, seconds, isCounted) => {
      used(candidate.credential, call)
      const offer = known(candidate)
      if (offer === undefined) return
      const isSuccess = call.outcome === "Success"
      offer.lastCall = call
      if (!isSuccess) offer.lastFailure = call
      offer.credential = credentialOf(call.outcome) ?? offer.credential
      if (isCounted) offer.calls.record(call.at, isSuccess ? seconds * 1000 : undefined)
    },
    opened: (candidate, at, again) => {
      const offer = known(candidate)
      if (offer !== undefined && !(again && offer.openedAt !== undefined)) offer.openedAt = at
    },
    closed: (candidate) => {
      const offer = offers.get(keyOf(candidate))
      if (offer !== undefined) offer.openedAt = undefined
    }
  }
}
