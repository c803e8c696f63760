/** One provider: each of its models with its circuit and figures, and how the latest calls ended. */
import { useRead } from "../../api/hooks.ts"
import { Badge } from "../../parts/Badge.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { count } from "../../parts/format.ts"
import { type Column, Table } from "../../parts/Table.tsx"
import { Time } from "../../parts/Time.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import { CircuitBadge, Milliseconds, NextCall, Success } from "../models/Health.tsx"
import type { Health } from "../models/offers.ts"
import { credentialOf, type Provider, stateOf } from "./states.ts"

const Call = ({ call }: { readonly call: Health["last_call"] }) =>
  call === null ? (
    <span className="hint">none</span>
  ) : (
    <span title={call.outcome}>
      <Time at={call.at} ago /> {call.outcome}
      {call.status !== undefined && ` ${call.status}`}{" "}
      {call.request_id !== null && (
        <PageLink page="requests" search={{ id: call.request_id }}>
          request
        </PageLink>
      )}
    </span>
  )

const spans = [
  ["5m", "5 min"],
  ["1h", "1 h"],
  ["1d", "24 h"]
] as const

const columns: ReadonlyArray<Column<Health>> = [
  {
    key: "model",
    title: "Model",
    width: "minmax(12rem, 1fr)",
    cell: ({ model }) => (
      <PageLink page="models" search={{ id: model }}>
        {model}
      </PageLink>
    ),
    sort: ({ model }) => model
  },
  {
    key: "circuit",
    title: "Circuit",
    width: "8rem",
    cell: (health) => <CircuitBadge {...health} />,
    sort: ({ circuit }) => circuit.state
  },
  {
    key: "since",
    title: "Open since (UTC)",
    width: "10rem",
    cell: ({ circuit }) => circuit.opened_at !== null && <Time at={circuit.opened_at} />,
    sort: ({ circuit }) => circuit.opened_at ?? ""
  },
  {
    key: "retry",
    title: "Next call",
    width: "13rem",
    cell: ({ circuit }) => circuit.retry_at !== null && <NextCall at={circuit.retry_at} />
  },
  ...spans.flatMap(([span, title]): ReadonlyArray<Column<Health>> => [
    {
      key: `${span} calls`,
      title: `Calls, ${title}`,
      width: "5.5rem",
      align: "right",
      cell: ({ windows }) => count(windows[span].calls),
      sort: ({ windows }) => windows[span].calls
    },
    {
      key: `${span} success`,
      title: "Success",
      width: "4.5rem",
      align: "right",
      cell: ({ windows }) => <Success span={windows[span]} />,
      sort: ({ windows }) => windows[span].success_rate ?? 2
    },
    {
      key: `${span} p50`,
      title: "p50",
      width: "4.5rem",
      align: "right",
      cell: ({ windows }) => <Milliseconds value={windows[span].p50_ms} />,
      sort: ({ windows }) => windows[span].p50_ms ?? 0
    },
    {
      key: `${span} p95`,
      title: "p95",
      width: "4.5rem",
      align: "right",
      cell: ({ windows }) => <Milliseconds value={windows[span].p95_ms} />,
      sort: ({ windows }) => windows[span].p95_ms ?? 0
    }
  ]),
  { key: "last", title: "Latest call", width: "14rem", cell: ({ last_call }) => <Call call={last_call} /> },
  { key: "failure", title: "Latest failure", width: "14rem", cell: ({ last_failure }) => <Call call={last_failure} /> }
]

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
  /** Undefined: there is none of this name. */
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
              Requests at this provider
            </PageLink>
          </span>
        </p>
        <Table
          label={`Models of ${id}`}
          columns={columns}
          rows={provider.endpoints}
          rowKey={({ kind, model }) => `${kind} ${model}`}
        />
        <section className="loaded">
          <h3>Data in requests</h3>
          <DataPolicy provider={id} />
        </section>
      </>
    )}
  </Dialog>
)
