/** Keys: who may call the gateway, what each has spent and what remains. */
import { type ReactNode, useState } from "react"
import { useMay, useOffsetPages } from "../api/hooks.ts"
import { CheckField } from "../parts/Fields.tsx"
import { FilterSelect, FilterText } from "../parts/Filter.tsx"
import { counted, credits } from "../parts/format.ts"
import { Icon } from "../parts/Icon.tsx"
import { Empty, Loaded } from "../parts/Loaded.tsx"
import { Table } from "../parts/Table.tsx"
import { Time } from "../parts/Time.tsx"
import { GuardrailLink } from "../shell/Links.tsx"
import { usePageSearch, useScope, useSetSearch } from "../shell/navigation.ts"
import { useWorkspaceName } from "../shell/WorkspacePicker.tsx"
import { CreateKey } from "./keys/CreateKey.tsx"
import { KeyLeft, KeyState, kindOf } from "./keys/Key.tsx"
import { KeyDetails } from "./keys/KeyDetails.tsx"
import { type NewKey, ShownKey } from "./keys/ShownKey.tsx"

const sorts = [
  ["name", "By name"],
  ["usage", "Most spent first"],
  ["last_used", "Last used first"]
] as const

const Keys = (): ReactNode => {
  const search = usePageSearch("keys")
  const set = useSetSearch("keys")
  const { workspace } = useScope()
  const workspaceName = useWorkspaceName()
  const mayCreate = useMay("operator")
  const [isCreating, setCreating] = useState(false)
  const [shown, setShown] = useState<NewKey>()
  const sort = sorts.find(([name]) => name === search.sort)?.[0]
  const keys = useOffsetPages("GET /keys", {
    query: {
      search: search.q,
      sort,
      workspace_id: workspace,
      include_disabled: search.disabled === "hide" ? undefined : true,
      limit: 100
    }
  })
  const create = mayCreate && (
    <button type="button" className="primary" onClick={() => setCreating(true)}>
      <Icon name="plus" />
      Create key
    </button>
  )
  return (
    <>
      <div className="bar">
        <FilterText
          label="Search keys by name or label"
          placeholder="Name or label"
          value={search.q}
          onChange={(q) => void set({ q }, { replace: true })}
        />
        <FilterSelect
          label="Order of the keys"
          all="Newest first"
          options={sorts}
          value={sort}
          onChange={(chosen) => void set({ sort: chosen })}
        />
        <CheckField
          label="Disabled too"
          checked={search.disabled !== "hide"}
          onChange={(shown) => void set({ disabled: shown ? undefined : "hide" })}
        />
        {(keys.total !== 0 || search.q !== undefined) && <span className="end">{create}</span>}
      </div>
      <Loaded value={keys} what="The keys" rows={12}>
        {() =>
          keys.total === 0 ? (
            search.q === undefined ? (
              <Empty title="No keys yet. A program needs a key to call the gateway.">
                {create}
                <code>model-gateway keys create --name search</code>
              </Empty>
            ) : (
              <Empty title={`No key has "${search.q}" in its name or label.`}>
                <button type="button" onClick={() => void set({ q: undefined })}>
                  Show all keys
                </button>
              </Empty>
            )
          ) : (
            <>
              <p className="hint">{counted(keys.total ?? 0, "key")}</p>
              <Table
                label="Keys"
                rows={keys.rows ?? []}
                rowKey={({ hash }) => hash}
                onOpen={({ hash }) => void set({ id: hash })}
                selected={search.id}
                more={keys.more}
                columns={[
                  {
                    key: "name",
                    title: "Name",
                    width: "minmax(10rem, 2fr)",
                    cell: ({ name }) => <span title={name}>{name}</span>
                  },
                  { key: "state", title: "State", width: "5.5rem", cell: (key) => <KeyState of={key} /> },
                  {
                    key: "workspace",
                    title: "Workspace",
                    width: "minmax(6rem, 1fr)",
                    cell: ({ workspace_id }) => workspaceName(workspace_id)
                  },
                  { key: "kind", title: "Kind", width: "8.25rem", cell: kindOf },
                  {
                    key: "guardrail",
                    title: "Guardrail",
                    width: "minmax(5.5rem, 1fr)",
                    cell: ({ guardrail_id }) => (guardrail_id === null ? "" : <GuardrailLink id={guardrail_id} />)
                  },
                  {
                    key: "today",
                    title: "Today",
                    width: "4.25rem",
                    align: "right",
                    cell: ({ usage_daily }) => credits(usage_daily)
                  },
                  {
                    key: "month",
                    title: "This month",
                    width: "5.5rem",
                    align: "right",
                    cell: ({ usage_monthly }) => credits(usage_monthly)
                  },
                  { key: "limit", title: "Left of its limit", width: "9.25rem", cell: (key) => <KeyLeft of={key} /> },
                  {
                    key: "last",
                    title: "Last used",
                    width: "5.5rem",
                    cell: ({ last_used_on }) => last_used_on ?? "Never"
                  },
                  {
                    key: "expires",
                    title: "Expires",
                    width: "4.5rem",
                    cell: ({ expires_at }) => (expires_at === null ? "Never" : <Time at={expires_at} ago />)
                  }
                ]}
              />
            </>
          )
        }
      </Loaded>
      {search.id !== undefined && (
        <KeyDetails key={search.id} hash={search.id} onClose={() => void set({ id: undefined })} onRotated={setShown} />
      )}
      {isCreating && (
        <CreateKey
          onClose={() => setCreating(false)}
          onCreated={(key) => {
            setCreating(false)
            setShown(key)
          }}
        />
      )}
      {shown !== undefined && <ShownKey value={shown} onClose={() => setShown(undefined)} />}
    </>
  )
}

export default Keys
