/** The state of a circuit and the figures of a span of time. */
import { Badge } from "../../parts/Badge.tsx"
import { count, duration, percent, time } from "../../parts/format.ts"
import { Time } from "../../parts/Time.tsx"
import type { Health } from "./offers.ts"

type Span = Health["windows"]["1d"]

/** When a provider that is down is called again. Only a request calls it. */
export const NextCall = ({ at }: { readonly at: string }) =>
  Date.parse(at) <= Date.now() ? (
    <>The next request tries it again</>
  ) : (
    <>
      Called again <Time at={at} ago />
    </>
  )

/** Since when it is open, and when the next call is made. */
export const CircuitDetail = ({ circuit }: Pick<Health, "circuit">) => {
  if (circuit.state === "closed") return null
  return (
    <>
      {circuit.opened_at === null ? (
        "Opened by another process"
      ) : (
        <>
          Since {time(circuit.opened_at)} (<Time at={circuit.opened_at} ago />)
        </>
      )}
      {circuit.retry_at !== null && (
        <>
          . <NextCall at={circuit.retry_at} />
        </>
      )}
    </>
  )
}

export const CircuitBadge = ({ circuit, credential, windows }: Pick<Health, "circuit" | "credential" | "windows">) => {
  if (credential === "missing") return <Badge tone="quiet">No credential</Badge>
  switch (circuit.state) {
    case "closed":
      return windows["1d"].calls === 0 ? <Badge tone="quiet">Not called yet</Badge> : <Badge tone="good">Working</Badge>
    case "half_open":
      return <Badge tone="warning">Trying again</Badge>
    case "open":
      return <Badge tone="bad">Down (circuit open)</Badge>
  }
}

export const Success = ({ span }: { readonly span: Span | undefined }) =>
  span?.success_rate == null ? (
    <span className="hint">no calls</span>
  ) : (
    <span className={span.success_rate < 0.9 ? "issue" : undefined} title={`${count(span.calls)} calls`}>
      {percent(span.success_rate)}
    </span>
  )

export const Milliseconds = ({ value }: { readonly value: number | null | undefined }) => (
  <>{value == null ? "–" : duration(value)}</>
)
