/** A choice of keys by their names. None: all keys. */
import { useOffsetPages } from "../api/hooks.ts"
import { CheckField } from "./Fields.tsx"
import { shortId } from "./format.ts"

export const KeyChoice = ({
  hashes,
  legend,
  onChange,
  workspace
}: {
  readonly legend: string
  /** The keys that are chosen. Empty: all. */
  readonly hashes: ReadonlyArray<string>
  /** Only keys of this workspace can be chosen. */
  readonly workspace: string | undefined
  readonly onChange: (hashes: ReadonlyArray<string>) => void
}) => {
  const keys = useOffsetPages("GET /keys", { query: { workspace_id: workspace, limit: 100 } }).rows ?? []
  const known = keys.filter(({ is_management_key }) => !is_management_key)
  const others = hashes.filter((hash) => !known.some((key) => key.hash === hash))
  const toggle = (hash: string, isChosen: boolean) =>
    onChange(isChosen ? [...hashes, hash] : hashes.filter((other) => other !== hash))
  return (
    <fieldset className="choices">
      <legend>{legend}</legend>
      <p className="hint">{hashes.length === 0 ? "None is chosen: all keys." : `${hashes.length} chosen.`}</p>
      {known.map(({ hash, name }) => (
        <CheckField
          key={hash}
          label={name}
          checked={hashes.includes(hash)}
          onChange={(isChosen) => toggle(hash, isChosen)}
        />
      ))}
      {others.map((hash) => (
        <CheckField key={hash} label={shortId(hash)} checked onChange={(isChosen) => toggle(hash, isChosen)} />
      ))}
    </fieldset>
  )
}
