/** The result of an assignment. */
import type { Guardrails, Keys } from "@model-gateway/core"

/** The guardrails and keys to choose from. */
export interface GuardrailsAndKeys {
  readonly guardrails: ReadonlyArray<Guardrails.Guardrail>
  readonly keys: ReadonlyArray<Keys.Key>
}

interface Props {
  readonly response: Guardrails.AssignResponse
  readonly lists: GuardrailsAndKeys
}

export const Assigned = ({ lists, response }: Props) => {
  const { assigned_count, not_found = [], replaced = [] } = response
  const keyName = (hash = "unknown") => lists.keys.find((key) => key.hash === hash)?.name ?? hash
  const guardrailName = (id = "unknown") => lists.guardrails.find((guardrail) => guardrail.id === id)?.name ?? id
  return (
    <div className="card" role="status">
      <h3>
        {assigned_count === 0
          ? "No key was assigned"
          : assigned_count === 1
            ? "Guardrail assigned to 1 key"
            : `Guardrail assigned to ${assigned_count} keys`}
      </h3>
      {replaced.length === 0 ? null : (
        <>
          <h4>Replaced</h4>
          <ul>
            {replaced.map(({ key_hash, previous_guardrail_id }) => (
              <li key={key_hash}>
                <span className="long">{keyName(key_hash)}</span> had the guardrail{" "}
                <span className="long">{guardrailName(previous_guardrail_id)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      {not_found.length === 0 ? null : (
        <>
          <h4>Not found</h4>
          <ul>
            {not_found.map((hash) => (
              <li key={hash}>
                <code className="long">{hash}</code>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}
