/** A card for each provider: whether it works, since when it does not, and the figures of 24 hours. */
import { type ReactNode, useMemo } from "react"
import { Badge } from "../parts/Badge.tsx"
import { count, percent, time } from "../parts/format.ts"
import { Empty, Loaded } from "../parts/Loaded.tsx"
import { Icon } from "../parts/Icon.tsx"
import { Time } from "../parts/Time.tsx"
import { PageLink } from "../shell/PageLink.tsx"
import { usePageSearch, useSetSearch } from "../shell/navigation.ts"
import { Milliseconds, NextCall } from "./models/Health.tsx"
import { useHealth } from "./models/offers.ts"
import { Down } from "./providers/Down.tsx"
import { ProviderDetails } from "./providers/ProviderDetails.tsx"
import { credentialOf, type Provider, providersOf, slowestOf, stateOf, sumOf } from "./providers/states.ts"
import "./providers.css"

const spans = [
  ["5m", "5 min", 300_000],
  ["1h", "1 hour", 3_600_000],
  ["1d", "24 hours", 86_400_000]
] as const

/** The spans that the process has run for. The time since its start replaces all longer ones. */
const spansSince = (start: string) => {
  const age = Date.now() - Date.parse(start)
  const whole = spans.filter(([, , length]) => length <= age)
  const first = spans[whole.length]
  return first === undefined ? whole : [...whole, [first[0], "since start", age] as const]
}

/** The models that are not called. Their names are cut if there are many. */
const Stopped = ({ provider }: { readonly provider: Provider }) => {
  const { endpoints, stopped } = provider
  if (stopped.length === 0) return null
  return (
    <p className="stopped">
      It is <Down provider={provider} />.{" "}
      {provider.retryAt !== undefined && (
        <>
          <NextCall at={provider.retryAt} />.{" "}
        </>
      )}
      {stopped.length < endpoints.length &&
        stopped
          .slice(0, 3)
          .map(({ model }) => model)
          .join(", ") + (stopped.length > 3 ? ` and ${count(stopped.length - 3)} more` : "")}
    </p>
  )
}

const Spans = ({ provider, start }: { readonly provider: Provider; readonly start: string }) => (
  <table className="spans">
    <thead>
      <tr>
        <th scope="col">
          <span className="sr">Time</span>
        </th>
        <th scope="col">Calls</th>
        <th scope="col">Success</th>
        <th scope="col">p50</th>
        <th scope="col">p95</th>
      </tr>
    </thead>
    <tbody>
      {spansSince(start).map(([span, title]) => {
        const { calls, rate } = sumOf(provider, span)
        return (
          <tr key={span}>
            <th scope="row">{title}</th>
            <td>{count(calls)}</td>
            <td>{rate === undefined ? "–" : percent(rate)}</td>
            <td>
              <Milliseconds value={slowestOf(provider, span, "p50_ms")} />
            </td>
            <td>
              <Milliseconds value={slowestOf(provider, span, "p95_ms")} />
            </td>
          </tr>
        )
      })}
    </tbody>
  </table>
)

const Card = ({
  onOpen,
  provider,
  start
}: {
  readonly provider: Provider
  /** When the process started. */
  readonly start: string
  readonly onOpen: () => void
}) => {
  const state = stateOf(provider)
  const credential = credentialOf(provider)
  const { endpoints } = provider
  return (
    <article className="card provider" data-tone={state.tone} aria-label={provider.name}>
      <header className="bar">
        <h2>
          <button type="button" className="open-card" onClick={onOpen}>
            {provider.name}
          </button>
        </h2>
        <span className="end">
          <Badge tone={state.tone}>{state.word}</Badge>
        </span>
      </header>
      <Stopped provider={provider} />
      {sumOf(provider, "1d").calls > 0 && <Spans provider={provider} start={start} />}
      <p className="bar">
        <span className="hint">Credential</span>
        <Badge tone={credential.tone}>{credential.word}</Badge>
        <span className="hint end">
          {count(endpoints.length)} {endpoints.length === 1 ? "model" : "models"}
        </span>
      </p>
    </article>
  )
}

/** What needs attention, before all figures. */
const AllDown = ({ providers }: { readonly providers: ReadonlyArray<Provider> }) => {
  const down = providers.filter(({ stopped }) => stopped.length > 0)
  if (down.length === 0) return null
  return (
    <div className="problem" role="status">
      <Icon name="warning" />
      <ul>
        {down.map((provider) => (
          <li key={provider.name}>
            <PageLink page="providers" search={{ id: provider.name }}>
              {provider.name}
            </PageLink>{" "}
            is <Down provider={provider} />.
          </li>
        ))}
      </ul>
    </div>
  )
}

const Providers = (): ReactNode => {
  const health = useHealth()
  const { id } = usePageSearch("providers")
  const set = useSetSearch("providers")
  const providers = useMemo(() => providersOf(health.data?.data ?? []), [health.data])
  const used = providers.filter((provider) => stateOf(provider).word !== "No credential")
  const called = used.filter((provider) => sumOf(provider, "1d").calls > 0 || provider.stopped.length > 0)
  const others = used.filter((provider) => !called.includes(provider))
  const unused = providers.filter((provider) => !used.includes(provider))
  return (
    <Loaded value={health} what="The health of the providers" rows={12}>
      {({ instance }) =>
        providers.length === 0 ? (
          <Empty title="The gateway offers no models, so there are no providers.">
            <p>
              Give it the key of a provider and start it again: <code>COHERE_API_KEY=… model-gateway serve</code>
            </p>
          </Empty>
        ) : (
          <>
            <p>
              The figures count the calls of the process <code>{instance.id}</code> since it started at{" "}
              {time(instance.started_at)} UTC (<Time at={instance.started_at} ago />
              ), whatever the range at the top. Of a provider with several models, p50 and p95 are those of the slowest
              one. Calls with provider keys of callers are not counted.
            </p>
            <AllDown providers={used} />
            {[called, others].map(
              (cards, index) =>
                cards.length > 0 && (
                  <div key={index} className="cards">
                    {cards.map((provider) => (
                      <Card
                        key={provider.name}
                        provider={provider}
                        start={instance.started_at}
                        onOpen={() => void set({ id: provider.name })}
                      />
                    ))}
                  </div>
                )
            )}
            {unused.length > 0 && (
              <details className="unused">
                <summary>
                  {count(unused.length)} {unused.length === 1 ? "provider" : "providers"} without a credential of the
                  gateway
                </summary>
                <p className="hint">Requests use them only with provider keys of their callers.</p>
                <ul className="bar">
                  {unused.map(({ name }) => (
                    <li key={name}>
                      <PageLink page="providers" search={{ id: name }}>
                        {name}
                      </PageLink>
                    </li>
                  ))}
                </ul>
              </details>
            )}
            {id !== undefined && (
              <ProviderDetails
                id={id}
                provider={providers.find(({ name }) => name === id)}
                onClose={() => void set({ id: undefined })}
              />
            )}
          </>
        )
      }
    </Loaded>
  )
}

export default Providers
