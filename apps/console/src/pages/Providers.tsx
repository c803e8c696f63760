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
import { ProviderDetails } from "./providers/ProviderDetails.tsx"
import { credentialOf, type Provider, providersOf, slowestOf, stateOf, sumOf } from "./providers/states.ts"
import "./providers.css"

const spans = [
  ["5m", "5 min"],
  ["1h", "1 hour"],
  ["1d", "24 hours"]
] as const

/** The models that are not called. Their names are cut if there are many. */
const Stopped = ({ provider }: { readonly provider: Provider }) => {
  const { endpoints, since, stopped } = provider
  if (stopped.length === 0) return null
  return (
    <p className="stopped">
      {since === undefined ? (
        "Down. Another process opened the circuit."
      ) : (
        <>
          Down since <strong>{time(since)} UTC</strong> (<Time at={since} ago />
          ).
        </>
      )}{" "}
      {provider.retryAt !== undefined && (
        <>
          <NextCall at={provider.retryAt} />.{" "}
        </>
      )}
      {stopped.length === endpoints.length && endpoints.length > 1
        ? `All ${count(endpoints.length)} models.`
        : stopped
            .slice(0, 3)
            .map(({ model }) => model)
            .join(", ") + (stopped.length > 3 ? ` and ${count(stopped.length - 3)} more` : "")}
    </p>
  )
}

const Spans = ({ provider }: { readonly provider: Provider }) => (
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
      {spans.map(([span, title]) => {
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

const Card = ({ onOpen, provider }: { readonly provider: Provider; readonly onOpen: () => void }) => {
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
      {sumOf(provider, "1d").calls > 0 && <Spans provider={provider} />}
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
const Down = ({ providers }: { readonly providers: ReadonlyArray<Provider> }) => {
  const down = providers.filter(({ stopped }) => stopped.length > 0)
  if (down.length === 0) return null
  return (
    <div className="problem" role="status">
      <Icon name="warning" />
      <ul>
        {down.map(({ endpoints, name, since, stopped }) => (
          <li key={name}>
            <PageLink page="providers" search={{ id: name }}>
              {name}
            </PageLink>{" "}
            is down
            {since !== undefined && (
              <>
                {" "}
                since {time(since)} UTC (<Time at={since} ago />)
              </>
            )}
            {stopped.length < endpoints.length
              ? `, for ${count(stopped.length)} of ${count(endpoints.length)} models`
              : ", for all of its models"}
            .
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
            <Down providers={used} />
            {[called, others].map(
              (cards, index) =>
                cards.length > 0 && (
                  <div key={index} className="cards">
                    {cards.map((provider) => (
                      <Card key={provider.name} provider={provider} onOpen={() => void set({ id: provider.name })} />
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
            <p className="hint">
              The calls of the process {instance.id}, since it started at {time(instance.started_at)} UTC. Of a provider
              with several models, p50 and p95 are those of the slowest one. Calls with provider keys of callers are not
              counted.
            </p>
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
