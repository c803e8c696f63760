/** A filter that takes any text and offers those that are on the page. */
import { useId, useState } from "react"

/** A text that must be exactly this one. It is passed on by Enter, and when the field is left. */
export const FilterExact = ({
  known,
  label,
  onChange,
  pattern,
  value = ""
}: {
  readonly label: string
  readonly value: string | undefined
  /** Values to choose from. */
  readonly known: ReadonlyArray<string>
  /** What it must look like. */
  readonly pattern?: RegExp
  /** Undefined: everything. */
  readonly onChange: (value: string | undefined) => void
}) => {
  const list = useId()
  const [typed, setTyped] = useState(value)
  const [given, setGiven] = useState(value)
  // Back and links change the value from outside.
  if (given !== value) {
    setGiven(value)
    setTyped(value)
  }
  const text = typed.trim()
  const isValid = text === "" || pattern === undefined || pattern.test(text)
  const pass = (next: string) => {
    if (next !== value && (next === "" || pattern === undefined || pattern.test(next))) {
      onChange(next === "" ? undefined : next)
    }
  }
  return (
    <>
      <input
        type="search"
        className="filter-exact"
        aria-label={label}
        placeholder={label}
        list={list}
        value={typed}
        aria-invalid={!isValid}
        autoComplete="off"
        spellCheck={false}
        onChange={({ target }) => {
          setTyped(target.value)
          // A value that was chosen or cleared needs no Enter.
          if (target.value === "" || known.includes(target.value)) pass(target.value)
        }}
        onBlur={() => pass(text)}
        onKeyDown={({ key }) => {
          if (key === "Enter") pass(text)
        }}
      />
      <datalist id={list}>
        {known.map((option) => (
          <option key={option} value={option} />
        ))}
      </datalist>
    </>
  )
}

/** An HTTP status of an error. */
export const errorStatus = /^[45]\d\d$/

/** The different values, sorted. */
export const distinct = (values: ReadonlyArray<string | number | null>): ReadonlyArray<string> =>
  [...new Set(values.flatMap((value) => (value === null || value === "" ? [] : [String(value)])))].toSorted()
