/** Chooses the models or providers that a guardrail allows and forbids. */
import { useState } from "react"
import { useRead } from "../../api/hooks.ts"
import { SelectField, TextField } from "../../parts/Fields.tsx"
import { Icon } from "../../parts/Icon.tsx"

/** Null: all are allowed. */
export interface Choice {
  readonly allowed: ReadonlyArray<string> | null
  readonly ignored: ReadonlyArray<string>
}

interface Option {
  readonly entry: string
  /** What it stands for. */
  readonly hint: string
}

const without = (entries: ReadonlyArray<string>, entry: string) => entries.filter((one) => one !== entry)

const toggled = (entries: ReadonlyArray<string>, entry: string) =>
  entries.includes(entry) ? without(entries, entry) : [...entries, entry]

/** The chosen entries, each with a button that removes it. */
const Chosen = ({
  entries,
  onRemove,
  title
}: {
  readonly title: string
  readonly entries: ReadonlyArray<string>
  readonly onRemove: (entry: string) => void
}) => (
  <div className="chosen">
    <span>{title}</span>
    {entries.length === 0 ? (
      <span className="hint">none</span>
    ) : (
      <ul>
        {entries.map((entry) => (
          <li key={entry}>
            <code>{entry}</code>
            <button type="button" className="quiet" aria-label={`Remove ${entry}`} onClick={() => onRemove(entry)}>
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
    )}
  </div>
)

const Picker = ({
  change,
  error,
  name,
  onSearch,
  options,
  search,
  value,
  what
}: {
  /** In the plural, such as "models". */
  readonly what: "models" | "providers"
  readonly name: string
  readonly value: Choice
  readonly change: (value: Choice) => void
  readonly error: Error | null
  readonly search: string
  readonly onSearch: (text: string) => void
  readonly options: ReadonlyArray<Option>
}) => {
  const { allowed, ignored } = value
  const typed = search.trim()
  // What the gateway does not offer now may be named too.
  const shown: ReadonlyArray<Option> =
    typed === "" || options.some(({ entry }) => entry === typed)
      ? options
      : [...options, { entry: typed, hint: "as typed" }]
  return (
    <fieldset className="picker">
      <legend>{what === "models" ? "Models" : "Providers"}</legend>
      <div className="columns">
        <SelectField
          label="Its keys may use"
          name={`allowed_${name}`}
          value={allowed === null ? "all" : "some"}
          options={[
            ["all", `All ${what}`],
            ["some", `Only chosen ${what}`]
          ]}
          onChange={(mode) => change({ ...value, allowed: mode === "all" ? null : [] })}
          error={error}
        />
        <TextField label={`Find ${what}`} name={`find_${name}`} type="search" value={search} onChange={onSearch} />
      </div>
      {allowed !== null && (
        <Chosen
          title="Only"
          entries={allowed}
          onRemove={(entry) => change({ ...value, allowed: without(allowed, entry) })}
        />
      )}
      <Chosen
        title="Never"
        entries={ignored}
        onRemove={(entry) => change({ ...value, ignored: without(ignored, entry) })}
      />
      <ul className="options" tabIndex={0} aria-label={`${what === "models" ? "Models" : "Providers"} to choose from`}>
        {shown.map(({ entry, hint }) => (
          <li key={entry}>
            <span>
              <code>{entry}</code> <span className="hint">{hint}</span>
            </span>
            {allowed !== null && (
              <button
                type="button"
                aria-pressed={allowed.includes(entry)}
                aria-label={`Allow ${entry}`}
                onClick={() => change({ ...value, allowed: toggled(allowed, entry) })}
              >
                Allow
              </button>
            )}
            <button
              type="button"
              aria-pressed={ignored.includes(entry)}
              aria-label={`Forbid ${entry}`}
              onClick={() => change({ ...value, ignored: toggled(ignored, entry) })}
            >
              Forbid
            </button>
          </li>
        ))}
        {shown.length === 0 && <li className="hint">None is offered.</li>}
      </ul>
    </fieldset>
  )
}

interface Props {
  readonly value: Choice
  readonly change: (value: Choice) => void
  readonly error: Error | null
}

/** The models that are listed at once. */
const listed = 50

export const ModelPicker = (props: Props) => {
  const [search, setSearch] = useState("")
  const q = search.trim().replace(/\*$/, "")
  const { data } = useRead("GET /models", { query: { q: q === "" ? undefined : q.slice(0, 256), limit: listed } })
  const models = data?.data ?? []
  const authors = [...new Set(models.map(({ owned_by }) => owned_by))]
  const options = [
    ...authors.map((author) => ({ entry: `${author}/*`, hint: `all of ${author}` })),
    ...models.flatMap(({ id, name }) => (authors.includes(id.slice(0, -2)) ? [] : [{ entry: id, hint: name }]))
  ]
  return <Picker {...props} what="models" name="models" search={search} onSearch={setSearch} options={options} />
}

export const ProviderPicker = (props: Props) => {
  const [search, setSearch] = useState("")
  const { data } = useRead("GET /providers")
  const options = (data?.data ?? []).flatMap(({ kinds, slug }) =>
    slug.includes(search.trim().toLowerCase()) ? [{ entry: slug, hint: kinds.join(", ") }] : []
  )
  return <Picker {...props} what="providers" name="providers" search={search} onSearch={setSearch} options={options} />
}
