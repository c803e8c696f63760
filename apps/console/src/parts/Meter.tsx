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
