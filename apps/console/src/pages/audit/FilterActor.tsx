/** Narrows the audit log to the changes of one key or person, by their name. */
import { FilterSelect } from "../../parts/Filter.tsx"
import { useKeys } from "../../parts/names.ts"
import { actorsWithoutKey } from "../../shell/Links.tsx"
import type { Entry } from "./difference.ts"

export const FilterActor = ({
  entries,
  onChange,
  value
}: {
  /** The entries read so far. People without a key and deleted keys are known only from these. */
  readonly entries: ReadonlyArray<Entry>
  /** A hash, or another `actor` of an entry. Undefined: all. */
  readonly value: string | undefined
  readonly onChange: (actor: string | undefined) => void
}) => {
  const keys = useKeys().data?.data.filter(({ is_management_key }) => is_management_key) ?? []
  const names = new Map([
    ...entries.map(({ actor, actor_label }) => [actor, actor_label] as const),
    ...keys.map(({ hash, name }) => [hash, name] as const),
    ...actorsWithoutKey
  ])
  return <FilterSelect label="Who" all="Everybody" value={value} options={[...names]} onChange={onChange} />
}
