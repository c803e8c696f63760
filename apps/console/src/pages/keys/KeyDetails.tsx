/** All facts of a key, and what can be done with it. */
import { useState } from "react"
import { useChange, useMay, useRead, useSessionState } from "../../api/hooks.ts"
import { Id } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { counted, credits } from "../../parts/format.ts"
import { ItemActions } from "../../parts/ItemActions.tsx"
import { Loaded } from "../../parts/Loaded.tsx"
import { Time } from "../../parts/Time.tsx"
import { Actor, GuardrailLink, KeyLink } from "../../shell/Links.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import { useWorkspaceName } from "../../shell/WorkspacePicker.tsx"
import { EditKey } from "./EditKey.tsx"
import { EphemeralKeys } from "./EphemeralKeys.tsx"
import { KeyChanges } from "./KeyChanges.tsx"
import { KeySpend } from "./KeySpend.tsx"
import { RotateKey } from "./RotateKey.tsx"
import type { NewKey } from "./ShownKey.tsx"
import { type Key, KeyLimit, KeyState, kindOf, limitText } from "./Key.tsx"

/** Who created the key, from the audit log, which only a person who sees all workspaces may read. */
const Created = ({ of }: { readonly of: Key }) => {
  const { session } = useSessionState()
  const mayRead = session?.workspace_ids === null
  const { data } = useRead(
    "GET /audit",
    { query: { target: of.hash, action: "createKey", limit: 1 } },
    { enabled: mayRead && of.parent_hash === undefined }
  )
  const entry = data?.data[0]
  return (
    <>
      <Time at={of.created_at} />
      {entry !== undefined && (
        <>
          {" "}
          by <Actor actor={entry.actor} label={entry.actor_label} /> (
          <PageLink page="audit" search={{ target: of.hash, id: entry.id }}>
            entry in the audit log
          </PageLink>
          )
        </>
      )}
      {of.creator_user_id !== null && <>, whose user is {of.creator_user_id}</>}
      {entry === undefined && data !== undefined && <span className="hint"> (not in the audit log)</span>}
    </>
  )
}

const Facts = ({ of }: { readonly of: Key }) => {
  const workspaceName = useWorkspaceName()
  return (
    <dl className="facts">
      <dt>State</dt>
      <dd>
        <KeyState of={of} />
      </dd>
      <dt>Kind</dt>
      <dd>{kindOf(of)}</dd>
      {of.parent_hash !== undefined && (
        <>
          <dt>Created by the key</dt>
          <dd>
            <KeyLink hash={of.parent_hash} />
          </dd>
        </>
      )}
      <dt>Key</dt>
      <dd>
        <code>{of.label}</code>
      </dd>
      <dt>Hash</dt>
      <dd>
        <Id id={of.hash} what="the hash" full />
      </dd>
      <dt>Workspace</dt>
      <dd>
        <PageLink page="workspaces" search={{ id: of.workspace_id }}>
          {workspaceName(of.workspace_id)}
        </PageLink>
      </dd>
      {of.is_management_key ? (
        <>
          <dt>Sees</dt>
          <dd>{of.workspace_ids == null ? "All workspaces" : of.workspace_ids.map(workspaceName).join(", ")}</dd>
        </>
      ) : (
        <>
          <dt>Guardrail</dt>
          <dd>{of.guardrail_id === null ? "None" : <GuardrailLink id={of.guardrail_id} />}</dd>
          <dt>Limit</dt>
          <dd>
            {limitText(of)}
            {of.limit !== null && <KeyLimit of={of} />}
          </dd>
          <dt>Spent</dt>
          <dd className="figures">
            {credits(of.usage_daily)} today, {credits(of.usage_weekly)} this week, {credits(of.usage_monthly)} this
            month, {credits(of.usage)} in all
          </dd>
          <dt>With provider keys</dt>
          <dd className="figures">
            {of.byok_usage === 0
              ? "Nothing"
              : `${credits(of.byok_usage_monthly)} this month, ${credits(of.byok_usage)} in all, ${
                  of.include_byok_in_limit ? "which counts" : "which does not count"
                } toward the limit`}
          </dd>
          <dt>Last used</dt>
          <dd>{of.last_used_on ?? "Never"}</dd>
        </>
      )}
      <dt>Created</dt>
      <dd>
        <Created of={of} />
      </dd>
      <dt>Changed</dt>
      <dd>{of.updated_at === of.created_at ? "Never" : <Time at={of.updated_at} />}</dd>
      <dt>Expires</dt>
      <dd>{of.expires_at === null ? "Never" : <Time at={of.expires_at} />}</dd>
      {of.external_user !== null && (
        <>
          <dt>End user</dt>
          <dd>{of.external_user}</dd>
        </>
      )}
    </dl>
  )
}

/** The button that rotates a key, and its form. */
const Rotation = ({ of, onRotated }: { readonly of: Key; readonly onRotated: (key: NewKey) => void }) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Rotate
      </button>
      {isOpen && (
        <RotateKey
          of={of}
          onClose={() => setOpen(false)}
          onRotated={(key) => {
            setOpen(false)
            onRotated(key)
          }}
        />
      )}
    </>
  )
}

const Actions = ({
  of,
  onDeleted,
  onRotated
}: {
  readonly of: Key
  readonly onDeleted: () => void
  readonly onRotated: (key: NewKey) => void
}) => {
  const change = useChange("PATCH /keys/:hash")
  const remove = useChange("DELETE /keys/:hash")
  const params = { hash: of.hash }
  const isEphemeral = of.parent_hash !== undefined
  return (
    <ItemActions
      what="key"
      name={of.name}
      edit={!isEphemeral && ((close) => <EditKey of={of} onClose={close} />)}
      switching={
        !isEphemeral && {
          ...change,
          label: of.disabled ? "Enable" : "Disable",
          run: () => change.mutate({ params, payload: { disabled: !of.disabled } })
        }
      }
      deletion={{
        change: remove,
        run: () => remove.mutate({ params }, { onSuccess: onDeleted }),
        effect: (
          <p>
            Programs that use the key stop working at once
            {of.ephemeral_keys === undefined || of.ephemeral_keys === 0
              ? ""
              : `, and so do its ${counted(of.ephemeral_keys, "ephemeral key")}`}
            . Its requests stay in the log. To stop it for a while, disable it.
          </p>
        )
      }}
    >
      {!isEphemeral && <Rotation of={of} onRotated={onRotated} />}
    </ItemActions>
  )
}

export const KeyDetails = ({
  hash,
  onClose,
  onRotated
}: {
  readonly hash: string
  readonly onClose: () => void
  readonly onRotated: (key: NewKey) => void
}) => {
  const key = useRead("GET /keys/:hash", { params: { hash } })
  const { session } = useSessionState()
  const mayChange = useMay("operator")
  return (
    <Dialog kind="side" title={key.data?.data.name ?? "Key"} onClose={onClose}>
      <Loaded value={key} what="The key" rows={14}>
        {({ data }) => (
          <>
            {mayChange && <Actions of={data} onDeleted={onClose} onRotated={onRotated} />}
            <Facts of={data} />
            {!data.is_management_key && data.parent_hash === undefined && (
              <>
                <KeySpend of={data} />
                <EphemeralKeys hash={data.hash} />
              </>
            )}
            {session?.workspace_ids === null && data.parent_hash === undefined && <KeyChanges hash={data.hash} />}
          </>
        )}
      </Loaded>
    </Dialog>
  )
}
