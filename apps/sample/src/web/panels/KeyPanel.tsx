/** Shows the key's usage, limits and free requests. */
import type { CurrentKey } from "@model-gateway/core"
import { useEffect } from "react"
import { readKey } from "../../Program.ts"
import { amount, credits, period } from "../../Texts.ts"
import { Meter } from "../parts/Meter.tsx"
import { Panel } from "../parts/Panel.tsx"
import { TaskForm } from "../parts/TaskForm.tsx"
import type { EnteredKey } from "../Session.ts"
import { snippets } from "../Snippets.ts"
import { useTask } from "../useTask.ts"

interface Props {
  readonly active: boolean
  readonly signedIn: boolean
  readonly entered: EnteredKey | undefined
}

export const KeyPanel = ({ active, signedIn, entered }: Props) => {
  const task = useTask<CurrentKey.KeyRecord>("key")
  const { run, state } = task
  useEffect(() => {
    if (active && signedIn) run(readKey())
  }, [active, signedIn, run])
  return (
    <Panel
      id="key"
      title="Your key"
      lead="Usage, limits and free requests of the key that you signed in with."
      code={snippets.key}
      active={active}
    >
      <TaskForm
        task={task}
        label="Read the key"
        onSubmit={() => run(readKey())}
        running="Reading …"
        done={() => "Up to date"}
      />
      <div className="outcome">{state._tag === "Done" ? <Record record={{ ...state.value, ...entered }} /> : null}</div>
    </Panel>
  )
}

const Record = ({ record }: { readonly record: CurrentKey.KeyRecord }) => {
  const free = record.free_model_daily_requests
  const spent = record.limit === null ? 0 : record.limit - (record.limit_remaining ?? 0)
  const max = Math.max(record.usage, record.byok_usage)
  return (
    <>
      <div className="card">
        <h3>
          <code>{record.label}</code>
        </h3>
        <dl className="facts">
          <div>
            <dt>Kind</dt>
            <dd>{record.is_management_key ? "management" : record.is_free_tier ? "free tier" : "ordinary"}</dd>
          </div>
          <div>
            <dt>Expires</dt>
            <dd>{record.expires_at === null ? "never" : new Date(record.expires_at).toLocaleString()}</dd>
          </div>
          <div>
            <dt>Created by</dt>
            <dd>{record.creator_user_id ?? "unknown"}</dd>
          </div>
        </dl>
      </div>
      <div className="card meters">
        <h3>Limits</h3>
        {record.limit === null ? (
          <p>No spending limit: the key uses the credits of its workspace.</p>
        ) : (
          <Meter
            limited
            label="Spending limit"
            value={spent}
            max={record.limit}
            text={`${amount(spent)} of ${credits(record.limit)}${period(record.limit_reset)}`}
          />
        )}
        <Meter
          limited
          label="Free requests today"
          value={free.used}
          max={free.limit}
          text={`${free.used} of ${free.limit}`}
        />
      </div>
      <div className="card meters">
        <h3>Usage</h3>
        <Usage title="All time" value={record.usage} max={max} />
        <Usage title="This month" value={record.usage_monthly} max={max} />
        <Usage title="This week" value={record.usage_weekly} max={max} />
        <Usage title="Today" value={record.usage_daily} max={max} />
        <Usage
          title={`With your provider keys${record.include_byok_in_limit ? ", counted in the limit" : ""}`}
          value={record.byok_usage}
          max={max}
        />
      </div>
    </>
  )
}

const Usage = ({ max, title, value }: { readonly title: string; readonly value: number; readonly max: number }) => (
  <Meter label={title} value={value} max={max} text={credits(value)} />
)
