/** How much of a limit is used, as a bar and as words. */
import { credits, percent } from "./format.ts"

export const Meter = ({
  label,
  limit,
  used
}: {
  readonly label: string
  readonly used: number
  readonly limit: number
}) => {
  const share = limit > 0 ? used / limit : 1
  return (
    <div className="meter">
      <meter aria-label={label} min={0} max={1} high={0.8} low={0.8} optimum={0} value={Math.min(1, share)} />
      <span className="figures">
        {credits(used)} of {credits(limit)} ({percent(share)})
      </span>
    </div>
  )
}

/** How much of a limit is left, for the cell of a table. */
export const MeterLeft = ({
  label,
  left,
  limit
}: {
  readonly label: string
  readonly left: number
  readonly limit: number
}) => {
  const share = limit > 0 ? left / limit : 0
  return (
    <div className="meter" title={`${credits(left)} of ${credits(limit)} credits are left (${percent(share)})`}>
      <meter aria-label={label} min={0} max={1} low={0.2} high={0.2} optimum={1} value={Math.min(1, share)} />
      <span className="figures">{credits(left)} left</span>
    </div>
  )
}
