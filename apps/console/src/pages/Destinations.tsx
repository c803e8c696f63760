/** Where each finished request is sent: collectors of traces, and webhooks. */
import { type ReactNode, useState } from "react"
import { useMay, useOffsetPages } from "../api/hooks.ts"
import { count } from "../parts/format.ts"
import { Icon } from "../parts/Icon.tsx"
import { Empty, Loaded } from "../parts/Loaded.tsx"
import { type Column, Table } from "../parts/Table.tsx"
import { Time } from "../parts/Time.tsx"
import { usePageSearch, useSetSearch } from "../shell/navigation.ts"
import { OfOneWorkspace, OneWorkspace, useOneWorkspace } from "../shell/WorkspacePicker.tsx"
import { DeliveryState, DestinationDetails, DestinationState, lagOf } from "./destinations/DestinationDetails.tsx"
import { CreateDestination } from "./destinations/DestinationForm.tsx"
import { addressOf, type Destination } from "./destinations/draft.ts"

const columns: ReadonlyArray<Column<Destination>> = [
  {
    key: "name",
    title: "Name",
    width: "minmax(9rem, 1fr)",
    cell: ({ id, name }) => name ?? id,
    sort: ({ name }) => name ?? ""
  },
  {
    key: "state",
    title: "State",
    width: "7rem",
    cell: ({ enabled }) => <DestinationState enabled={enabled} />,
    sort: ({ enabled }) => String(enabled)
  },
  { key: "type", title: "Type", width: "7.5rem", cell: ({ type }) => type, sort: ({ type }) => type },
  {
    key: "address",
    title: "Address",
    width: "minmax(10rem, 1.5fr)",
    cell: (destination) => <span title={addressOf(destination)}>{addressOf(destination)}</span>
  },
  {
    key: "delivery",
    title: "Delivery",
    width: "minmax(11rem, 1fr)",
    cell: (destination) => <DeliveryState of={destination} />,
    sort: ({ delivery }) => delivery?.last_error_at ?? ""
  },
  {
    key: "delivered",
    title: "Last delivered",
    width: "7rem",
    cell: ({ delivery }) => delivery?.last_delivered_at != null && <Time at={delivery.last_delivered_at} ago />,
    sort: ({ delivery }) => delivery?.last_delivered_at ?? ""
  },
  {
    key: "lag",
    title: "Lag",
    width: "5.5rem",
    align: "right",
    cell: lagOf,
    sort: ({ delivery }) => delivery?.lag_seconds ?? 0
  },
  {
    key: "dropped",
    title: "Dropped",
    width: "4.75rem",
    align: "right",
    cell: ({ delivery }) => count(delivery?.dropped ?? 0),
    sort: ({ delivery }) => delivery?.dropped ?? 0
  }
]

const Destinations = (): ReactNode => {
  const { id } = usePageSearch("destinations")
  const set = useSetSearch("destinations")
  const workspace = useOneWorkspace()
  const mayCreate = useMay("admin")
  const [isCreating, setCreating] = useState(false)
  const destinations = useOffsetPages(
    "GET /observability/destinations",
    { query: { workspace_id: workspace?.id, limit: 100 } },
    { enabled: workspace !== undefined, refetchInterval: 15_000 }
  )
  const create = mayCreate && (
    <button type="button" className="primary" disabled={workspace === undefined} onClick={() => setCreating(true)}>
      <Icon name="plus" />
      Create destination
    </button>
  )
  return (
    <>
      <div className="bar">
        <OneWorkspace />
        <span className="end">{create}</span>
      </div>
      <OfOneWorkspace>
        <Loaded value={destinations} what="The destinations" rows={4}>
          {() =>
            destinations.total === 0 ? (
              <Empty title="No destinations yet. A destination receives a trace or a signed webhook for each finished request.">
                {create}
                <p>
                  Over HTTP: <code>POST /api/v1/observability/destinations</code>
                </p>
              </Empty>
            ) : (
              <Table
                label="Destinations"
                columns={columns}
                rows={destinations.rows ?? []}
                rowKey={(destination) => destination.id}
                selected={id}
                onOpen={(destination) => void set({ id: destination.id })}
                more={destinations.more}
              />
            )
          }
        </Loaded>
      </OfOneWorkspace>
      {id !== undefined && destinations.rows !== undefined && (
        <DestinationDetails
          destination={destinations.rows.find((destination) => destination.id === id)}
          onClose={() => void set({ id: undefined })}
        />
      )}
      {isCreating && workspace !== undefined && (
        <CreateDestination workspace={workspace} onClose={() => setCreating(false)} />
      )}
    </>
  )
}

export default Destinations
