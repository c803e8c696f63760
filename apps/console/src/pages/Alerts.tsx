/** The rules that watch the gateway, and when they fired. */
import { type ReactNode, useState } from "react"
import { useMay, useOffsetPages } from "../api/hooks.ts"
import { Icon } from "../parts/Icon.tsx"
import { Empty, Loaded } from "../parts/Loaded.tsx"
import { type Column, Table } from "../parts/Table.tsx"
import { Time } from "../parts/Time.tsx"
import { usePageSearch, useScope, useSetSearch } from "../shell/navigation.ts"
import { AlertDetails, AlertState, Watched } from "./alerts/AlertDetails.tsx"
import { CreateAlert } from "./alerts/AlertForm.tsx"
import { Firings } from "./alerts/Firings.tsx"
import { type Alert, kinds, ruleOf } from "./alerts/kinds.tsx"

const columns: ReadonlyArray<Column<Alert>> = [
  { key: "name", title: "Alert", width: "minmax(11rem, 1fr)", cell: ({ name }) => name, sort: ({ name }) => name },
  {
    key: "state",
    title: "State",
    width: "7rem",
    cell: (alert) => <AlertState of={alert} />,
    sort: ({ enabled, state }) => (enabled ? state : "off")
  },
  { key: "watches", title: "Watches", width: "minmax(8rem, 1fr)", cell: (alert) => <Watched of={alert} /> },
  {
    key: "rule",
    title: "Fires when",
    width: "minmax(11rem, 1.5fr)",
    cell: (alert) => <span title={ruleOf(alert)}>{ruleOf(alert)}</span>
  },
  {
    key: "value",
    title: "Measured last",
    width: "7rem",
    align: "right",
    cell: ({ kind, last_value }) => (last_value === null ? "–" : kinds[kind].format(last_value))
  },
  {
    key: "since",
    title: "Changed",
    width: "6rem",
    cell: ({ state_since }) => state_since !== null && <Time at={state_since} ago />,
    sort: ({ state_since }) => state_since ?? ""
  },
  {
    key: "target",
    title: "Sent to",
    width: "minmax(8rem, 1fr)",
    cell: ({ target }) => <span title={target.url}>{target.url}</span>
  }
]

const Rules = ({ create }: { readonly create: ReactNode }) => {
  const { id } = usePageSearch("alerts")
  const set = useSetSearch("alerts")
  const { workspace } = useScope()
  const alerts = useOffsetPages(
    "GET /alerts",
    { query: { workspace_id: workspace, limit: 100 } },
    { refetchInterval: 15_000 }
  )
  return (
    <>
      <Loaded value={alerts} what="The alerts" rows={4}>
        {() =>
          alerts.total === 0 ? (
            <Empty title="No alerts yet. An alert notifies a webhook or Slack when a budget, a provider or a key needs attention.">
              {create}
              <p>
                Over HTTP: <code>POST /api/v1/alerts</code>
              </p>
            </Empty>
          ) : (
            <Table
              label="Alerts"
              columns={columns}
              rows={alerts.rows ?? []}
              rowKey={(alert) => alert.id}
              selected={id}
              onOpen={(alert) => void set({ id: alert.id })}
              more={alerts.more}
            />
          )
        }
      </Loaded>
      {id !== undefined && alerts.rows !== undefined && (
        <AlertDetails
          alert={alerts.rows.find((alert) => alert.id === id)}
          onClose={() => void set({ id: undefined })}
        />
      )}
    </>
  )
}

const Alerts = (): ReactNode => {
  const { view } = usePageSearch("alerts")
  const set = useSetSearch("alerts")
  const mayCreate = useMay("admin")
  const [isCreating, setCreating] = useState(false)
  const isFirings = view === "firings"
  const create = mayCreate && (
    <button type="button" className="primary" onClick={() => setCreating(true)}>
      <Icon name="plus" />
      Create alert
    </button>
  )
  return (
    <>
      <div className="bar">
        <button type="button" aria-pressed={!isFirings} onClick={() => void set({ view: undefined, alert: undefined })}>
          Alerts
        </button>
        <button type="button" aria-pressed={isFirings} onClick={() => void set({ view: "firings", id: undefined })}>
          Firings
        </button>
        <span className="end">{create}</span>
      </div>
      {isFirings ? <Firings /> : <Rules create={create} />}
      {isCreating && <CreateAlert onClose={() => setCreating(false)} />}
    </>
  )
}

export default Alerts
