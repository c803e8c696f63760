/** The health of an offer as the contract has it. */
import type * as ProviderHealth from "@model-gateway/core/ProviderHealth"
import type { Offer } from "@model-gateway/offers/Offer"
import { Duration } from "effect"
import * as Timestamp from "../internal/Timestamp.ts"
import type { Counted } from "./CallStatistics.ts"
import type { EndedCall } from "./OfferHealth.ts"
import type { Health } from "./Router.ts"

const none: ProviderHealth.Window = { calls: 0, success_rate: null, p50_ms: null, p95_ms: null }

const toWindow = ({ calls, failures, p50, p95 }: Counted): ProviderHealth.Window =>
  calls === 0
    ? none
    : {
        calls,
        success_rate: Math.round(((calls - failures) / calls) * 10_000) / 10_000,
        p50_ms: p50 ?? null,
        p95_ms: p95 ?? null
      }

const toCall = (call: EndedCall | undefined): ProviderHealth.LastCall | null =>
  call === undefined
    ? null
    : {
        at: Timestamp.fromMillis(call.at),
        outcome: call.outcome,
        ...(call.status === undefined ? {} : { status: call.status }),
        request_id: call.requestId ?? null
      }

const states = { Closed: "closed", Open: "open", HalfOpen: "half_open" } as const

/** An offer with the gateway's credential. `now` is in epoch milliseconds. */
export const of = (
  { kind, provider, publicId }: Offer,
  timeLimit: Duration.Duration | undefined,
  { circuit, known, retryAfter }: Health,
  now: number
): ProviderHealth.Endpoint => {
  const openedAt = circuit === "Closed" ? undefined : known?.openedAt
  const windows = known?.calls.read(now)
  return {
    provider,
    model: publicId,
    kind,
    time_limit_ms: timeLimit === undefined ? null : Duration.toMillis(timeLimit),
    circuit: {
      state: states[circuit],
      opened_at: openedAt === undefined ? null : Timestamp.fromMillis(openedAt),
      retry_at: retryAfter === undefined ? null : Timestamp.fromMillis(now + Duration.toMillis(retryAfter))
    },
    credential: known?.credential ?? "unknown",
    last_call: toCall(known?.lastCall),
    last_failure: toCall(known?.lastFailure),
    windows:
      windows === undefined
        ? { "5m": none, "1h": none, "1d": none }
        : { "5m": toWindow(windows["5m"]), "1h": toWindow(windows["1h"]), "1d": toWindow(windows["1d"]) }
  }
}

/** An offer that only callers with a provider key can use. */
export const withoutCredential = (offer: Offer, timeLimit: Duration.Duration | undefined): ProviderHealth.Endpoint => ({
  ...of(offer, timeLimit, { circuit: "Closed", known: undefined, retryAfter: undefined }, 0),
  credential: "missing"
})
