/** One destination: what it gets, and the changes of it. */
import { useState } from "react"
import { useChange, useMay } from "../../api/hooks.ts"
import { Badge } from "../../parts/Badge.tsx"
import { Id } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { DeleteDialog } from "../../parts/FormDialog.tsx"
import { percent } from "../../parts/format.ts"
import { Problem } from "../../parts/Problem.tsx"
import { Time } from "../../parts/Time.tsx"
import { KeyLink } from "../../shell/Links.tsx"
import { useWorkspaceName } from "../../shell/WorkspacePicker.tsx"
import { EditDestination } from "./DestinationForm.tsx"
import { addressOf, type Destination, types } from "./draft.ts"

export const DestinationState = ({ enabled }: Pick<Destination, "enabled">) =>
  enabled ? <Badge tone="good">Enabled</Badge> : <Badge tone="quiet">Paused</Badge>

const nameOf = ({ id, name }: Destination): string => name ?? id

const Actions = ({ destination, onDeleted }: { readonly destination: Destination; readonly onDeleted: () => void }) => {
  const { enabled, id } = destination
  const params = { id }
  const [open, setOpen] = useState<"edit" | "delete">()
  const update = useChange("PATCH /observability/destinations/:id")
  const remove = useChange("DELETE /observability/destinations/:id")
  const close = () => setOpen(undefined)
  return (
    <>
      <div className="bar">
        <button type="button" onClick={() => setOpen("edit")}>
          Change
        </button>
        <button
          type="button"
          disabled={update.isPending}
          onClick={() => update.mutate({ params, payload: { enabled: !enabled } })}
        >
          {enabled ? "Pause" : "Enable"}
        </button>
        <span className="end">
          <button type="button" className="danger" onClick={() => setOpen("delete")}>
            Delete
          </button>
        </span>
      </div>
      {update.error !== null && <Problem what="The destination was not changed" error={update.error} />}
      {open === "edit" && <EditDestination destination={destination} onClose={close} />}
      {open === "delete" && (
        <DeleteDialog
          what="destination"
          name={nameOf(destination)}
          change={remove}
          onDelete={() => remove.mutate({ params }, { onSuccess: onDeleted })}
          onClose={close}
        >
          <p>Events that were not delivered yet are not delivered. This cannot be undone.</p>
        </DeleteDialog>
      )}
    </>
  )
}

const Facts = ({ destination }: { readonly destination: Destination }) => {
  const workspaceName = useWorkspaceName()
  const { api_key_hashes, config, filter_rules } = destination
  const says = [
    ...(destination.broadcast_generation_cost ? ["whether a provider key was used"] : []),
    ...(destination.broadcast_generation_identity ? ["the hash of the key"] : []),
    ...(destination.broadcast_generation_request_context ? ["callback URLs"] : [])
  ]
  const headers = Object.keys(config["headers"] ?? {})
  return (
    <dl className="facts">
      <dt>Id</dt>
      <dd>
        <Id id={destination.id} what="the id of the destination" full />
      </dd>
      <dt>Type</dt>
      <dd>{types.find(([type]) => type === destination.type)?.[1] ?? destination.type}</dd>
      <dt>Address</dt>
      <dd>{addressOf(destination)}</dd>
      {destination.type === "webhook" && (
        <>
          <dt>Method</dt>
          <dd>{config["method"] === "PUT" ? "PUT" : "POST"}</dd>
        </>
      )}
      <dt>Headers</dt>
      <dd>{headers.length === 0 ? "none" : headers.join(", ")}</dd>
      <dt>Workspace</dt>
      <dd>{workspaceName(destination.workspace_id)}</dd>
      <dt>Share</dt>
      <dd>{percent(destination.sampling_rate)} of the events</dd>
      <dt>Keys</dt>
      <dd>
        {api_key_hashes === null ? (
          "all of the workspace"
        ) : (
          <ul>
            {api_key_hashes.map((hash) => (
              <li key={hash}>
                <KeyLink hash={hash} />
              </li>
            ))}
          </ul>
        )}
      </dd>
      <dt>Also sent</dt>
      <dd>{says.length === 0 ? "nothing" : says.join(", ")}</dd>
      <dt>Filter rules</dt>
      <dd>{filter_rules === null ? "none" : <pre tabIndex={0}>{JSON.stringify(filter_rules, null, 2)}</pre>}</dd>
      <dt>Created</dt>
      <dd>
        <Time at={destination.created_at} /> UTC
      </dd>
      <dt>Changed</dt>
      <dd>
        <Time at={destination.updated_at} /> UTC
      </dd>
    </dl>
  )
}

export const DestinationDetails = ({
  destination,
  onClose
}: {
  /** Undefined: it is not in the list. */
  readonly destination: Destination | undefined
  readonly onClose: () => void
}) => {
  const mayChange = useMay("admin")
  return (
    <Dialog kind="side" title={destination === undefined ? "Destination" : nameOf(destination)} onClose={onClose}>
      {destination === undefined ? (
        <p>There is no such destination in this workspace.</p>
      ) : (
        <>
          <p>
            <DestinationState enabled={destination.enabled} />
          </p>
          {mayChange && <Actions destination={destination} onDeleted={onClose} />}
          <Facts destination={destination} />
        </>
      )}
    </Dialog>
  )
}
