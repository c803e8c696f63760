/** One provider key: who may use it and when, and the changes of it. */
import type { Success } from "../../api/Contract.ts"
import { useChange, useMay } from "../../api/hooks.ts"
import { Badge } from "../../parts/Badge.tsx"
import { Id } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { duration } from "../../parts/format.ts"
import { ItemActions } from "../../parts/ItemActions.tsx"
import { Time } from "../../parts/Time.tsx"
import { KeyLink } from "../../shell/Links.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import { useWorkspaceName } from "../../shell/WorkspacePicker.tsx"
import { EditProviderKey } from "./ProviderKeyForm.tsx"
import { type ProviderKey, useOf, uses } from "./draft.ts"

export const nameOf = ({ label, name }: ProviderKey): string => name ?? label

export const KeyState = ({ disabled }: Pick<ProviderKey, "disabled">) =>
  disabled ? <Badge tone="quiet">Disabled</Badge> : <Badge tone="good">Enabled</Badge>

/** How the latest call with the key ended. */
export const Outcome = ({ of: { last_outcome, last_status } }: { readonly of: ProviderKey }) => {
  if (last_outcome == null) return <span className="hint">not used yet</span>
  return (
    <Badge tone={last_outcome === "Success" ? "good" : "bad"}>
      {last_outcome}
      {last_status != null && ` (status ${last_status})`}
    </Badge>
  )
}

type Result = Success<"POST /byok/:id/test">["data"]

/** What a test says of the key. */
const Tested = ({ result }: { readonly result: Result }) => {
  const { accepted, duration_ms, message, model, outcome, status } = result
  const word =
    accepted === null
      ? "The answer does not say"
      : accepted
        ? "The provider accepts the key"
        : "The provider refuses the key"
  return (
    <p>
      <Badge tone={accepted === null ? "warning" : accepted ? "good" : "bad"}>{word}</Badge>{" "}
      {outcome !== "Success" && `${outcome}${status === null ? "" : `, status ${status}`}. `}
      {message}
      {model !== null && (
        <span className="hint">
          {" "}
          Called {model}, {duration(duration_ms)}.
        </span>
      )}
    </p>
  )
}

export const whenUsed = (key: ProviderKey): string => uses.find(([use]) => use === useOf(key))?.[1] ?? ""

const Actions = ({ of: key, onDeleted }: { readonly of: ProviderKey; readonly onDeleted: () => void }) => {
  const params = { id: key.id }
  const update = useChange("PATCH /byok/:id")
  const remove = useChange("DELETE /byok/:id")
  const test = useChange("POST /byok/:id/test")
  return (
    <ItemActions
      what="provider key"
      name={nameOf(key)}
      edit={(close) => <EditProviderKey of={key} onClose={close} />}
      switching={{
        ...update,
        label: key.disabled ? "Enable" : "Disable",
        run: () => update.mutate({ params, payload: { disabled: !key.disabled } })
      }}
      test={{ ...test, label: "Test", running: "Testing …", run: () => test.mutate({ params }) }}
      tested={test.data !== undefined && <Tested result={test.data.data} />}
      deletion={{
        change: remove,
        run: () => remove.mutate({ params }, { onSuccess: onDeleted }),
        effect: (
          <p>
            No request uses it any more, and video jobs that were submitted with it fail. The key stays valid at the
            provider. This cannot be undone.
          </p>
        )
      }}
    />
  )
}

const Facts = ({ of: key }: { readonly of: ProviderKey }) => {
  const workspaceName = useWorkspaceName()
  return (
    <dl className="facts">
      <dt>Id</dt>
      <dd>
        <Id id={key.id} what="the id of the provider key" full />
      </dd>
      <dt>Provider</dt>
      <dd>
        <PageLink page="providers" search={{ id: key.provider }}>
          {key.provider}
        </PageLink>
      </dd>
      <dt>Key</dt>
      <dd>
        <code>{key.label}</code>
      </dd>
      {key.workspace_id !== null && (
        <>
          <dt>Workspace</dt>
          <dd>{workspaceName(key.workspace_id)}</dd>
        </>
      )}
      <dt>Used</dt>
      <dd>{whenUsed(key)}</dd>
      <dt>Models</dt>
      <dd>{key.allowed_models === null ? "all" : key.allowed_models.join(", ")}</dd>
      <dt>API keys</dt>
      <dd>
        {key.allowed_api_key_hashes === null ? (
          "all of the workspace"
        ) : (
          <ul>
            {key.allowed_api_key_hashes.map((hash) => (
              <li key={hash}>
                <KeyLink hash={hash} />
              </li>
            ))}
          </ul>
        )}
      </dd>
      <dt>Users</dt>
      <dd>{key.allowed_user_ids === null ? "all" : key.allowed_user_ids.join(", ")}</dd>
      <dt>Zero data retention</dt>
      <dd>{key.declared_zdr === null ? "not declared" : key.declared_zdr ? "yes" : "no"}</dd>
      <dt>Last used</dt>
      <dd>
        {key.last_used_at == null ? (
          "never"
        ) : (
          <>
            <Time at={key.last_used_at} /> UTC <Outcome of={key} />
          </>
        )}
      </dd>
      <dt>Created</dt>
      <dd>
        <Time at={key.created_at} /> UTC
      </dd>
    </dl>
  )
}

export const ProviderKeyDetails = ({
  of: key,
  onClose
}: {
  /** Undefined: it is not in the list. */
  readonly of: ProviderKey | undefined
  readonly onClose: () => void
}) => {
  const mayChange = useMay("admin")
  return (
    <Dialog kind="side" title={key === undefined ? "Provider key" : nameOf(key)} onClose={onClose}>
      {key === undefined ? (
        <p>There is no such provider key in this workspace.</p>
      ) : (
        <>
          <p>
            <KeyState disabled={key.disabled} />
          </p>
          {mayChange && <Actions of={key} onDeleted={onClose} />}
          <Facts of={key} />
        </>
      )}
    </Dialog>
  )
}
