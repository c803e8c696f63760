/** Creates guardrails and keys and assigns them. The management key is kept only in memory. */
import type { Guardrails, Keys } from "@model-gateway/core"
import { Effect, type Redacted } from "effect"
import { useEffect, useState } from "react"
import { ManagementGateway } from "../../Program.ts"
import { credits, period } from "../../Texts.ts"
import { Field } from "../parts/Field.tsx"
import { Outcome } from "../parts/Outcome.tsx"
import { Panel } from "../parts/Panel.tsx"
import { TaskProblem } from "../parts/ProblemNote.tsx"
import { SecretForm } from "../parts/SecretForm.tsx"
import { TaskForm } from "../parts/TaskForm.tsx"
import { Session } from "../Session.ts"
import { snippets } from "../Snippets.ts"
import { useTask } from "../useTask.ts"
import { Assigned, type GuardrailsAndKeys } from "./Assigned.tsx"
import { CreateGuardrail, CreateKey } from "./CreateForms.tsx"

const load = Effect.gen(function* () {
  const gateway = yield* ManagementGateway
  const [guardrails, keys] = yield* Effect.all(
    [gateway.listGuardrails({ limit: 100 }), gateway.listKeys({ limit: 100 })],
    { concurrency: 2 }
  )
  return { guardrails: guardrails.data, keys: keys.data.filter(({ is_management_key }) => !is_management_key) }
})

const enter = (key: Redacted.Redacted<string>) =>
  Effect.gen(function* () {
    const session = yield* Session
    yield* session.setManagementKey(key)
    return yield* Effect.onError(load, () => session.removeManagementKey)
  })

export const GuardrailPanel = ({
  active,
  hasManagementKey
}: {
  readonly active: boolean
  readonly hasManagementKey: boolean
}) => {
  const lists = useTask<GuardrailsAndKeys>("guardrail")
  const assignment = useTask<Guardrails.AssignResponse>("guardrail")
  const [loaded, setLoaded] = useState<GuardrailsAndKeys>()
  const [guardrailId, setGuardrailId] = useState("")
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [others, setOthers] = useState("")

  useEffect(() => {
    if (lists.state._tag === "Done") setLoaded(lists.state.value)
  }, [lists.state])
  useEffect(() => {
    if (!hasManagementKey) setLoaded(undefined)
  }, [hasManagementKey])

  const guardrail = loaded?.guardrails.find(({ id }) => id === guardrailId) ?? loaded?.guardrails[0]

  const submit = () => {
    if (guardrail === undefined) return assignment.reject("Create a guardrail first.")
    const keys = (loaded?.keys ?? []).map(({ hash }) => hash).filter((hash) => chosen.has(hash))
    const [first, ...rest] = [...keys, ...others.split(/\s+/).filter((hash) => hash !== "")]
    if (first === undefined) return assignment.reject("Select at least one key, or enter its hash.")
    assignment.run(
      Effect.gen(function* () {
        const gateway = yield* ManagementGateway
        const response = yield* gateway.assignKeys(guardrail.id, { key_hashes: [first, ...rest] })
        lists.run(load)
        return response
      })
    )
  }

  return (
    <Panel
      id="guardrail"
      title="Guardrails"
      lead="Assigns keys to a guardrail, which limits their total spending and the models they can use. A key has at most one guardrail, and a new assignment replaces it."
      code={snippets.guardrail}
      active={active}
    >
      {loaded === undefined || !hasManagementKey ? (
        <div className="card">
          <SecretForm
            label="Management key"
            hint="It begins with mg_mk_. It stays in this page's memory until you close or reload the page."
            button="Use this key"
            busy={lists.running}
            onKey={(key) => lists.run(enter(key))}
          />
          <TaskProblem task={lists} />
        </div>
      ) : (
        <>
          <div className="pair">
            <CreateGuardrail
              onCreated={(created) => {
                // Do not wait for the new list, so that Assign uses the new guardrail at once.
                setLoaded((before) => before && { ...before, guardrails: [created, ...before.guardrails] })
                setGuardrailId(created.id)
                assignment.dismiss()
                lists.run(load)
              }}
            />
            <CreateKey
              onCreated={(created) => {
                // Do not wait for the new list, so that rows do not move later, under the pointer.
                setLoaded((before) => before && { ...before, keys: [created, ...before.keys] })
                lists.run(load)
              }}
            />
          </div>
          <TaskForm task={assignment} label="Assign" onSubmit={submit} running="Assigning …">
            <Field label="Guardrail">
              {(ids) => (
                <select {...ids} value={guardrail?.id ?? ""} onChange={(event) => setGuardrailId(event.target.value)}>
                  {loaded.guardrails.length === 0 ? <option value="">none yet</option> : null}
                  {loaded.guardrails.map((each) => (
                    <option key={each.id} value={each.id}>
                      {describe(each)}
                    </option>
                  ))}
                </select>
              )}
            </Field>
            <fieldset>
              <legend>Keys</legend>
              <ul className="keys">
                {loaded.keys.map((key) => (
                  <li key={key.hash}>
                    <label>
                      <input
                        type="checkbox"
                        checked={chosen.has(key.hash)}
                        onChange={(event) => {
                          const next = new Set(chosen)
                          if (event.target.checked) next.add(key.hash)
                          else next.delete(key.hash)
                          setChosen(next)
                        }}
                      />
                      <span>
                        <strong>{key.name}</strong> <code>{key.label}</code>
                        <span className="hint">{guardrailOf(key, loaded.guardrails)}</span>
                      </span>
                    </label>
                  </li>
                ))}
              </ul>
            </fieldset>
            <Field
              label="Other keys, by their hashes"
              hint="One per line. Hashes that match no key are reported as not found."
            >
              {(ids) => (
                <textarea
                  {...ids}
                  rows={2}
                  spellCheck={false}
                  value={others}
                  onChange={(event) => setOthers(event.target.value)}
                />
              )}
            </Field>
          </TaskForm>
          <Outcome task={assignment}>
            <TaskProblem task={lists} />
            {assignment.state._tag === "Done" ? <Assigned response={assignment.state.value} lists={loaded} /> : null}
          </Outcome>
        </>
      )}
    </Panel>
  )
}

const describe = ({ limit_usd, name, reset_interval }: Guardrails.Guardrail): string =>
  `${name} (${limit_usd === null ? "no limit" : `${credits(limit_usd)}${period(reset_interval)}`})`

const guardrailOf = (key: Keys.Key, guardrails: ReadonlyArray<Guardrails.Guardrail>): string =>
  key.guardrail_id === null
    ? " no guardrail"
    : ` guardrail ${guardrails.find(({ id }) => id === key.guardrail_id)?.name ?? key.guardrail_id}`
