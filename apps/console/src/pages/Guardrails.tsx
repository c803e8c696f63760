/** Guardrails: what groups of keys may spend and use. */
import { type ReactNode, useState } from "react"
import { useMay, useOffsetPages } from "../api/hooks.ts"
import { count, credits } from "../parts/format.ts"
import { Icon } from "../parts/Icon.tsx"
import { Empty, Loaded } from "../parts/Loaded.tsx"
import { Table } from "../parts/Table.tsx"
import { Time } from "../parts/Time.tsx"
import { usePageSearch, useScope, useSetSearch } from "../shell/navigation.ts"
import { GuardrailDetails } from "./guardrails/GuardrailDetails.tsx"
import { CreateGuardrail } from "./guardrails/GuardrailForm.tsx"
import { GuardrailLimit, usedShare } from "./guardrails/GuardrailLimit.tsx"
import { modelsInWords, providersInWords } from "./guardrails/words.ts"
import "./guardrails/guardrails.css"

const Guardrails = (): ReactNode => {
  const search = usePageSearch("guardrails")
  const set = useSetSearch("guardrails")
  const { workspace } = useScope()
  const mayCreate = useMay("operator")
  const [isCreating, setCreating] = useState(false)
  const guardrails = useOffsetPages("GET /guardrails", { query: { workspace_id: workspace, limit: 100 } })
  const create = mayCreate && (
    <button type="button" className="primary" onClick={() => setCreating(true)}>
      <Icon name="plus" />
      Create guardrail
    </button>
  )
  return (
    <>
      <div className="bar">
        <p className="hint">What groups of keys may spend together, and which models and providers they may use.</p>
        {guardrails.total !== 0 && <span className="end">{create}</span>}
      </div>
      <Loaded value={guardrails} what="The guardrails" rows={8}>
        {() =>
          guardrails.total === 0 ? (
            <Empty title="No guardrail limits what keys may spend and use together.">
              {create}
              <code>model-gateway guardrails create --name Interns --limit 5 --limit-reset daily</code>
            </Empty>
          ) : (
            <Table
              label="Guardrails"
              rows={guardrails.rows ?? []}
              rowKey={({ id }) => id}
              onOpen={({ id }) => void set({ id })}
              selected={search.id}
              more={guardrails.more}
              columns={[
                {
                  key: "name",
                  title: "Name",
                  width: "minmax(10rem, 1fr)",
                  cell: ({ name }) => name,
                  sort: ({ name }) => name
                },
                {
                  key: "limit",
                  title: "Used of its limit",
                  width: "17rem",
                  cell: (guardrail) => <GuardrailLimit of={guardrail} />,
                  sort: usedShare
                },
                {
                  key: "resets",
                  title: "Resets",
                  width: "6rem",
                  cell: ({ resets_at }) => (resets_at === null ? "Never" : <Time at={resets_at} ago />),
                  sort: ({ resets_at }) => resets_at ?? "9"
                },
                {
                  key: "month",
                  title: "This month",
                  width: "6.5rem",
                  align: "right",
                  cell: ({ usage_monthly }) => credits(usage_monthly),
                  sort: ({ usage_monthly }) => usage_monthly
                },
                { key: "models", title: "Models", width: "minmax(10rem, 1.5fr)", cell: modelsInWords },
                { key: "providers", title: "Providers", width: "minmax(8rem, 1fr)", cell: providersInWords },
                {
                  key: "keys",
                  title: "Keys",
                  width: "4.5rem",
                  align: "right",
                  cell: ({ key_count }) => count(key_count),
                  sort: ({ key_count }) => key_count
                }
              ]}
            />
          )
        }
      </Loaded>
      {search.id !== undefined && (
        <GuardrailDetails key={search.id} id={search.id} onClose={() => void set({ id: undefined })} />
      )}
      {isCreating && (
        <CreateGuardrail
          onClose={() => setCreating(false)}
          onCreated={(id) => {
            setCreating(false)
            void set({ id })
          }}
        />
      )}
    </>
  )
}

export default Guardrails
