/** Narrows a list to one key, by its name. */
import { useOffsetPages } from "../api/hooks.ts"
import { FilterSelect } from "./Filter.tsx"

export const FilterKey = ({
  onChange,
  value
}: {
  /** The hash of a key. Undefined: all. */
  readonly value: string | undefined
  readonly onChange: (hash: string | undefined) => void
}) => {
  const keys = useOffsetPages("GET /keys", { query: { limit: 100 } }).rows ?? []
  return (
    <FilterSelect
      label="Key"
      all="All keys"
      value={value}
      options={keys.map(({ hash, name }) => [hash, name] as const)}
      onChange={onChange}
    />
  )
}
