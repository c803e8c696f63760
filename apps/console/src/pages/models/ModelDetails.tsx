/** One model: what a request costs at each provider, its offers, and what it can do. */
import { useMemo } from "react"
import { Id } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { duration } from "../../parts/format.ts"
import { type Column, Table } from "../../parts/Table.tsx"
import { Time } from "../../parts/Time.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import { Calculator } from "./Calculator.tsx"
import { CircuitBadge, CircuitDetail, Milliseconds, Success } from "./Health.tsx"
import { abilitiesOf, type Health, type Model, type Offer, useOffers } from "./offers.ts"
import { Price } from "./prices.tsx"

const columns: ReadonlyArray<Column<Offer>> = [
  {
    key: "provider",
    title: "Provider",
    width: "minmax(5rem, 1fr)",
    cell: ({ provider }) => (
      <PageLink page="providers" search={{ id: provider }}>
        {provider}
      </PageLink>
    )
  },
  {
    key: "price",
    title: "Price, credits",
    width: "minmax(7.5rem, 1.5fr)",
    align: "right",
    wraps: true,
    cell: ({ endpoint, varies }) => endpoint !== undefined && <Price endpoint={endpoint} varies={varies} />
  },
  {
    key: "limit",
    title: "Limit",
    width: "3.5rem",
    align: "right",
    cell: ({ health }) => <Milliseconds value={health?.time_limit_ms} />
  },
  {
    key: "circuit",
    title: "State",
    width: "7rem",
    wraps: true,
    cell: ({ health }) => health !== undefined && <CircuitBadge {...health} />
  },
  {
    key: "success",
    title: "24 h",
    width: "3.5rem",
    align: "right",
    cell: ({ health }) => <Success span={health?.windows["1d"]} />
  },
  {
    key: "p50",
    title: "p50",
    width: "3.75rem",
    align: "right",
    cell: ({ health }) => <Milliseconds value={health?.windows["1d"].p50_ms} />
  },
  {
    key: "p95",
    title: "p95",
    width: "3.75rem",
    align: "right",
    cell: ({ health }) => <Milliseconds value={health?.windows["1d"].p95_ms} />
  }
]

const yesNo = (value: boolean): string => (value ? "yes" : "no")

/** What a model can do at one of its providers at least, as pairs of words. */
const factsOf = (
  { expiration_date, kind }: Model,
  offers: ReadonlyArray<Offer>
): ReadonlyArray<readonly [string, string]> => {
  const capabilities = abilitiesOf(offers)
  const { aspect_ratios, audio_formats, max_duration, references, resolutions } = capabilities
  const flags = [
    ["Images as documents", capabilities.image_documents],
    ["Timestamps of words", capabilities.word_timestamps],
    ["Audio", capabilities.generate_audio],
    ["Works without a prompt", capabilities.prompt_optional],
    ["Upscales", capabilities.upscale]
  ] as const
  return [
    ["Operation", kind],
    ...(audio_formats === undefined ? [] : [["Audio formats", audio_formats.join(", ")] as const]),
    ...(resolutions === undefined ? [] : [["Resolutions", resolutions.join(", ")] as const]),
    ...(aspect_ratios === undefined ? [] : [["Aspect ratios", aspect_ratios.join(", ")] as const]),
    ...(max_duration === undefined ? [] : [["Longest video", duration(max_duration * 1000)] as const]),
    ...(references === undefined
      ? []
      : [["References", references.length === 0 ? "none" : references.join(", ")] as const]),
    ...flags.flatMap(([name, value]) => (value === undefined ? [] : [[name, yesNo(value)] as const])),
    ...(expiration_date == null ? [] : [["Ends on", expiration_date] as const])
  ]
}

const OpenCircuits = ({ offers }: { readonly offers: ReadonlyArray<Offer> }) => (
  <>
    {offers.map(
      ({ health, provider }) =>
        health !== undefined &&
        health.circuit.state !== "closed" && (
          <div key={provider} className="problem">
            <div>
              <strong>{provider} is not called for this model.</strong> <CircuitDetail circuit={health.circuit} />.
              {health.last_failure !== null && (
                <>
                  {" "}
                  Last failure: {health.last_failure.outcome}
                  {health.last_failure.status !== undefined && ` (status ${health.last_failure.status})`},{" "}
                  <Time at={health.last_failure.at} ago />.
                </>
              )}
            </div>
          </div>
        )
    )}
  </>
)

const Details = ({ health, model }: { readonly model: Model; readonly health: ReadonlyArray<Health> | undefined }) => {
  const models = useMemo(() => [model], [model])
  const offers = useOffers(models, health)
  return (
    <>
      <p>
        {model.name} <Id id={model.id} what="the id of the model" full />
      </p>
      <OpenCircuits offers={offers} />
      <section className="loaded">
        <h3>What a request costs</h3>
        {/* Its fields start with what the providers can do. */}
        {offers.every(({ endpoint }) => endpoint !== undefined) && <Calculator model={model} offers={offers} />}
      </section>
      <section className="loaded">
        <h3>Providers in the order in which they are tried</h3>
        <Table label="Providers of the model" columns={columns} rows={offers} rowKey={({ provider }) => provider} />
        <p className="hint">
          Up to: the price depends on the request, such as on the resolution. Limit: the longest that a call may take.
          Successes, p50 and p95 are of the last 24 hours, or since the process started if that is less, whatever the
          range at the top.
        </p>
      </section>
      <section className="loaded">
        <h3>What it can do</h3>
        {offers.length > 1 && <p className="hint">At one of its providers at least.</p>}
        <dl className="facts">
          {factsOf(model, offers).map(([name, value]) => (
            <div key={name} className="fact">
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        <p>
          <PageLink page="requests" search={{ model: model.id }}>
            Requests of this model
          </PageLink>
        </p>
      </section>
    </>
  )
}

export const ModelDetails = ({
  health,
  id,
  model,
  onClose
}: {
  readonly id: string
  /** Undefined: no model has this id. */
  readonly model: Model | undefined
  readonly health: ReadonlyArray<Health> | undefined
  readonly onClose: () => void
}) => (
  <Dialog kind="side" title={id} onClose={onClose}>
    {model === undefined ? (
      <p>No provider with a credential offers this model.</p>
    ) : (
      <Details model={model} health={health} />
    )}
  </Dialog>
)
