/** One destination: what it gets, and the changes of it. */
import { useChange, useMay } from "../../api/hooks.ts"
import { Badge } from "../../parts/Badge.tsx"
import { Id } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { count, duration, percent } from "../../parts/format.ts"
import { ItemActions } from "../../parts/ItemActions.tsx"
import { Time } from "../../parts/Time.tsx"
import { KeyLink } from "../../shell/Links.tsx"
import { useWorkspaceName } from "../../shell/WorkspacePicker.tsx"
import { EditDestination } from "./DestinationForm.tsx"
import { addressOf, type Destination, types } from "./draft.ts"
import { groupText, rulesOf } from "./rules.ts"

export const DestinationState = ({ enabled }: Pick<Destination, "enabled">) =>
  enabled ? <Badge tone="good">Enabled</Badge> : <Badge tone="quiet">Paused</Badge>

/** Whether events arrive. */
export const DeliveryState = ({ of: { delivery, enabled } }: { readonly of: Destination }) => {
  if (delivery === undefined) return null
  const { last_delivered_at, last_error_at } = delivery
  if (last_error_at !== null && (last_delivered_at === null || last_error_at > last_delivered_at)) {
    return <Badge tone="bad">Failing: {delivery.last_error ?? ""}</Badge>
  }
  if (last_delivered_at === null) return <Badge tone="quiet">Nothing sent yet</Badge>
  return enabled && delivery.lag_seconds > 0 ? (
    <Badge tone="warning">Late</Badge>
  ) : (
    <Badge tone="good">Delivering</Badge>
  )
}

/** How far behind it is. */
export const lagOf = ({ delivery }: Destination): string =>
  delivery === undefined || delivery.lag_seconds === 0 ? "none" : duration(delivery.lag_seconds * 1000)

const nameOf = ({ id, name }: Destination): string => name ?? id

const Actions = ({ destination, onDeleted }: { readonly destination: Destination; readonly onDeleted: () => void }) => {
  const { enabled, id } = destination
  const params = { id }
  const update = useChange("PATCH /observability/destinations/:id")
  const remove = useChange("DELETE /observability/destinations/:id")
  const test = useChange("POST /observability/destinations/:id/test")
  return (
    <ItemActions
      what="destination"
      name={nameOf(destination)}
      edit={(close) => <EditDestination destination={destination} onClose={close} />}
      switching={{
        ...update,
        label: enabled ? "Pause" : "Enable",
        run: () => update.mutate({ params, payload: { enabled: !enabled } })
      }}
      test={{ ...test, label: "Send a test event", running: "Sending …", run: () => test.mutate({ params }) }}
      tested={
        test.data !== undefined && (
          <Badge tone={test.data.data.accepted ? "good" : "bad"}>
            {test.data.data.accepted ? "The test event was accepted" : `It was not accepted: ${test.data.data.error}`}{" "}
            after {duration(test.data.data.duration_ms)}
          </Badge>
        )
      }
      deletion={{
        change: remove,
        run: () => remove.mutate({ params }, { onSuccess: onDeleted }),
        effect: <p>Events that were not delivered yet are not delivered. This cannot be undone.</p>
      }}
    />
  )
}

const RulesText = ({ rules: given }: { readonly rules: Destination["filter_rules"] }) => {
  if (given === null) return "none"
  const json = JSON.stringify(given, null, 2)
  const rules = rulesOf(json)
  if (rules === undefined) return <pre tabIndex={0}>{json}</pre>
  return (
    <>
      {!rules.isEnabled && <Badge tone="quiet">Not applied</Badge>}
      <ul>
        {rules.groups.map((group, at) => (
          <li key={at}>
            {at > 0 && "or: "}
            {groupText(group)}
          </li>
        ))}
      </ul>
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
      {destination.delivery !== undefined && (
        <>
          <dt>Last delivered</dt>
          <dd>
            {destination.delivery.last_delivered_at === null ? (
              "never"
            ) : (
              <>
                <Time at={destination.delivery.last_delivered_at} /> UTC
              </>
            )}
          </dd>
          <dt>Lag</dt>
          <dd>{lagOf(destination)}</dd>
          <dt>Dropped</dt>
          <dd>{count(destination.delivery.dropped)} events since it was created</dd>
          <dt>Last error</dt>
          <dd>
            {destination.delivery.last_error === null ? "none" : destination.delivery.last_error}
            {destination.delivery.last_error_at !== null && (
              <>
                , <Time at={destination.delivery.last_error_at} /> UTC
              </>
            )}
          </dd>
        </>
      )}
      <dt>Filter rules</dt>
      <dd>
        <RulesText rules={filter_rules} />
      </dd>
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
          <p className="bar">
            <DestinationState enabled={destination.enabled} />
            <DeliveryState of={destination} />
          </p>
          {mayChange && <Actions destination={destination} onDeleted={onClose} />}
          <Facts destination={destination} />
        </>
      )}
    </Dialog>
  )
}
