/** The webhooks about videos, whether they arrived, and the secret that signs them. */
import { type ReactNode, useState } from "react"
import { useIdPages, useMay } from "../api/hooks.ts"
import { StatusBadge } from "../parts/Badge.tsx"
import { FilterSelect } from "../parts/Filter.tsx"
import { count, shortId } from "../parts/format.ts"
import { Empty, Loaded } from "../parts/Loaded.tsx"
import { type Column, Table } from "../parts/Table.tsx"
import { Time } from "../parts/Time.tsx"
import { PageLink } from "../shell/PageLink.tsx"
import { usePageSearch, useSetSearch } from "../shell/navigation.ts"
import { OfOneWorkspace, OneWorkspace, useOneWorkspace } from "../shell/WorkspacePicker.tsx"
import { type Delivery, DeliveryDetails } from "./webhooks/DeliveryDetails.tsx"
import { RotateSecret } from "./webhooks/RotateSecret.tsx"
import "./webhooks.css"

const statuses = ["pending", "delivered", "failed"] as const
const types = [
  "video.completed",
  "video.failed",
  "video.cancelled",
  "video.expired",
  "alert.fired",
  "alert.resolved",
  "alert.test"
] as const

/** What the receiver said the last time. */
const lastAnswer = ({ attempts }: Delivery): string => {
  const last = attempts.at(-1)
  if (last === undefined) return ""
  return last.error ?? `Status ${last.status_code}`
}

const columns: ReadonlyArray<Column<Delivery>> = [
  { key: "id", title: "Delivery", width: "8.75rem", cell: ({ id }) => <code>{shortId(id)}</code> },
  {
    key: "status",
    title: "Status",
    width: "6.5rem",
    cell: ({ status }) => <StatusBadge status={status} />,
    sort: ({ status }) => status
  },
  { key: "type", title: "Event", width: "8.5rem", cell: ({ type }) => type, sort: ({ type }) => type },
  {
    key: "video",
    title: "About",
    width: "8.75rem",
    cell: ({ video_id }) =>
      video_id === null ? (
        <PageLink page="alerts" search={{ view: "firings" }}>
          an alert
        </PageLink>
      ) : (
        <PageLink page="videos" search={{ id: video_id }}>
          <code>{shortId(video_id)}</code>
        </PageLink>
      )
  },
  { key: "url", title: "Receiver", width: "minmax(9rem, 1fr)", cell: ({ url }) => <span title={url}>{url}</span> },
  {
    key: "attempts",
    title: "Attempts",
    width: "5rem",
    align: "right",
    cell: ({ attempts }) => count(attempts.length),
    sort: ({ attempts }) => attempts.length
  },
  {
    key: "answer",
    title: "Latest answer",
    width: "minmax(9rem, 1fr)",
    cell: (delivery) => (
      <span title={lastAnswer(delivery)}>
        {delivery.next_attempt_at !== null && (
          <>
            Next attempt <Time at={delivery.next_attempt_at} ago />.{" "}
          </>
        )}
        {lastAnswer(delivery)}
      </span>
    )
  },
  {
    key: "created",
    title: "Created (UTC)",
    width: "10rem",
    cell: ({ created_at }) => <Time at={created_at} />,
    sort: ({ created_at }) => created_at
  }
]

const Webhooks = (): ReactNode => {
  const { id, status, type, video } = usePageSearch("webhooks")
  const set = useSetSearch("webhooks")
  const workspace = useOneWorkspace()
  const mayRotate = useMay("admin")
  const [rotates, setRotates] = useState(false)
  const deliveries = useIdPages(
    "GET /webhooks/deliveries",
    {
      workspace_id: workspace?.id,
      status: statuses.find((known) => known === status),
      type: types.find((known) => known === type),
      video_id: video,
      limit: 50
    },
    { enabled: workspace !== undefined, refetchInterval: 15_000 }
  )
  const isFiltered = status !== undefined || type !== undefined || video !== undefined
  const showAll = () => void set({ status: undefined, type: undefined, video: undefined })
  return (
    <>
      <div className="bar">
        <FilterSelect
          label="Status"
          all="All states"
          value={status}
          options={statuses.map((name) => [name, name] as const)}
          onChange={(status) => void set({ status })}
        />
        <FilterSelect
          label="Event"
          all="All events"
          value={type}
          options={types.map((name) => [name, name] as const)}
          onChange={(type) => void set({ type })}
        />
        {video !== undefined && (
          <button type="button" onClick={() => void set({ video: undefined })}>
            Video {shortId(video)}: show all videos
          </button>
        )}
        {mayRotate && workspace !== undefined && (
          <span className="end">
            <button type="button" onClick={() => setRotates(true)}>
              Rotate the secret
            </button>
          </span>
        )}
      </div>
      <OneWorkspace />
      <OfOneWorkspace>
        <Loaded value={deliveries} what="The deliveries">
          {() =>
            deliveries.rows?.length === 0 ? (
              <Empty title={isFiltered ? "No delivery matches the filters." : "No webhook was sent in this workspace."}>
                {isFiltered ? (
                  <button type="button" onClick={showAll}>
                    Show all deliveries
                  </button>
                ) : (
                  <p>
                    A video whose request has a <code>callback_url</code>, or whose workspace has one, sends a webhook
                    when it ends. See <code>model-gateway webhooks --help</code>
                  </p>
                )}
              </Empty>
            ) : (
              <Table
                label="Webhook deliveries"
                columns={columns}
                rows={deliveries.rows ?? []}
                rowKey={(delivery) => delivery.id}
                selected={id}
                onOpen={(delivery) => void set({ id: delivery.id })}
                more={deliveries.more}
              />
            )
          }
        </Loaded>
      </OfOneWorkspace>
      {id !== undefined && <DeliveryDetails key={id} id={id} onClose={() => void set({ id: undefined })} />}
      {rotates && workspace !== undefined && <RotateSecret workspace={workspace} onClose={() => setRotates(false)} />}
    </>
  )
}

export default Webhooks
