/** What the health of its models says of a provider. */
import type { Tone } from "../../parts/Badge.tsx"
import { count, percent } from "../../parts/format.ts"
import type { Health } from "../models/offers.ts"

export interface Provider {
  readonly name: string
  readonly endpoints: ReadonlyArray<Health>
  /** Those that are not called, because several calls in a row failed. */
  readonly stopped: ReadonlyArray<Health>
  /** Since when the first of them is not called. Undefined: it is not known, or all are called. */
  readonly since: string | undefined
  /** No call of them succeeded in this process, so they may have been down before. */
  readonly mayBeLonger: boolean
  /** When the next call of the first of them is made. */
  readonly retryAt: string | undefined
}

type Span = "5m" | "1h" | "1d"

const earliest = (times: ReadonlyArray<string | null>): string | undefined =>
  times.filter((at) => at !== null).toSorted()[0]

/** Those with more endpoints that are not called first. */
export const providersOf = (health: ReadonlyArray<Health>): ReadonlyArray<Provider> => {
  const groups = Map.groupBy(health, ({ provider }) => provider)
  const providers = [...groups].map(([name, endpoints]): Provider => {
    const stopped = endpoints.filter(({ circuit }) => circuit.state !== "closed")
    return {
      name,
      endpoints,
      stopped,
      mayBeLonger: stopped.every(({ windows }) => (windows["1d"].success_rate ?? 0) === 0),
      since: earliest(stopped.map(({ circuit }) => circuit.opened_at)),
      retryAt: earliest(stopped.map(({ circuit }) => circuit.retry_at))
    }
  })
  return providers.toSorted((a, b) => rankOf(a) - rankOf(b) || a.name.localeCompare(b.name))
}

/** The calls of a span, and the share of those that succeeded. */
export const sumOf = ({ endpoints }: Provider, span: Span) => {
  const windows = endpoints.map((endpoint) => endpoint.windows[span]).filter(({ calls }) => calls > 0)
  const calls = windows.reduce((sum, window) => sum + window.calls, 0)
  const successes = windows.reduce((sum, window) => sum + window.calls * (window.success_rate ?? 0), 0)
  return { calls, rate: calls === 0 ? undefined : successes / calls }
}

/** The slowest model's. Percentiles of several models have no sum. */
export const slowestOf = ({ endpoints }: Provider, span: Span, what: "p50_ms" | "p95_ms"): number | null => {
  const values = endpoints.map((endpoint) => endpoint.windows[span][what]).filter((value) => value !== null)
  return values.length === 0 ? null : Math.max(...values)
}

export interface State {
  readonly tone: Tone
  readonly word: string
}

/** Below this share of successes in the last 5 minutes a provider counts as failing. */
const failingBelow = 0.9

export const stateOf = (provider: Provider): State => {
  const { endpoints, stopped } = provider
  if (endpoints.every(({ credential }) => credential === "missing")) return { tone: "quiet", word: "No credential" }
  if (stopped.length > 0) {
    if (stopped.length < endpoints.length) {
      return { tone: "warning", word: `${count(stopped.length)} of ${count(endpoints.length)} models down` }
    }
    return stopped.some(({ circuit }) => circuit.state === "open")
      ? { tone: "bad", word: "Down" }
      : { tone: "warning", word: "Trying again" }
  }
  if (endpoints.some(({ credential }) => credential === "rejected")) return { tone: "bad", word: "Credential rejected" }
  if (endpoints.some(({ credential }) => credential === "out_of_credit")) return { tone: "bad", word: "No credit left" }
  const { rate } = sumOf(provider, "5m")
  if (rate !== undefined && rate < failingBelow) return { tone: "warning", word: `${percent(1 - rate)} of calls fail` }
  return sumOf(provider, "1d").calls === 0
    ? { tone: "quiet", word: "Not called yet" }
    : { tone: "good", word: "Working" }
}

const rankOf = (provider: Provider): number => {
  const order: ReadonlyArray<Tone> = ["bad", "warning", "good"]
  const place = order.indexOf(stateOf(provider).tone)
  return place === -1 ? order.length + (stateOf(provider).word === "No credential" ? 1 : 0) : place
}

const credentialStates: ReadonlyArray<readonly [Health["credential"], Tone, string]> = [
  ["rejected", "bad", "rejected"],
  ["out_of_credit", "bad", "out of credit"],
  ["accepted", "good", "accepted"],
  ["unknown", "quiet", "not known yet"],
  ["missing", "quiet", "none, only keys of callers"]
]

/** The worst that a call said of the gateway's credential. */
export const credentialOf = ({ endpoints }: Provider): State => {
  const found = credentialStates.find(([state]) => endpoints.some(({ credential }) => credential === state))
  return { tone: found?.[1] ?? "quiet", word: found?.[2] ?? "" }
}
