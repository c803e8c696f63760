/** The latest changes of a key. */
import { useRead } from "../../api/hooks.ts"
import { Loaded } from "../../parts/Loaded.tsx"
import { Time } from "../../parts/Time.tsx"
import { Actor } from "../../shell/Links.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import { actionText } from "../audit/actions.ts"

export const KeyChanges = ({ hash }: { readonly hash: string }) => {
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
