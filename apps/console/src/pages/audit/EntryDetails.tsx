/** One entry of the audit log, with what was before and after. */
import { useRead } from "../../api/hooks.ts"
import { Id } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { Empty, Loaded } from "../../parts/Loaded.tsx"
import { Time } from "../../parts/Time.tsx"
import { Actor } from "../../shell/Links.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import { actionText } from "./actions.ts"
import { differencesOf, type Entry } from "./difference.ts"
import { Target, useTargetName } from "./Target.tsx"

const Differences = ({ of }: { readonly of: Entry }) => {
  const differences = differencesOf(of)
  if (differences.length === 0) return <p className="hint">No field is recorded.</p>
  return (
    <div className="differences" tabIndex={0} role="region" aria-label="What was changed">
      <table>
        <thead>
          <tr>
            <th scope="col">Field</th>
            {of.before !== null && <th scope="col">Before</th>}
            {of.after !== null && <th scope="col">After</th>}
          </tr>
        </thead>
        <tbody>
          {differences.map(({ after, before, field }) => (
            <tr key={field}>
              <th scope="row">
                <code>{field}</code>
              </th>
              {of.before !== null && <td>{before === undefined ? "" : <del>{before}</del>}</td>}
              {of.after !== null && <td>{after === undefined ? "" : <ins>{after}</ins>}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const Facts = ({ of }: { readonly of: Entry }) => {
  const targetName = useTargetName()
  return (
    <>
      <dl className="facts">
        <dt>When</dt>
        <dd>
          <Time at={of.created_at} /> UTC
        </dd>
        <dt>Who</dt>
        <dd>
          <Actor actor={of.actor} label={of.actor_label} />{" "}
          <span className="hint">
            {of.actor_label}, {of.actor_role}
          </span>
        </dd>
        <dt>From</dt>
        <dd>{of.address ?? "The machine of the database"}</dd>
        <dt>What</dt>
        <dd>
          {actionText(of.action)} <code className="hint">{of.action}</code>
        </dd>
        <dt>Target</dt>
        <dd>
          <Target of={of} name={targetName(of)} />
        </dd>
        <dt>Request</dt>
        <dd>{of.request_id === "" ? "None" : <Id id={of.request_id} what="the request id" full />}</dd>
      </dl>
      <div className="bar">
        <PageLink page="audit" className="button" search={{ target: of.target_id }}>
          All changes of it
        </PageLink>
        <PageLink page="audit" className="button" search={{ actor: of.actor }}>
          All changes by them
        </PageLink>
      </div>
      <Differences of={of} />
    </>
  )
}

/** An id begins with the milliseconds of its entry, as a UUID of version 7 does. */
const aroundOf = (id: string): { readonly from: string; readonly to: string } | undefined => {
  const at = Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)
  if (!/^[0-9a-f-]{36}$/.test(id) || Math.abs(at) > 8e15) return undefined
  return { from: new Date(at - 2000).toISOString(), to: new Date(at + 2000).toISOString() }
}

export const EntryDetails = ({
  entry: known,
  id,
  onClose
}: {
  readonly id: string
  /** Undefined: it is not among the rows of the page, such as that of a link. It is read. */
  readonly entry: Entry | undefined
  readonly onClose: () => void
}) => {
  const around = aroundOf(id)
  const entries = useRead(
    "GET /audit",
    { query: { ...around, limit: 1000 } },
    { enabled: known === undefined && around !== undefined }
  )
  const entry = known ?? entries.data?.data.find((one) => one.id === id)
  const missing = <Empty title="The audit log has no entry with this id." />
  return (
    <Dialog kind="side" title={entry === undefined ? "Change" : actionText(entry.action)} onClose={onClose}>
      {entry !== undefined ? (
        <Facts of={entry} />
      ) : around === undefined ? (
        missing
      ) : (
        <Loaded value={entries} what="The entry" rows={8}>
          {() => missing}
        </Loaded>
      )}
    </Dialog>
  )
}
