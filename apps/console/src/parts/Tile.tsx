/** A figure with its course over time, which leads to the page about it. */
import type { ReactNode } from "react"
import { Sparkline } from "./Sparkline.tsx"

export const Tile = ({
  children,
  hint,
  label,
  values
}: {
  readonly label: string
  /** The figure. */
  readonly children: ReactNode
  readonly hint?: ReactNode
  readonly values?: ReadonlyArray<number> | undefined
}) => (
  <div className="tile">
    <span className="tile-label">{label}</span>
    <strong className="figures">{children}</strong>
    <span className="hint">{hint}</span>
    {values !== undefined && values.length > 1 && <Sparkline values={values} />}
  </div>
)
