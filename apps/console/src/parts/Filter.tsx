/** What narrows a list: a choice among a few values, and a text that is searched for. */
import { useEffect, useId, useState } from "react"

/** A choice. The first option shows everything. */
export const FilterSelect = ({
  all,
  label,
  onChange,
  options,
  value
}: {
  readonly label: string
  /** The words of the option that shows everything, such as "All kinds". */
  readonly all: string
  readonly value: string | undefined
  readonly options: ReadonlyArray<readonly [value: string, label: string]>
  /** Undefined: everything. */
  readonly onChange: (value: string | undefined) => void
}) => (
  <select
    aria-label={label}
    value={value ?? ""}
    onChange={({ target }) => onChange(target.value === "" ? undefined : target.value)}
  >
    <option value="">{all}</option>
    {options.map(([option, text]) => (
      <option key={option} value={option}>
        {text}
      </option>
    ))}
    {value !== undefined && !options.some(([option]) => option === value) && <option value={value}>{value}</option>}
  </select>
)

/** A text. It is passed on when nothing was typed for a moment. */
export const FilterText = ({
  label,
  onChange,
  placeholder,
  value = ""
}: {
  readonly label: string
  readonly placeholder?: string
  readonly value: string | undefined
  /** Undefined: nothing is searched for. */
  readonly onChange: (value: string | undefined) => void
}) => {
  const id = useId()
  const [typed, setTyped] = useState(value)
  const [given, setGiven] = useState(value)
  // Back and links change the value from outside.
  if (given !== value) {
    setGiven(value)
    // A space at the end is not passed on, but stays while the person types.
    if (typed.trim() !== value) setTyped(value)
  }
  useEffect(() => {
    if (typed.trim() === value) return
    const timer = setTimeout(() => onChange(typed.trim() === "" ? undefined : typed.trim()), 250)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <input
      id={id}
      type="search"
      aria-label={label}
      placeholder={placeholder ?? label}
      value={typed}
      autoComplete="off"
      spellCheck={false}
      onChange={({ target }) => setTyped(target.value)}
    />
  )
}
