/** The models at their providers in the order in which they are tried, and what a request costs. */
import { type ReactNode, useMemo } from "react"
import { useRead } from "../api/hooks.ts"
import { CheckField } from "../parts/Fields.tsx"
import { FilterSelect, FilterText } from "../parts/Filter.tsx"
import { count, time } from "../parts/format.ts"
import { Empty, Loaded } from "../parts/Loaded.tsx"
import { simulatedStatus } from "../parts/simulators.ts"
import { type Column, Table } from "../parts/Table.tsx"
import { Time } from "../parts/Time.tsx"
import { PageLink } from "../shell/PageLink.tsx"
import { usePageSearch, useSetSearch } from "../shell/navigation.ts"
import { CircuitBadge, Milliseconds, Success } from "./models/Health.tsx"
import { ModelDetails } from "./models/ModelDetails.tsx"
import { type Model, type Offer, useHealth, useOffers } from "./models/offers.ts"
import { Price, sortablePrice } from "./models/prices.tsx"
import "./models.css"

const kinds = [
  ["rerank", "Rerank"],
  ["transcription", "Transcription"],
  ["video", "Video"]
] as const

const columns: ReadonlyArray<Column<Offer>> = [
  {
    key: "model",
    title: "Model",
    width: "minmax(13rem, 2fr)",
    cell: ({ model }) => <span title={`${model.id}: ${model.name}`}>{model.id}</span>,
    sort: ({ model }) => model.id
  },
  {
    key: "place",
    title: "Tried",
    width: "4rem",
    cell: ({ model, place }) => (model.providers.length === 1 ? "only" : `${place} of ${model.providers.length}`)
  },
  {
    key: "provider",
    title: "Provider",
    width: "minmax(6rem, 1fr)",
    cell: ({ provider }) => (
      <PageLink page="providers" search={{ id: provider }}>
        {provider}
      </PageLink>
    ),
    sort: ({ provider }) => provider
  },
  {
    key: "circuit",
    title: "State",
    width: "10.5rem",
    cell: ({ health }) => health !== undefined && <CircuitBadge {...health} />,
    sort: ({ health }) => health?.circuit.state ?? ""
  },
  {
    key: "price",
    title: "Price, credits",
    width: "minmax(11.5rem, 1fr)",
    align: "right",
    cell: ({ endpoint, varies }) => endpoint !== undefined && <Price endpoint={endpoint} varies={varies} />,
    sort: sortablePrice
  },
  {
    key: "success",
    title: "Success, 24 h",
    width: "5.75rem",
    align: "right",
    cell: ({ health }) => <Success span={health?.windows["1d"]} />,
    sort: ({ health }) => health?.windows["1d"].success_rate ?? 2
  },
  {
    key: "p95",
    title: "p95, 24 h",
    width: "4.75rem",
    align: "right",
    cell: ({ health }) => <Milliseconds value={health?.windows["1d"].p95_ms} />,
    sort: ({ health }) => health?.windows["1d"].p95_ms ?? 0
  },
  {
    key: "limit",
    title: "Time limit",
    width: "5rem",
    align: "right",
    cell: ({ health }) => <Milliseconds value={health?.time_limit_ms} />,
    sort: ({ health }) => health?.time_limit_ms ?? 0
  },
  { key: "kind", title: "Kind", width: "6.5rem", cell: ({ model }) => model.kind, sort: ({ model }) => model.kind }
]

const matches = (model: Model, q: string | undefined): boolean => {
  const wanted = q?.toLowerCase() ?? ""
  return [model.id, model.name, ...model.providers].some((text) => text.toLowerCase().includes(wanted))
}

const List = ({ models }: { readonly models: ReadonlyArray<Model> }) => {
  const { id, kind, q, simulators } = usePageSearch("models")
  const set = useSetSearch("models")
  const health = useHealth()
  const matching = useMemo(
    () => models.filter((model) => (kind === undefined || model.kind === kind) && matches(model, q)),
    [models, kind, q]
  )
  const showsSimulators = simulators === "show"
  const shown = useMemo(
    () => (showsSimulators ? matching : matching.filter(({ id }) => simulatedStatus(id) === undefined)),
    [matching, showsSimulators]
  )
  const hidden = matching.length - shown.length
  const showSimulators = (on: boolean) => set({ simulators: on ? "show" : undefined })
  const offers = useOffers(shown, health.data?.data)
  const started = health.data?.instance.started_at
  const opened = models.find((model) => model.id === id)
  return (
    <>
      <div className="bar">
        <FilterText
          label="Search models and providers"
          placeholder="Model or provider"
          value={q}
          onChange={(q) => void set({ q }, { replace: true })}
        />
        <FilterSelect
          label="Kind"
          all="All kinds"
          value={kind}
          options={kinds}
          onChange={(kind) => void set({ kind })}
        />
        <CheckField label="Simulators of errors" checked={showsSimulators} onChange={(on) => void showSimulators(on)} />
        <p className="hint end">
          {count(shown.length)} {shown.length === 1 ? "model" : "models"}, {count(offers.length)}{" "}
          {offers.length === 1 ? "offer" : "offers"}
          {hidden > 0 && `, ${count(hidden)} ${hidden === 1 ? "simulator" : "simulators"} not shown`}
        </p>
      </div>
      {started !== undefined && (
        <p>
          Success and p95 count the calls of one process in the last 24 hours, but none before it started at{" "}
          {time(started)} UTC (<Time at={started} ago />
          ), whatever the range at the top.
        </p>
      )}
      {offers.length === 0 ? (
        <Empty
          title={hidden === 0 ? "No model matches these filters." : "Only simulators of errors match these filters."}
        >
          {hidden === 0 ? (
            <button type="button" onClick={() => void set({ q: undefined, kind: undefined })}>
              Show all models
            </button>
          ) : (
            <button type="button" onClick={() => void showSimulators(true)}>
              Show the simulators
            </button>
          )}
        </Empty>
      ) : (
        <Table
          label="Models and their providers"
          columns={columns}
          rows={offers}
          rowKey={({ model, provider }) => `${model.kind} ${model.id} ${provider}`}
          onOpen={({ model }) => void set({ id: model.id })}
        />
      )}
      {id !== undefined && (
        <ModelDetails id={id} model={opened} health={health.data?.data} onClose={() => void set({ id: undefined })} />
      )}
    </>
  )
}

const Models = (): ReactNode => {
  const models = useRead("GET /models")
  return (
    <Loaded value={models} what="The models" rows={12}>
      {({ data }) =>
        data.length === 0 ? (
          <Empty title="No provider has a credential, so there are no models.">
            <p>
              Give the gateway the key of a provider and start it again. See what it would offer with{" "}
              <code>model-gateway models</code>
            </p>
          </Empty>
        ) : (
          <List models={data} />
        )
      }
    </Loaded>
  )
}

export default Models
