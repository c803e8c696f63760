/** The processes that serve the gateway, and the states of their parts. */
import type { Item } from "../../api/Contract.ts"
import { useRead } from "../../api/hooks.ts"
import { Badge, type Tone } from "../../parts/Badge.tsx"
import { Id } from "../../parts/Copy.tsx"
import { Loaded } from "../../parts/Loaded.tsx"
import { Time } from "../../parts/Time.tsx"

type Instance = Item<"GET /instances">

const states: { readonly [S in Instance["status"]]: readonly [Tone, string] } = {
  ready: ["good", "Ready"],
  degraded: ["warning", "Degraded"],
  unavailable: ["bad", "Unavailable"]
}

const State = ({ status }: Pick<Instance, "status">) => {
  const [tone, word] = states[status]
  return <Badge tone={tone}>{word}</Badge>
}

const Process = ({ instance }: { readonly instance: Instance }) => (
  <li className="instance">
    <div className="bar">
      <State status={instance.status} />
      <strong>Version {instance.version ?? "not known"}</strong>
      {instance.worker !== null && <span>Worker {instance.worker}</span>}
      {instance.is_current && <span className="hint">answered this page</span>}
    </div>
    <dl className="facts">
      <dt>Id</dt>
      <dd>
        <Id id={instance.id} what="the id of the instance" full />
      </dd>
      <dt>Started</dt>
      <dd>
        <Time at={instance.started_at} /> UTC (<Time at={instance.started_at} ago />)
      </dd>
      <dt>Last sign of life</dt>
      <dd>
        <Time at={instance.last_heartbeat_at} ago />
      </dd>
      {Object.entries(instance.parts).map(([name, part]) => (
        <div key={name} className="fact">
          <dt>{name.replaceAll("_", " ")}</dt>
          <dd>
            <State status={part.status} /> {part.message}
          </dd>
        </div>
      ))}
      <dt>Parts checked</dt>
      <dd>
        <Time at={instance.checked_at} ago />
      </dd>
    </dl>
  </li>
)

const kinds = { sqlite: "SQLite", postgres: "Postgres" } as const

export const Instances = () => {
  const instances = useRead("GET /instances", {}, { refetchInterval: 5000 })
  return (
    <section className="card" aria-labelledby="instances">
      <h2 id="instances">Instances and database</h2>
      <Loaded value={instances} what="The instances" rows={6}>
        {({ data, database }) => (
          <>
            <ul className="instances">
              {data.map((instance) => (
                <Process key={instance.id} instance={instance} />
              ))}
            </ul>
            <p>
              Database: <strong>{kinds[database.kind]}</strong>, schema version{" "}
              <strong>{database.schema_version}</strong>
            </p>
          </>
        )}
      </Loaded>
    </section>
  )
}
