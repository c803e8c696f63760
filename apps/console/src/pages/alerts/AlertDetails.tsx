/** One alert: what it watches, what it measured last, and the changes of it. */
import { useState } from "react"
import { useChange, useMay } from "../../api/hooks.ts"
import { Badge } from "../../parts/Badge.tsx"
import { Id } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { DeleteDialog } from "../../parts/FormDialog.tsx"
import { Problem } from "../../parts/Problem.tsx"
import { Time } from "../../parts/Time.tsx"
import { GuardrailLink, KeyLink } from "../../shell/Links.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import { useWorkspaceName } from "../../shell/WorkspacePicker.tsx"
import { EditAlert } from "./AlertForm.tsx"
import { type Alert, kinds, ruleOf } from "./kinds.tsx"

export const AlertState = ({ of: { enabled, state } }: { readonly of: Alert }) => {
  if (!enabled) return <Badge tone="quiet">Disabled</Badge>
  return state === "firing" ? <Badge tone="bad">Firing</Badge> : <Badge tone="good">OK</Badge>
}

/** What an alert is about. */
export const Watched = ({ of: alert }: { readonly of: Alert }) => {
  const workspaceName = useWorkspaceName()
  const { guardrail_id, key_hash, model, provider, workspace_id } = alert
  if (guardrail_id !== null) return <GuardrailLink id={guardrail_id} />
  if (key_hash !== null) return <KeyLink hash={key_hash} />
  return (
    <>
      {model !== null && (
        <PageLink page="models" search={{ id: model }}>
          {model}
        </PageLink>
      )}
      {provider !== null && ` at ${provider}`}
      {model === null && (workspace_id === null ? "all workspaces" : workspaceName(workspace_id))}
    </>
  )
}

const Actions = ({ alert, onDeleted }: { readonly alert: Alert; readonly onDeleted: () => void }) => {
  const params = { id: alert.id }
  const [open, setOpen] = useState<"edit" | "delete">()
  const update = useChange("PATCH /alerts/:id")
  const remove = useChange("DELETE /alerts/:id")
  const test = useChange("POST /alerts/:id/test")
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
          onClick={() => update.mutate({ params, payload: { enabled: !alert.enabled } })}
        >
          {alert.enabled ? "Disable" : "Enable"}
        </button>
        <button type="button" disabled={test.isPending} onClick={() => test.mutate({ params })}>
          {test.isPending ? "Sending …" : "Send a test"}
        </button>
        <span className="end">
          <button type="button" className="danger" onClick={() => setOpen("delete")}>
            Delete
          </button>
        </span>
      </div>
      <div role="status">
        {test.data !== undefined && (
          <p>
            The test is on its way:{" "}
            <PageLink page="webhooks" search={{ id: test.data.data.id }}>
              see its delivery
            </PageLink>
          </p>
        )}
      </div>
      {test.error !== null && <Problem what="The test was not sent" error={test.error} />}
      {update.error !== null && <Problem what="The alert was not changed" error={update.error} />}
      {open === "edit" && <EditAlert alert={alert} onClose={close} />}
      {open === "delete" && (
        <DeleteDialog
          what="alert"
          name={alert.name}
          change={remove}
          onDelete={() => remove.mutate({ params }, { onSuccess: onDeleted })}
          onClose={close}
        >
          <p>It is not evaluated any more. Its earlier firings stay in the list. This cannot be undone.</p>
        </DeleteDialog>
      )}
    </>
  )
}

const Facts = ({ alert }: { readonly alert: Alert }) => (
  <dl className="facts">
    <dt>Id</dt>
    <dd>
      <Id id={alert.id} what="the id of the alert" full />
    </dd>
    <dt>Watches</dt>
    <dd>
      <Watched of={alert} />
    </dd>
    <dt>Fires when</dt>
    <dd>{ruleOf(alert)}</dd>
    <dt>Measured last</dt>
    <dd>{alert.last_value === null ? "nothing to measure" : kinds[alert.kind].format(alert.last_value)}</dd>
    {alert.last_evaluated_at !== null && (
      <>
        <dt>Evaluated</dt>
        <dd>
          <Time at={alert.last_evaluated_at} ago />
        </dd>
      </>
    )}
    {alert.state_since !== null && (
      <>
        <dt>{alert.state === "firing" ? "Firing since" : "OK since"}</dt>
        <dd>
          <Time at={alert.state_since} /> UTC
        </dd>
      </>
    )}
    <dt>Sent to</dt>
    <dd>
      {alert.target.type === "slack" ? "Slack" : "Webhook"}: {alert.target.url}
    </dd>
    <dt>Created</dt>
    <dd>
      <Time at={alert.created_at} /> UTC
    </dd>
  </dl>
)

export const AlertDetails = ({
  alert,
  onClose
}: {
  /** Undefined: it is not in the list. */
  readonly alert: Alert | undefined
  readonly onClose: () => void
}) => {
  const mayChange = useMay("admin")
  return (
    <Dialog kind="side" title={alert?.name ?? "Alert"} onClose={onClose}>
      {alert === undefined ? (
        <p>There is no such alert. It may have been deleted.</p>
      ) : (
        <>
          <p>
            <AlertState of={alert} />
          </p>
          {mayChange && <Actions alert={alert} onDeleted={onClose} />}
          <Facts alert={alert} />
          <p>
            <PageLink page="alerts" search={{ view: "firings", alert: alert.id }}>
              Its firings
            </PageLink>
          </p>
        </>
      )}
    </Dialog>
  )
}
