/** A labeled control of a form. */
import { type ReactNode, useId } from "react"

interface Props {
  readonly label: string
  readonly hint?: string
  readonly children: (ids: { readonly id: string; readonly "aria-describedby": string | undefined }) => ReactNode
}

export const Field = ({ children, hint, label }: Props) => {
  const id = useId()
  const hintId = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, "aria-describedby": hint === undefined ? undefined : hintId })}
      {hint === undefined ? null : (
        <p id={hintId} className="hint">
          {hint}
        </p>
      )}
    </div>
  )
}

interface SelectProps {
  readonly label: string
  readonly hint?: string
  readonly value: string
  readonly options: ReadonlyArray<string>
  readonly onChange: (value: string) => void
}

/** A choice of options. The current value is always an option. */
export const Select = ({ label, onChange, options, value, ...rest }: SelectProps) => (
  <Field label={label} {...rest}>
    {(ids) => (
      <select {...ids} value={value} onChange={(event) => onChange(event.target.value)}>
        {(options.includes(value) ? options : [value, ...options]).map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    )}
  </Field>
)
