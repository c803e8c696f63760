/** How much may be spent, and when that begins again. */
import { SelectField, TextField } from "./Fields.tsx"

/** How often a limit begins again. */
export type Reset = "daily" | "weekly" | "monthly"

const resets: ReadonlyArray<readonly [Reset | "", string]> = [
  ["monthly", "Every month"],
  ["weekly", "Every week, on Monday"],
  ["daily", "Every day"],
  ["", "Never"]
]

/** The texts of the fields. */
export interface LimitDraft {
  readonly limit: string
  readonly reset: Reset | ""
}

export const LimitFields = ({
  draft: { limit, reset },
  error,
  hint,
  label,
  names,
  set
}: {
  readonly label: string
  readonly hint: string
  /** The names of both fields in the request. */
  readonly names: readonly [limit: string, reset: string]
  readonly draft: LimitDraft
  readonly error: Error | null
  readonly set: (change: Partial<LimitDraft>) => void
}) => (
  <div className="columns">
    <TextField
      label={label}
      name={names[0]}
      type="number"
      value={limit}
      onChange={(limit) => set({ limit })}
      error={error}
      hint={hint}
    />
    <SelectField
      label="The limit resets"
      name={names[1]}
      value={reset}
      options={resets}
      onChange={(reset) => set({ reset })}
      error={error}
      hint="Periods are UTC."
    />
  </div>
)
