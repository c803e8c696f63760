/** What runs out, the first at the top, with a link to the place where something can be done. */
import { type ReactNode, useState } from "react"
import { Badge } from "../../parts/Badge.tsx"
import { count, counted, credits, percent, relative, time } from "../../parts/format.ts"
import { Skeleton } from "../../parts/Loaded.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import { daysText, rateDays } from "./credits.ts"
import type { Ending } from "./endings.ts"
import { areRead, areReading, NotRead } from "./reads.tsx"
import { useEndings } from "./useEndings.ts"

const day = 86_400_000

/** What runs out within this time is marked. */
const soon = 7 * day

/** How many are shown at first. */
const few = 6

const When = ({ now, of: { at, kind } }: { readonly of: Ending; readonly now: number }) => {
  if (at === 0) return <Badge tone="bad">{kind === "credits" ? "No credits" : "Used up"}</Badge>
  if (at === Infinity) return <Badge tone="warning">Nearly used</Badge>
  return <Badge tone={at - now < soon ? "warning" : "waiting"}>In {daysText((at - now) / day)}</Badge>
}

/** What is left, and what changes it. */
const detailsOf = ({ at, left, limit, perDay, resetsAt }: Ending, now: number): string =>
  left === undefined
    ? `expires at ${time(new Date(at).toISOString()).slice(0, 16)} UTC`
    : [
        limit === undefined
          ? `${credits(left)} credits left`
          : `${credits(left)} of ${credits(limit)} credits left, ${percent(1 - left / limit)} used`,
        ...(perDay === undefined ? [] : [`${credits(perDay)} spent a day`]),
        ...(resetsAt === undefined ? [] : [`resets ${relative(new Date(resetsAt).toISOString(), now)}`])
      ].join(", ")

const Name = ({ of: { id, kind, name } }: { readonly of: Ending }): ReactNode =>
  kind === "credits" ? (
    <>
      Credits of{" "}
      <PageLink page="workspaces" search={{ id }}>
        {name}
      </PageLink>
    </>
  ) : kind === "guardrail" ? (
    <>
      Limit of the guardrail{" "}
      <PageLink page="guardrails" search={{ id }}>
        {name}
      </PageLink>
    </>
  ) : (
    <>
      {kind === "key" ? "Limit of the key " : "The key "}
      <PageLink page="keys" search={{ id }}>
        {name}
      </PageLink>
    </>
  )

export const RunsOut = () => {
  const { endings, now, reads, unchecked } = useEndings()
  const [isLong, setLong] = useState(false)
  return (
    <section className="card attention" aria-labelledby="runs-out">
      <h2 id="runs-out">Runs out first</h2>
      {endings.length > 0 ? (
        <>
          <ol>
            {(isLong ? endings : endings.slice(0, few)).map((ending) => (
              <li key={`${ending.kind} ${ending.id}`}>
                <When of={ending} now={now} />
                <span>
                  <Name of={ending} />
                  <span className="hint figures">{detailsOf(ending, now)}</span>
                </span>
              </li>
            ))}
          </ol>
          {endings.length > few && (
            <button type="button" className="more" aria-expanded={isLong} onClick={() => setLong(!isLong)}>
              {isLong ? `Show the first ${few}` : `Show all ${count(endings.length)}`}
            </button>
          )}
          <p className="hint">Credits and limits: at the rate of the last {rateDays} days.</p>
        </>
      ) : areReading(reads) ? (
        <Skeleton rows={5} />
      ) : (
        areRead(reads) && (
          <p>
            <Badge tone="good">Nothing runs out at the rate of the last {rateDays} days</Badge>
          </p>
        )
      )}
      <NotRead reads={reads} />
      {unchecked > 0 && (
        <p className="hint">
          Of the keys, the 1,000 that used most were checked. {counted(unchecked, "other")}{" "}
          {unchecked === 1 ? "was" : "were"} not.
        </p>
      )}
    </section>
  )
}
