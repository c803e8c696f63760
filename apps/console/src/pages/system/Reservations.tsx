/** The credits that requests hold, and those that a crash left to check. */
import { useState } from "react"
import type { Item } from "../../api/Contract.ts"
import { useChange, useMay, useRead } from "../../api/hooks.ts"
import { Badge } from "../../parts/Badge.tsx"
import { TextField } from "../../parts/Fields.tsx"
import { FilterSelect } from "../../parts/Filter.tsx"
import { FormDialog } from "../../parts/FormDialog.tsx"
import { credits, shortId } from "../../parts/format.ts"
import { Empty, Loaded } from "../../parts/Loaded.tsx"
import { type Column, Table } from "../../parts/Table.tsx"
import { Time } from "../../parts/Time.tsx"
import { KeyLink } from "../../shell/Links.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import { usePageSearch, useSetSearch } from "../../shell/navigation.ts"
import { useWorkspaceName } from "../../shell/WorkspacePicker.tsx"

type Reservation = Item<"GET /reservations">

const holders = { alive: "its process runs", dead: "its process died", job: "a video job" } as const

const State = ({ reservation: { holder, state } }: { readonly reservation: Reservation }) =>
  state === "abandoned" ? (
    <Badge tone="warning">Abandoned</Badge>
  ) : (
    <Badge tone={holder === "dead" ? "warning" : "waiting"}>Open: {holder === null ? "" : holders[holder]}</Badge>
  )

const SettleDialog = ({
  onClose,
  reservation
}: {
  readonly reservation: Reservation
  readonly onClose: () => void
}) => {
  const [cost, setCost] = useState("")
  const [provider, setProvider] = useState("")
  const settle = useChange("POST /reservations/:id/settle")
  return (
    <FormDialog
      title="Settle the reservation"
      action="Charge and settle"
      change={settle}
      disabled={cost.trim() === ""}
      onSubmit={() =>
        settle.mutate(
          {
            params: { id: reservation.id },
            payload: { cost: Number(cost), ...(provider.trim() !== "" && { provider: provider.trim() }) }
          },
          { onSuccess: onClose }
        )
      }
      onClose={onClose}
    >
      <p>
        Settling charges the workspace what the provider has billed, and adds the request to the request log. Look at
        the provider's bill for <code>{reservation.model}</code> first. The request may cost at most{" "}
        {credits(reservation.amount)} credits.
      </p>
      <TextField
        label="What the provider billed, in credits"
        name="cost"
        type="number"
        value={cost}
        onChange={setCost}
        error={settle.error}
        required
        autoFocus
      />
      <TextField
        label="Provider, for the request log (optional)"
        name="provider"
        value={provider}
        onChange={setProvider}
        error={settle.error}
      />
    </FormDialog>
  )
}

const DismissDialog = ({
  onClose,
  reservation
}: {
  readonly reservation: Reservation
  readonly onClose: () => void
}) => {
  const dismiss = useChange("POST /reservations/:id/dismiss")
  return (
    <FormDialog
      title="Dismiss the reservation"
      action="Dismiss"
      change={dismiss}
      onSubmit={() => dismiss.mutate({ params: { id: reservation.id } }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>
        Dismissing charges nothing and takes the reservation of {credits(reservation.amount)} credits off this list. Do
        it if the provider has not billed the request. This cannot be undone.
      </p>
    </FormDialog>
  )
}

type Choice = { readonly what: "settle" | "dismiss"; readonly reservation: Reservation }

const columnsOf = (
  workspaceName: (id: string) => string,
  state: Reservation["state"],
  mayChange: boolean,
  choose: (choice: Choice) => void
): ReadonlyArray<Column<Reservation>> => [
  {
    key: "id",
    title: "Reservation",
    width: "9rem",
    cell: ({ id }) => <code title={id}>{shortId(id)}</code>
  },
  {
    key: "state",
    title: "State",
    width: state === "open" ? "11.5rem" : "7rem",
    cell: (reservation) => <State reservation={reservation} />
  },
  {
    key: "amount",
    title: "Credits",
    width: "4.5rem",
    align: "right",
    cell: ({ amount }) => credits(amount),
    sort: ({ amount }) => amount
  },
  {
    key: "model",
    title: "Model",
    width: "minmax(8rem, 1fr)",
    cell: ({ model }) => <span title={model}>{model}</span>,
    sort: ({ model }) => model
  },
  {
    key: "about",
    title: "Request or video",
    width: "9rem",
    cell: ({ request_id, video_id }) =>
      video_id !== null ? (
        <PageLink page="videos" search={{ id: video_id }}>
          <code>{shortId(video_id)}</code>
        </PageLink>
      ) : (
        request_id !== null && <code title={request_id}>{shortId(request_id)}</code>
      )
  },
  { key: "key", title: "Key", width: "minmax(5rem, 1fr)", cell: ({ key_hash }) => <KeyLink hash={key_hash} /> },
  {
    key: "workspace",
    title: "Workspace",
    width: "minmax(5rem, 1fr)",
    cell: ({ workspace_id }) => workspaceName(workspace_id)
  },
  {
    key: "at",
    title: "Reserved",
    width: "5rem",
    cell: ({ reserved_at }) => <Time at={reserved_at} ago />,
    sort: ({ reserved_at }) => reserved_at
  },
  ...(mayChange
    ? [
        {
          key: "actions",
          title: "Actions",
          width: "10.5rem",
          cell: (reservation: Reservation) => (
            <>
              <button
                type="button"
                className="quiet"
                aria-label={`Settle ${reservation.id}`}
                onClick={() => choose({ what: "settle", reservation })}
              >
                Settle
              </button>
              <button
                type="button"
                className="quiet"
                aria-label={`Dismiss ${reservation.id}`}
                onClick={() => choose({ what: "dismiss", reservation })}
              >
                Dismiss
              </button>
            </>
          )
        }
      ]
    : [])
]

const states = [["open", "Open"]] as const

export const Reservations = () => {
  const { reservations: wanted } = usePageSearch("system")
  const state = wanted === "open" ? "open" : "abandoned"
  const set = useSetSearch("system")
  const mayChange = useMay("admin")
  const workspaceName = useWorkspaceName()
  const [choice, setChoice] = useState<Choice>()
  const reservations = useRead("GET /reservations", { query: { state } }, { refetchInterval: 15_000 })
  const close = () => setChoice(undefined)
  return (
    <section className="card" aria-labelledby="reservations">
      <div className="bar">
        <h2 id="reservations">Reservations</h2>
        <span className="end">
          <FilterSelect
            label="State of the reservations"
            all="Abandoned"
            value={state === "open" ? "open" : undefined}
            options={states}
            onChange={(reservations) => void set({ reservations })}
          />
        </span>
      </div>
      <p className="hint">
        {state === "abandoned"
          ? "The process of these requests died. Their credits were released, and the provider may have billed them. Settle those that it did bill, which charges the workspace. Dismiss the others, which charges nothing."
          : "The credits that requests and video jobs in progress hold. They are charged or released when these end."}
      </p>
      <Loaded value={reservations} what="The reservations" rows={3}>
        {({ data, has_more }) =>
          data.length === 0 ? (
            <Empty title={state === "abandoned" ? "No crash left a reservation." : "No request is in progress."}>
              <p>
                The command <code>model-gateway reconcile</code> checks it too.
              </p>
            </Empty>
          ) : (
            <>
              <Table
                label="Reservations"
                columns={columnsOf(workspaceName, state, mayChange && state === "abandoned", setChoice)}
                rows={data}
                rowKey={({ id }) => id}
              />
              {has_more && <p className="hint">These are the newest 1,000. There are older ones.</p>}
            </>
          )
        }
      </Loaded>
      {choice?.what === "settle" && <SettleDialog reservation={choice.reservation} onClose={close} />}
      {choice?.what === "dismiss" && <DismissDialog reservation={choice.reservation} onClose={close} />}
    </section>
  )
}
