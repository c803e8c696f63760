/** The preview of a change of a guardrail: which keys have used what it would forbid. */
import { count, counted, credits } from "../../parts/format.ts"
import { Icon } from "../../parts/Icon.tsx"
import { Skeleton } from "../../parts/Loaded.tsx"
import { Problem } from "../../parts/Problem.tsx"
import { type Affected, type Loss, mostKeys, useLosses } from "./losses.ts"
import type { Restriction } from "./restriction.ts"

const Use = ({ isModelForbidden, left, model, provider, requests, usage }: Loss["uses"][number]) => (
  <li>
    <code>{model}</code>
    {provider !== "" && <> at {provider}</>}: {counted(requests, "request")}, {credits(usage)} credits.{" "}
    {isModelForbidden
      ? "The model is forbidden."
      : left.length === 0
        ? "No allowed provider offers it."
        : `Still allowed at ${left.join(", ")}.`}
  </li>
)

export const Losses = ({
  after,
  keys,
  total
}: {
  readonly keys: ReadonlyArray<Affected>
  readonly after: Restriction
  /** The number of all keys that the change concerns. */
  readonly total: number
}) => {
  const { error, isComplete, losses } = useLosses(keys, after)
  return (
    <section className="preview" aria-live="polite">
      <h3>Who loses what</h3>
      {error !== null ? (
        <Problem what="The preview could not be made" error={error} />
      ) : losses === undefined ? (
        <Skeleton rows={2} />
      ) : losses.length === 0 ? (
        <p>None of the keys has used what this forbids.</p>
      ) : (
        <>
          <p className="loses">
            <Icon name="warning" />
            {counted(losses.length, "key")} {losses.length === 1 ? "has" : "have"} used what this forbids:
          </p>
          <ul className="lines">
            {losses.map(({ key, uses }) => (
              <li key={key.hash}>
                <strong>{key.name}</strong>
                <ul>
                  {uses.map((use) => (
                    <Use key={`${use.model} ${use.provider}`} {...use} />
                  ))}
                </ul>
              </li>
            ))}
          </ul>
        </>
      )}
      <p className="hint">
        From the requests of today and the 30 days before{" "}
        {isComplete
          ? `of ${total === 1 ? "the key" : `all ${count(total)} keys`}.`
          : `of ${count(Math.min(keys.length, mostKeys))} of ${count(total)} keys. The others were not looked at.`}
      </p>
    </section>
  )
}
