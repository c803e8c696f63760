/** Fields of forms. Each has a label, and an error of the gateway that names it stands below it. */
import { type ClipboardEvent, type ReactNode, useId } from "react"
import { ApiError } from "../api/http.ts"

interface FieldProps {
  readonly label: string
  /** The name of the field in the request. */
  readonly name: string
  readonly hint?: ReactNode
  /** The error of the last attempt. */
  readonly error?: Error | null
}

/** What the gateway says about a field. */
export const issueOf = (error: Error | null | undefined, name: string): string | undefined =>
  error instanceof ApiError ? error.issues.find(({ path }) => path.split(".")[0] === name)?.message : undefined

const Field = ({
  children,
  error,
  hint,
  label,
  name
}: FieldProps & { readonly children: (ids: { id: string; describedBy: string; invalid: boolean }) => ReactNode }) => {
  const id = useId()
  const issue = issueOf(error, name)
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, describedBy: `${id}-hint`, invalid: issue !== undefined })}
      <p id={`${id}-hint`} className={issue === undefined ? "hint" : "issue"}>
        {issue ?? hint}
      </p>
    </div>
  )
}

export const TextField = ({
  autoFocus = false,
  onChange,
  placeholder,
  required = false,
  type = "text",
  value,
  ...field
}: FieldProps & {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly type?: "text" | "number" | "password" | "url" | "search" | "datetime-local"
  readonly placeholder?: string
  readonly required?: boolean
  readonly autoFocus?: boolean
}) => (
  <Field {...field}>
    {({ describedBy, id, invalid }) => (
      <input
        id={id}
        name={field.name}
        type={type}
        step="any"
        value={value}
        placeholder={placeholder}
        required={required}
        aria-invalid={invalid}
        aria-describedby={describedBy}
        autoFocus={autoFocus}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => onChange(event.target.value)}
      />
    )}
  </Field>
)

interface NameProps {
  readonly draft: { readonly name: string }
  readonly error: Error | null
  readonly set: (change: { readonly name: string }) => void
}

/** The name of something, the first field of a form. */
export const NameField = ({ draft, error, set }: NameProps) => (
  <TextField
    label="Name"
    name="name"
    value={draft.name}
    onChange={(name) => set({ name })}
    error={error}
    required
    autoFocus
  />
)

interface DescriptionProps {
  readonly draft: { readonly description: string }
  readonly error: Error | null
  readonly set: (change: { readonly description: string }) => void
}

/** What something is for. */
export const DescriptionField = ({ draft, error, set }: DescriptionProps) => (
  <AreaField
    label="What it is for"
    name="description"
    rows={2}
    value={draft.description}
    onChange={(description) => set({ description })}
    error={error}
  />
)

export const AreaField = ({
  onChange,
  onPaste,
  placeholder,
  rows = 4,
  value,
  ...field
}: FieldProps & {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly onPaste?: (event: ClipboardEvent<HTMLTextAreaElement>) => void
  readonly placeholder?: string
  readonly rows?: number
}) => (
  <Field {...field}>
    {({ describedBy, id, invalid }) => (
      <textarea
        id={id}
        name={field.name}
        rows={rows}
        value={value}
        placeholder={placeholder}
        aria-invalid={invalid}
        aria-describedby={describedBy}
        onChange={(event) => onChange(event.target.value)}
        onPaste={onPaste}
      />
    )}
  </Field>
)

export const SelectField = <Value extends string>({
  onChange,
  options,
  value,
  ...field
}: FieldProps & {
  readonly value: Value
  readonly options: ReadonlyArray<readonly [value: Value, label: string]>
  readonly onChange: (value: Value) => void
}) => (
  <Field {...field}>
    {({ describedBy, id, invalid }) => (
      <select
        id={id}
        name={field.name}
        value={value}
        aria-invalid={invalid}
        aria-describedby={describedBy}
        onChange={(event) => {
          const chosen = options.find(([option]) => option === event.target.value)
          if (chosen !== undefined) onChange(chosen[0])
        }}
      >
        {options.map(([option, label]) => (
          <option key={option} value={option}>
            {label}
          </option>
        ))}
      </select>
    )}
  </Field>
)

export const CheckField = ({
  checked,
  label,
  onChange
}: {
  readonly label: string
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
}) => (
  <label className="check">
    <input type="checkbox" checked={checked} onChange={(event) => onChange(event.target.checked)} />
    {label}
  </label>
)
