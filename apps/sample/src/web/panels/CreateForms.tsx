/** The forms that create a guardrail and a key. */
import type { CurrentKey, Guardrails, Keys } from "@model-gateway/core"
import { Effect, Redacted } from "effect"
import { useState } from "react"
import { ManagementGateway } from "../../Program.ts"
import { CopyButton } from "../parts/CopyButton.tsx"
import { Field, Select } from "../parts/Field.tsx"
import { TaskProblem } from "../parts/ProblemNote.tsx"
import { SubmitButton } from "../parts/SubmitButton.tsx"
import { useTask } from "../useTask.ts"

const resets: ReadonlyArray<CurrentKey.LimitReset> = ["daily", "weekly", "monthly"]

export const CreateGuardrail = ({ onCreated }: { readonly onCreated: (created: Guardrails.Guardrail) => void }) => {
  const task = useTask<Guardrails.Guardrail>("guardrail")
  const [name, setName] = useState("Interns")
  const [limit, setLimit] = useState("5")
  const [reset, setReset] = useState("daily")
  const submit = () =>
    task.run(
      Effect.gen(function* () {
        const gateway = yield* ManagementGateway
        const created = yield* gateway.createGuardrail({
          name,
          ...(limit === ""
            ? {}
            : { limit_usd: Number(limit), reset_interval: resets.find((each) => each === reset) ?? null })
        })
        onCreated(created)
        return created
      })
    )
  return (
    <form
      className="card"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <h3>New guardrail</h3>
      <Field label="Name">
        {(ids) => <input {...ids} required value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <div className="fields">
        <Field label="Limit in credits">
          {(ids) => (
            <input
              {...ids}
              type="number"
              min={0}
              step="any"
              placeholder="none"
              value={limit}
              onChange={(event) => setLimit(event.target.value)}
            />
          )}
        </Field>
        <Select label="Resets" value={reset} options={[...resets, "never"]} onChange={setReset} />
      </div>
      <div className="row">
        <SubmitButton busy={task.running}>Create guardrail</SubmitButton>
        <span className="hint" role="status">
          {task.state._tag === "Done" ? `Guardrail ${task.state.value.name} created` : ""}
        </span>
      </div>
      <TaskProblem task={task} />
    </form>
  )
}

export const CreateKey = ({ onCreated }: { readonly onCreated: (created: Keys.Key) => void }) => {
  const task = useTask<Keys.CreateResponse>("guardrail")
  const [name, setName] = useState("Intern 1")
  const submit = () =>
    task.run(
      Effect.gen(function* () {
        const gateway = yield* ManagementGateway
        const created = yield* gateway.createKey({ name })
        onCreated(created.data)
        return created
      })
    )
  return (
    <form
      className="card"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <h3>New key</h3>
      <Field label="Name">
        {(ids) => <input {...ids} required value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <div className="row">
        <SubmitButton busy={task.running}>Create key</SubmitButton>
      </div>
      <div role="status">
        {task.state._tag === "Done" ? (
          <div className="once">
            <p>This is the key. It is shown only once:</p>
            <p className="row spread">
              <code className="long">{Redacted.value(task.state.value.key)}</code>
              <CopyButton label="Copy the new key" text={Redacted.value(task.state.value.key)} />
            </p>
          </div>
        ) : null}
      </div>
      <TaskProblem task={task} />
    </form>
  )
}
