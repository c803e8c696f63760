/** The settings that are in force, and where each comes from. */
import type { Item } from "../../api/Contract.ts"
import { useRead } from "../../api/hooks.ts"
import { FilterSelect, FilterText } from "../../parts/Filter.tsx"
import { count } from "../../parts/format.ts"
import { Empty, Loaded } from "../../parts/Loaded.tsx"
import { type Column, Table } from "../../parts/Table.tsx"
import { usePageSearch, useSetSearch } from "../../shell/navigation.ts"

type Setting = Item<"GET /settings">

const sources = [
  ["flag", "Flags"],
  ["environment", "Environment"],
  ["file", "Settings file"],
  ["default", "Defaults"]
] as const

const valueOf = ({ is_secret, source, value }: Setting): string => {
  if (value !== null) return value
  return is_secret && source !== "default" ? "secret, not shown" : "none"
}

const columns: ReadonlyArray<Column<Setting>> = [
  {
    key: "name",
    title: "Setting",
    width: "minmax(12rem, 1fr)",
    cell: ({ name, variable }) => <code title={variable}>{name}</code>,
    sort: ({ name }) => name
  },
  {
    key: "value",
    title: "Value",
    width: "minmax(9rem, 1fr)",
    cell: (setting) =>
      setting.value === null ? (
        <span className="hint">{valueOf(setting)}</span>
      ) : (
        <span title={setting.value}>{setting.value}</span>
      )
  },
  {
    key: "source",
    title: "Source",
    width: "minmax(9rem, 1fr)",
    cell: ({ place, source }) => <span title={place ?? source}>{place ?? source}</span>,
    sort: ({ source }) => source
  },
  {
    key: "description",
    title: "What it does",
    width: "minmax(20rem, 3fr)",
    cell: ({ description }) => <span title={description}>{description}</span>
  }
]

const matches = ({ description, name, value, variable }: Setting, q: string | undefined): boolean => {
  const wanted = q?.toLowerCase() ?? ""
  return [name, variable, description, value ?? ""].some((text) => text.toLowerCase().includes(wanted))
}

export const Settings = () => {
  const { q, source } = usePageSearch("system")
  const set = useSetSearch("system")
  const settings = useRead("GET /settings")
  return (
    <section className="card" aria-labelledby="settings">
      <div className="bar">
        <h2 id="settings">Settings in force</h2>
        <span className="bar end">
          <FilterText label="Search settings" value={q} onChange={(q) => void set({ q }, { replace: true })} />
          <FilterSelect
            label="Source"
            all="All sources"
            value={source}
            options={sources}
            onChange={(source) => void set({ source })}
          />
        </span>
      </div>
      <Loaded value={settings} what="The settings" rows={8}>
        {({ data }) => {
          const shown = data.filter(
            (setting) => (source === undefined || setting.source === source) && matches(setting, q)
          )
          return (
            <>
              <p className="hint">
                Those of the process that answered.{" "}
                {count(data.filter((setting) => setting.source !== "default").length)} of {count(data.length)} were
                given; the others have their defaults. Secrets are never shown.{" "}
                <code>model-gateway settings check</code> checks new ones before a restart.
              </p>
              {shown.length === 0 ? (
                <Empty title="No setting matches the filters.">
                  <button type="button" onClick={() => void set({ q: undefined, source: undefined })}>
                    Show all settings
                  </button>
                </Empty>
              ) : (
                <Table label="Settings in force" columns={columns} rows={shown} rowKey={({ name }) => name} />
              )}
            </>
          )
        }}
      </Loaded>
    </section>
  )
}
