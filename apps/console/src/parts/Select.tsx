/** A select whose values have a type. */
export const Select = <Value extends string>({
  onChange,
  options,
  ...attributes
}: {
  readonly id?: string
  readonly "aria-label"?: string
  readonly value: Value
  readonly options: ReadonlyArray<readonly [value: Value, label: string]>
  readonly onChange: (value: Value) => void
}) => (
  <select
    {...attributes}
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
)
