/** The attempts of a request at providers: when each began, how long it took, how it ended. */
import { Badge, type Tone } from "../../parts/Badge.tsx"
import { duration } from "../../parts/format.ts"
import type { PaidRequest } from "./PaidRequests.tsx"

type Attempt = PaidRequest["attempts"][number]

interface Bar {
  readonly attempt: Attempt
  /** Milliseconds from the admission of the request. */
  readonly start: number
  readonly length: number
}

/** Attempts follow each other, unless they say when they began. */
export const barsOf = ({ attempts, created_at }: Pick<PaidRequest, "attempts" | "created_at">): ReadonlyArray<Bar> => {
  let end = 0
  return attempts.map((attempt) => {
    const length = attempt.seconds * 1000
    const start = attempt.started_at === undefined ? end : Date.parse(attempt.started_at) - Date.parse(created_at)
    end = start + length
    return { attempt, start, length }
  })
}

const toneOf = (outcome: string): Tone => (outcome === "Success" ? "good" : outcome === "CircuitOpen" ? "quiet" : "bad")

/** `RateLimited` as `rate limited`. */
const wordsOf = (outcome: string): string => outcome.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase()

const billed: Readonly<Record<string, string>> = { yes: "billed", no: "not billed", unknown: "maybe billed" }

export const Waterfall = ({ request }: { readonly request: PaidRequest }) => {
  const bars = barsOf(request)
  const whole = Math.max(request.duration_ms, ...bars.map(({ length, start }) => start + length), 1)
  const inProviders = bars.reduce((sum, { length }) => sum + length, 0)
  const isOfVideo = bars.some(({ attempt }) => attempt.started_at !== undefined)
  if (bars.length === 0) return <p className="hint">No provider was tried.</p>
  // On narrow screens the styles make a list of the table, which takes its roles away.
  return (
    <div className="waterfall-frame">
      <table className="waterfall" role="table">
        <thead role="rowgroup">
          <tr role="row">
            <th scope="col" role="columnheader">
              Provider
            </th>
            <th scope="col" role="columnheader">
              Outcome
            </th>
            <th scope="col" role="columnheader">
              Billed
            </th>
            <th scope="col" role="columnheader">
              Started
            </th>
            <th scope="col" role="columnheader">
              Took
            </th>
            <th scope="col" role="columnheader" className="waterfall-time">
              0 to {duration(whole)}
            </th>
          </tr>
        </thead>
        <tbody role="rowgroup">
          {bars.map(({ attempt, length, start }, index) => (
            <tr key={index} role="row">
              <th scope="row" role="rowheader">
                {attempt.provider}
              </th>
              <td role="cell">
                <Badge tone={toneOf(attempt.outcome)}>
                  {wordsOf(attempt.outcome)} {attempt.status}
                </Badge>
              </td>
              <td role="cell">
                {billed[attempt.billed] ?? attempt.billed}
                {attempt.is_byok === true && ", caller's key"}
              </td>
              <td role="cell" className="right">
                +{duration(start)}
              </td>
              <td role="cell" className="right">
                {duration(length)}
              </td>
              <td role="cell" className="waterfall-time">
                <span
                  className={`waterfall-bar ${toneOf(attempt.outcome)}`}
                  style={{ marginLeft: `${(start / whole) * 100}%`, width: `max(2px, ${(length / whole) * 100}%)` }}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {!isOfVideo && request.duration_ms > inProviders && (
        <p className="hint">
          Providers took {duration(inProviders)} of {duration(request.duration_ms)}. The gateway took the rest.
        </p>
      )}
      {isOfVideo && <p className="hint">An attempt is the submission of the video. Making it takes longer.</p>}
    </div>
  )
}
