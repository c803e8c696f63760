/** A choice among a few values, with its label beside it. */
import { useId } from "react"

export const Choice = <Value extends string>({
  label,
  onChange,
  options,
  value
}: {
  readonly label: string
  readonly value: Value
  readonly options: ReadonlyArray<readonly [value: Value, label: string]>
  readonly onChange: (value: Value) => void
}) => {
  const id = useId()
  return (
    <div className="choice">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        value={value}
        onChange={({ target }) => {
          const chosen = options.find(([option]) => option === target.value)
          if (chosen !== undefined) onChange(chosen[0])
        }}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}
