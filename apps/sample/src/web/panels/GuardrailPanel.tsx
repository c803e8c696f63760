/** Guardrails and keys, managed by a management key, which never leaves the page's memory. */
import type { Guardrails, Keys } from "@model-gateway/core"
import { Effect, type Redacted } from "effect"
import { useEffect, useState } from "react"
import { ManagementGateway } from "../../Program.ts"
import { credits, period } from "../../Words.ts"
import { Field } from "../parts/Field.tsx"
import { Outcome } from "../parts/Outcome.tsx"
import { Panel } from "../parts/Panel.tsx"
import { TaskProblem } from "../parts/ProblemNote.tsx"
import { SecretForm } from "../parts/SecretForm.tsx"
import { TaskForm } from "../parts/TaskForm.tsx"
import { Session } from "../Session.ts"
import { snippets } from "../Snippets.ts"
import { useTask } from "../useTask.ts"
import { Assigned, type Holdings } from "./Assigned.tsx"
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
    yield* session.manage(key)
    return yield* Effect.onError(load, () => session.unmanage)
  })

export const GuardrailPanel = ({ active, manages }: { readonly active: boolean; readonly manages: boolean }) => {
  const holdings = useTask<Holdings>("guardrail")
  const assignment = useTask<Guardrails.AssignResponse>("guardrail")
  const [known, setKnown] = useState<Holdings>()
  const [guardrailId, setGuardrailId] = useState("")
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [others, setOthers] = useState("")

  useEffect(() => {
    if (holdings.state._tag === "Done") setKnown(holdings.state.value)
  }, [holdings.state])
  useEffect(() => {
    if (!manages) setKnown(undefined)
  }, [manages])

  const guardrail = known?.guardrails.find(({ id }) => id === guardrailId) ?? known?.guardrails[0]

  const submit = () => {
    if (guardrail === undefined) return assignment.refuse("There is no guardrail yet: create one first.")
    const keys = (known?.keys ?? []).map(({ hash }) => hash).filter((hash) => chosen.has(hash))
    const [first, ...rest] = [...keys, ...others.split(/\s+/).filter((hash) => hash !== "")]
    if (first === undefined) return assignment.refuse("Select at least one key, or enter its hash.")
    assignment.run(
      Effect.gen(function* () {
        const gateway = yield* ManagementGateway
        const response = yield* gateway.assignKeys(guardrail.id, { key_hashes: [first, ...rest] })
        holdings.run(load)
        return response
      })
    )
  }

  return (
    <Panel
      id="guardrail"
      title="Guardrails"
      lead="Assigns keys to a guardrail, which limits what they spend together and which models they may use. A key has at most one guardrail; a new assignment replaces it."
      code={snippets.guardrail}
      active={active}
    >
      {known === undefined || !manages ? (
        <div className="card">
          <SecretForm
            label="Management key"
            hint="It begins with mg_mk_. It stays in this page's memory until you close or reload the page."
            button="Use this key"
            busy={holdings.running}
            onKey={(key) => holdings.run(enter(key))}
          />
          <TaskProblem task={holdings} />
        </div>
      ) : (
        <>
          <div className="pair">
            <CreateGuardrail
              onCreated={(created) => {
                // Before the new list arrives, so that Assign never means another guardrail.
                setKnown((before) => before && { ...before, guardrails: [created, ...before.guardrails] })
                setGuardrailId(created.id)
                assignment.dismiss()
                holdings.run(load)
              }}
            />
            <CreateKey
              onCreated={(created) => {
                // At once too, so that the row under the pointer stays where it is.
                setKnown((before) => before && { ...before, keys: [created, ...before.keys] })
                holdings.run(load)
              }}
            />
          </div>
          <TaskForm task={assignment} label="Assign" onSubmit={submit} running="Assigning …">
            <Field label="Guardrail">
              {(ids) => (
                <select {...ids} value={guardrail?.id ?? ""} onChange={(event) => setGuardrailId(event.target.value)}>
                  {known.guardrails.length === 0 ? <option value="">none yet</option> : null}
                  {known.guardrails.map((each) => (
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
                {known.keys.map((key) => (
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
                        <span className="hint">{guardrailOf(key, known.guardrails)}</span>
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
            <TaskProblem task={holdings} />
            {assignment.state._tag === "Done" ? <Assigned response={assignment.state.value} holdings={known} /> : null}
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
