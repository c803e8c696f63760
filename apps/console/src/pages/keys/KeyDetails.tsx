/** All facts of a key, and what can be done with it. */
import { useState } from "react"
import type { Item } from "../../api/Contract.ts"
import { useChange, useMay, useRead, useSessionState } from "../../api/hooks.ts"
import { Chart } from "../../parts/Chart.tsx"
import { Id } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { count, counted, credits } from "../../parts/format.ts"
import { DeleteDialog } from "../../parts/FormDialog.tsx"
import { Loaded } from "../../parts/Loaded.tsx"
import { Problem } from "../../parts/Problem.tsx"
import { Table } from "../../parts/Table.tsx"
import { Time } from "../../parts/Time.tsx"
import { actionText } from "../audit/actions.ts"
import { Actor, GuardrailLink, KeyLink } from "../../shell/Links.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import { useWorkspaceName } from "../../shell/WorkspacePicker.tsx"
import { EditKey } from "./EditKey.tsx"
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
      {of.creator_user_id !== null && <>, user {of.creator_user_id}</>}
      {entry === undefined && data !== undefined && <span className="hint"> (not in the audit log)</span>}
    </>
  )
}

const EphemeralKeys = ({ hash }: { readonly hash: string }) => {
  const keys = useRead("GET /keys", { query: { parent_hash: hash, limit: 100 } })
  return (
    <section className="card">
      <h3>Ephemeral keys</h3>
      <Loaded value={keys} what="The ephemeral keys" rows={2}>
        {({ data, total_count }) =>
          total_count === 0 ? (
            <p className="hint">None that is still valid. Programs create them with POST /keys/ephemeral.</p>
          ) : (
            <>
              {total_count > data.length && (
                <p className="hint">
                  The newest {count(data.length)} of {count(total_count)}.
                </p>
              )}
              <Table
                label="Ephemeral keys"
                rows={data}
                rowKey={(key) => key.hash}
                columns={[
                  {
                    key: "hash",
                    title: "Hash",
                    width: "minmax(9rem, 1fr)",
                    cell: (key) => <Id id={key.hash} what="the hash" />
                  },
                  { key: "created", title: "Created", width: "7rem", cell: (key) => <Time at={key.created_at} ago /> },
                  {
                    key: "expires",
                    title: "Expires",
                    width: "7rem",
                    cell: (key) => (key.expires_at === null ? "Never" : <Time at={key.expires_at} ago />)
                  },
                  {
                    key: "operations",
                    title: "Operations",
                    width: "minmax(8rem, 1fr)",
                    cell: (key) => key.operations?.join(", ") ?? "All of its parent"
                  }
                ]}
              />
            </>
          )
        }
      </Loaded>
    </section>
  )
}

/** The days of the last 30, oldest first, as milliseconds. */
const lastDays = (): ReadonlyArray<number> => {
  const today = Math.floor(Date.now() / 86_400_000) * 86_400_000
  return Array.from({ length: 30 }, (_, index) => today - (29 - index) * 86_400_000)
}

const Spend = ({ of }: { readonly of: Key }) => {
  const [days] = useState(lastDays)
  const activity = useRead("GET /activity", {
    query: { interval: "day", api_key_hash: of.hash, from: new Date(days[0] ?? 0).toISOString() }
  })
  return (
    <section className="card">
      <Loaded value={activity} what="The spend of the key" rows={6}>
        {({ data }) => {
          const items = new Map(data.map((item: Item<"GET /activity">) => [Date.parse(item.date), item]))
          const requests = data.reduce((sum, item) => sum + item.requests, 0)
          const failed = data.reduce((sum, item) => sum + item.failed_requests, 0)
          return (
            <>
              {data.some(({ usage }) => usage > 0) ? (
                <Chart
                  label="Spend by day, in credits"
                  kind="bars"
                  times={days}
                  series={[{ name: "Spend", values: days.map((day) => items.get(day)?.usage ?? 0) }]}
                  format={credits}
                />
              ) : (
                <h3>No spend in 30 days</h3>
              )}
              <p className="hint">
                {counted(requests, "request")} in 30 days, {count(failed)} failed.
              </p>
            </>
          )
        }}
      </Loaded>
      <div className="bar">
        <PageLink page="usage" className="button" search={{ key: of.hash, group: "model" }}>
          Usage by model
        </PageLink>
        <PageLink page="requests" className="button" search={{ key: of.hash }}>
          Requests
        </PageLink>
      </div>
    </section>
  )
}

/** The latest changes of a key. */
const History = ({ hash }: { readonly hash: string }) => {
  const entries = useRead("GET /audit", { query: { target: hash, limit: 5 } })
  return (
    <section className="card">
      <h3>Changes</h3>
      <Loaded value={entries} what="The changes" rows={3}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="hint">None is recorded.</p>
          ) : (
            <ul className="lines">
              {data.map((entry) => (
                <li key={entry.id}>
                  <Time at={entry.created_at} />{" "}
                  <PageLink page="audit" search={{ target: hash, id: entry.id }}>
                    {actionText(entry.action)}
                  </PageLink>{" "}
                  by <Actor actor={entry.actor} label={entry.actor_label} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      <PageLink page="audit" search={{ target: hash, range: "30d" }}>
        All changes
      </PageLink>
    </section>
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

const Actions = ({
  of,
  onDeleted,
  onRotated
}: {
  readonly of: Key
  readonly onDeleted: () => void
  readonly onRotated: (key: NewKey) => void
}) => {
  const [open, setOpen] = useState<"edit" | "rotate" | "delete">()
  const change = useChange("PATCH /keys/:hash")
  const remove = useChange("DELETE /keys/:hash")
  const params = { hash: of.hash }
  const close = () => setOpen(undefined)
  return (
    <>
      <div className="bar">
        {of.parent_hash === undefined && (
          <>
            <button type="button" onClick={() => setOpen("edit")}>
              Edit
            </button>
            <button
              type="button"
              disabled={change.isPending}
              onClick={() => change.mutate({ params, payload: { disabled: !of.disabled } })}
            >
              {of.disabled ? "Enable" : "Disable"}
            </button>
            <button type="button" onClick={() => setOpen("rotate")}>
              Rotate
            </button>
          </>
        )}
        <button type="button" className="danger end" onClick={() => setOpen("delete")}>
          Delete
        </button>
      </div>
      {change.error !== null && <Problem what="The key was not changed" error={change.error} />}
      {open === "edit" && <EditKey of={of} onClose={close} />}
      {open === "rotate" && (
        <RotateKey
          of={of}
          onClose={close}
          onRotated={(key) => {
            close()
            onRotated(key)
          }}
        />
      )}
      {open === "delete" && (
        <DeleteDialog
          what="key"
          name={of.name}
          change={remove}
          onDelete={() => remove.mutate({ params }, { onSuccess: onDeleted })}
          onClose={close}
        >
          <p>
            Programs that use the key stop working at once
            {of.ephemeral_keys === undefined || of.ephemeral_keys === 0
              ? ""
              : `, and so do its ${counted(of.ephemeral_keys, "ephemeral key")}`}
            . Its requests stay in the log. To stop it for a while, disable it.
          </p>
        </DeleteDialog>
      )}
    </>
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
                <Spend of={data} />
                <EphemeralKeys hash={data.hash} />
              </>
            )}
            {session?.workspace_ids === null && data.parent_hash === undefined && <History hash={data.hash} />}
          </>
        )}
      </Loaded>
    </Dialog>
  )
}
