/** One alert: what it watches, what it measured last, and the changes of it. */
import { useChange, useMay } from "../../api/hooks.ts"
import { Badge } from "../../parts/Badge.tsx"
import { Id } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { ItemActions } from "../../parts/ItemActions.tsx"
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
  const update = useChange("PATCH /alerts/:id")
  const remove = useChange("DELETE /alerts/:id")
  const test = useChange("POST /alerts/:id/test")
  return (
    <ItemActions
      what="alert"
      name={alert.name}
      edit={(close) => <EditAlert alert={alert} onClose={close} />}
      switching={{
        ...update,
        label: alert.enabled ? "Disable" : "Enable",
        run: () => update.mutate({ params, payload: { enabled: !alert.enabled } })
      }}
      test={{ ...test, label: "Send a test", running: "Sending …", run: () => test.mutate({ params }) }}
      tested={
        test.data !== undefined && (
          <p>
            The test is on its way:{" "}
            <PageLink page="webhooks" search={{ id: test.data.data.id }}>
              see its delivery
            </PageLink>
          </p>
        )
      }
      deletion={{
        change: remove,
        run: () => remove.mutate({ params }, { onSuccess: onDeleted }),
        effect: <p>It is not evaluated any more. Its earlier firings stay in the list. This cannot be undone.</p>
      }}
    />
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
