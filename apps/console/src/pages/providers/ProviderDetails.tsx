/** One provider: each of its models with its circuit and figures, and how the latest calls ended. */
import { useState } from "react"
import { useRead } from "../../api/hooks.ts"
import { Badge } from "../../parts/Badge.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { count } from "../../parts/format.ts"
import { type Column, Table } from "../../parts/Table.tsx"
import { Time } from "../../parts/Time.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import { CircuitBadge, CircuitDetail, Milliseconds, Success } from "../models/Health.tsx"
import type { Health } from "../models/offers.ts"
import { credentialOf, type Provider, stateOf } from "./states.ts"

const Failure = ({ failure }: { readonly failure: NonNullable<Health["last_failure"]> }) => (
  <>
    Latest failure: {failure.outcome}
    {failure.status !== undefined && ` (status ${failure.status})`}, <Time at={failure.at} ago />
    {failure.request_id !== null && (
      <>
        , in{" "}
        <PageLink page="requests" search={{ id: failure.request_id }}>
          this request
        </PageLink>
      </>
    )}
    .
  </>
)

/** What is not called, and the latest failure of what is called. */
const Troubles = ({ endpoints }: Pick<Provider, "endpoints">) => {
  const troubled = endpoints.filter(({ circuit, last_failure }) => circuit.state !== "closed" || last_failure !== null)
  if (troubled.length === 0) return null
  return (
    <ul className="lines">
      {troubled.map(({ circuit, kind, last_failure, model }) => (
        <li key={`${kind} ${model}`} className={circuit.state === "closed" ? undefined : "stopped"}>
          <strong>{model}</strong>{" "}
          {circuit.state !== "closed" && (
            <>
              <CircuitDetail circuit={circuit} />.{" "}
            </>
          )}
          {last_failure !== null && <Failure failure={last_failure} />}
        </li>
      ))}
    </ul>
  )
}

const spans = [
  ["1d", "Last 24 hours"],
  ["1h", "Last hour"],
  ["5m", "Last 5 minutes"]
] as const

type Span = (typeof spans)[number][0]

const columnsOf = (span: Span): ReadonlyArray<Column<Health>> => [
  {
    key: "model",
    title: "Model",
    width: "minmax(8.5rem, 1fr)",
    cell: ({ model }) => (
      <PageLink page="models" search={{ id: model }}>
        {model}
      </PageLink>
    ),
    sort: ({ model }) => model
  },
  {
    key: "circuit",
    title: "State",
    width: "7.25rem",
    wraps: true,
    cell: (health) => <CircuitBadge {...health} />,
    sort: ({ circuit }) => circuit.state
  },
  {
    key: "calls",
    title: "Calls",
    width: "3.5rem",
    align: "right",
    cell: ({ windows }) => count(windows[span].calls),
    sort: ({ windows }) => windows[span].calls
  },
  {
    key: "success",
    title: "Success",
    width: "4rem",
    align: "right",
    cell: ({ windows }) => <Success span={windows[span]} />,
    sort: ({ windows }) => windows[span].success_rate ?? 2
  },
  {
    key: "p50",
    title: "p50",
    width: "3.75rem",
    align: "right",
    cell: ({ windows }) => <Milliseconds value={windows[span].p50_ms} />,
    sort: ({ windows }) => windows[span].p50_ms ?? 0
  },
  {
    key: "p95",
    title: "p95",
    width: "3.75rem",
    align: "right",
    cell: ({ windows }) => <Milliseconds value={windows[span].p95_ms} />,
    sort: ({ windows }) => windows[span].p95_ms ?? 0
  },
  {
    key: "last",
    title: "Called",
    width: "4.5rem",
    align: "right",
    cell: ({ last_call }) =>
      last_call !== null && (
        <span title={last_call.outcome}>
          <Time at={last_call.at} ago />
        </span>
      ),
    sort: ({ last_call }) => last_call?.at ?? ""
  }
]

const Figures = ({ provider }: { readonly provider: Provider }) => {
  const [span, setSpan] = useState<Span>("1d")
  return (
    <section className="loaded">
      <div className="bar">
        <h3>Models</h3>
        <span className="end">
          <select
            aria-label="Time of the figures"
            value={span}
            onChange={({ target }) => setSpan(spans.find(([name]) => name === target.value)?.[0] ?? "1d")}
          >
            {spans.map(([name, title]) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </span>
      </div>
      <Table
        label={`Models of ${provider.name}`}
        columns={columnsOf(span)}
        rows={provider.endpoints}
        rowKey={({ kind, model }) => `${kind} ${model}`}
      />
    </section>
  )
}

const declared = (value: boolean | null): string => (value === null ? "not declared" : value ? "yes" : "no")

/** What it declares of the data in requests. */
const DataPolicy = ({ provider }: { readonly provider: string }) => {
  const policy = useRead("GET /providers").data?.data.find(({ slug }) => slug === provider)?.data_policy
  if (policy === undefined) return <p className="hint">It declares nothing of the data in requests.</p>
  return (
    <dl className="facts">
      <dt>Trains models on requests</dt>
      <dd>{declared(policy.training)}</dd>
      <dt>Keeps requests</dt>
      <dd>
        {declared(policy.retains_prompts)}
        {policy.prompt_retention_days !== null && `, ${count(policy.prompt_retention_days)} days`}
      </dd>
    </dl>
  )
}

export const ProviderDetails = ({
  id,
  onClose,
  provider
}: {
  readonly id: string
  /** Undefined: no provider has this name. */
  readonly provider: Provider | undefined
  readonly onClose: () => void
}) => (
  <Dialog kind="side" title={id} onClose={onClose}>
    {provider === undefined ? (
      <p>The gateway has no provider of this name.</p>
    ) : (
      <>
        <p className="bar">
          <Badge tone={stateOf(provider).tone}>{stateOf(provider).word}</Badge>
          <span className="hint">Credential: {credentialOf(provider).word}</span>
          <span className="end">
            <PageLink page="requests" search={{ provider: id }}>
              Requests that ended at this provider
            </PageLink>
          </span>
        </p>
        <Troubles endpoints={provider.endpoints} />
        <Figures provider={provider} />
        <section className="loaded">
          <h3>Data in requests</h3>
          <DataPolicy provider={id} />
        </section>
      </>
    )}
  </Dialog>
)
