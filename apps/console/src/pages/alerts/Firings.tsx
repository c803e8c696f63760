/** When alerts fired, and what became of their messages. */
import type { Item } from "../../api/Contract.ts"
import { useIdPages } from "../../api/hooks.ts"
import { Badge, StatusBadge } from "../../parts/Badge.tsx"
import { Empty, Loaded } from "../../parts/Loaded.tsx"
import { type Column, Table } from "../../parts/Table.tsx"
import { Time } from "../../parts/Time.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import { usePageSearch, useSetSearch } from "../../shell/navigation.ts"

type Firing = Item<"GET /alerts/firings">

const Delivery = ({ delivery }: { readonly delivery: Firing["fired_delivery"] }) =>
  delivery !== null && (
    <PageLink page="webhooks" search={{ id: delivery.id }}>
      <StatusBadge status={delivery.status} />
    </PageLink>
  )

const columns: ReadonlyArray<Column<Firing>> = [
  { key: "fired", title: "Fired (UTC)", width: "9.75rem", cell: ({ fired_at }) => <Time at={fired_at} /> },
  {
    key: "state",
    title: "State",
    width: "8rem",
    cell: ({ resolved_at }) =>
      resolved_at === null ? <Badge tone="bad">Firing</Badge> : <Badge tone="good">Resolved</Badge>
  },
  {
    key: "alert",
    title: "Alert",
    width: "minmax(9rem, 1fr)",
    cell: ({ alert_id, alert_name }) => (
      <PageLink page="alerts" search={{ id: alert_id }}>
        {alert_name}
      </PageLink>
    )
  },
  {
    key: "message",
    title: "What happened",
    width: "minmax(14rem, 2fr)",
    cell: ({ message }) => <span title={message}>{message}</span>
  },
  {
    key: "resolved",
    title: "Resolved",
    width: "9.75rem",
    cell: ({ resolved_at, resolved_reason }) =>
      resolved_at !== null && (
        <span title={resolved_reason ?? undefined}>
          <Time at={resolved_at} />
        </span>
      )
  },
  {
    key: "sent",
    title: "Message",
    width: "7rem",
    cell: ({ fired_delivery }) => <Delivery delivery={fired_delivery} />
  }
]

export const Firings = () => {
  const { alert } = usePageSearch("alerts")
  const set = useSetSearch("alerts")
  const firings = useIdPages("GET /alerts/firings", { alert_id: alert, limit: 50 }, { refetchInterval: 15_000 })
  return (
    <>
      {alert !== undefined && (
        <div className="bar">
          <button type="button" onClick={() => void set({ alert: undefined })}>
            Show the firings of all alerts
          </button>
        </div>
      )}
      <Loaded value={firings} what="The firings">
        {() =>
          firings.rows?.length === 0 ? (
            <Empty title="No alert has fired.">
              <button type="button" onClick={() => void set({ view: undefined, alert: undefined })}>
                Show the alerts
              </button>
            </Empty>
          ) : (
            <Table
              label="Firings"
              columns={columns}
              rows={firings.rows ?? []}
              rowKey={({ id }) => id}
              more={firings.more}
            />
          )
        }
      </Loaded>
    </>
  )
}
