/** Says that a range has too many requests, and offers the longest one that has few enough. */
import type { ReactNode } from "react"
import { useSetFrame } from "../shell/navigation.ts"
import { fewEnoughFrom } from "./activity.ts"
import { time } from "./format.ts"
import { Icon } from "./Icon.tsx"

export const TooManyRequests = ({
  children,
  error,
  to,
  what
}: {
  /** What cannot be shown, such as "The bars". */
  readonly what: string
  readonly error: Error
  /** The end of the range. Undefined: now. */
  readonly to: string | undefined
  /** What else the person can do. */
  readonly children?: ReactNode
}) => {
  const set = useSetFrame()
  const from = fewEnoughFrom(error)
  if (from === undefined) return null
  return (
    <div className="note" role="status">
      <Icon name="warning" />
      <div>
        <p>
          <strong>{what} cannot be shown for this range.</strong> {error.message}.
        </p>
        {children !== undefined && <p className="hint">{children}</p>}
        <p>
          <button type="button" onClick={() => void set({ range: undefined, from, to })}>
            Show {time(from)} {to === undefined ? "until now" : `to ${time(to)}`}
          </button>
        </p>
      </div>
    </div>
  )
}
