/** One provider key: who may use it and when, and the changes of it. */
import { useState } from "react"
import { useChange, useMay } from "../../api/hooks.ts"
import { Badge } from "../../parts/Badge.tsx"
import { Id } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { DeleteDialog } from "../../parts/FormDialog.tsx"
import { Problem } from "../../parts/Problem.tsx"
import { Time } from "../../parts/Time.tsx"
import { KeyLink } from "../../shell/Links.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import { useWorkspaceName } from "../../shell/WorkspacePicker.tsx"
import { EditProviderKey } from "./ProviderKeyForm.tsx"
import { type ProviderKey, useOf, uses } from "./draft.ts"

export const nameOf = ({ label, name }: ProviderKey): string => name ?? label

export const KeyState = ({ disabled }: Pick<ProviderKey, "disabled">) =>
  disabled ? <Badge tone="quiet">Disabled</Badge> : <Badge tone="good">Enabled</Badge>

export const useText = (key: ProviderKey): string => uses.find(([use]) => use === useOf(key))?.[1] ?? ""

const Actions = ({ of: key, onDeleted }: { readonly of: ProviderKey; readonly onDeleted: () => void }) => {
  const params = { id: key.id }
  const [open, setOpen] = useState<"edit" | "delete">()
  const update = useChange("PATCH /byok/:id")
  const remove = useChange("DELETE /byok/:id")
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
          onClick={() => update.mutate({ params, payload: { disabled: !key.disabled } })}
        >
          {key.disabled ? "Enable" : "Disable"}
        </button>
        <span className="end">
          <button type="button" className="danger" onClick={() => setOpen("delete")}>
            Delete
          </button>
        </span>
      </div>
      {update.error !== null && <Problem what="The provider key was not changed" error={update.error} />}
      {open === "edit" && <EditProviderKey of={key} onClose={close} />}
      {open === "delete" && (
        <DeleteDialog
          what="provider key"
          name={nameOf(key)}
          change={remove}
          onDelete={() => remove.mutate({ params }, { onSuccess: onDeleted })}
          onClose={close}
        >
          <p>
            No request uses it any more, and video jobs that were submitted with it fail. The key stays valid at the
            provider. This cannot be undone.
          </p>
        </DeleteDialog>
      )}
    </>
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
      <dd>{useText(key)}</dd>
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
