/** What is known of a request that was run: status, time, cost, who served it, and its raw text. */
import { useEffect, useState } from "react"
import type { Success } from "../api/Contract.ts"
import { Badge } from "../parts/Badge.tsx"
import { CopyButton, Id } from "../parts/Copy.tsx"
import { count, credits, duration } from "../parts/format.ts"
import { type Exchange, read, requestText, responseText } from "./shared/exchange.ts"

type Generation = Success<"GET /generation">["data"]

/**
 * The id of the request in the request log. A request that no provider was asked for is not there,
 * and a video job is when it has ended.
 */
const logged = ({ requestId, status }: Exchange): string | undefined =>
  status === 200 || status >= 500 ? requestId : undefined

/** Reads the request log. */
const useGeneration = (id: string | undefined): Generation | undefined => {
  const [generation, setGeneration] = useState<Generation>()
  useEffect(() => {
    setGeneration(undefined)
    if (id === undefined) return
    const controller = new AbortController()
    read<Success<"GET /generation">>(`/generation?id=${encodeURIComponent(id)}`, controller.signal).then(
      ({ data }) => setGeneration(data),
      // The facts of the response itself are shown.
      () => {}
    )
    return () => controller.abort()
  }, [id])
  return generation
}

const Attempts = ({ attempts }: { readonly attempts: Generation["attempts"] }) => (
  <ol className="attempts">
    {attempts.map(({ billed, outcome, provider, seconds, status }, index) => (
      <li key={index}>
        <Badge tone={outcome === "Success" ? "good" : "bad"}>
          {provider}: {outcome}
          {status === undefined ? "" : ` (${status})`}
        </Badge>{" "}
        <span className="hint figures">
          {duration(seconds * 1000)}
          {billed === "unknown" && ", billing not known"}
        </span>
      </li>
    ))}
  </ol>
)

/** The most characters of a request or response that are shown. */
const mostShown = 50_000

const RawText = ({ name, text }: { readonly name: string; readonly text: string }) => (
  <div className="code-panel">
    <CopyButton text={text} label={`Copy the ${name.toLowerCase()}`} />
    <pre tabIndex={0}>{text.slice(0, mostShown)}</pre>
    {text.length > mostShown && (
      <p className="hint">
        The first {count(mostShown)} of {count(text.length)} characters. Copy takes all of them.
      </p>
    )}
  </div>
)

/** Its text is made when it is opened. */
const Raw = ({ name, read }: { readonly name: string; readonly read: () => string }) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="raw" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{name}</summary>
      {isOpen && <RawText name={name} text={read()} />}
    </details>
  )
}

export const Facts = ({
  exchange,
  id,
  title
}: {
  readonly exchange: Exchange
  readonly title: string
  /** Its id in the request log, if that is not the request id. */
  readonly id?: string | undefined
}) => {
  const generation = useGeneration(id ?? logged(exchange))
  const { head, ms, requestId, status } = exchange
  return (
    <section className="card" aria-label={title === "" ? "Facts" : `Facts of ${title}`}>
      {title !== "" && <h2>{title}</h2>}
      <dl className="facts figures">
        <dt>Status</dt>
        <dd>
          <Badge tone={status >= 200 && status < 300 ? "good" : "bad"}>{status === 0 ? "no answer" : status}</Badge>
        </dd>
        <dt>Time</dt>
        <dd>{duration(ms)}</dd>
        {requestId !== undefined && (
          <>
            <dt>Request id</dt>
            <dd>
              <Id id={requestId} what="the request id" full />
            </dd>
          </>
        )}
        {generation !== undefined && (
          <>
            <dt>Cost</dt>
            <dd>{credits(generation.total_cost)} credits</dd>
            <dt>Provider</dt>
            <dd>{generation.provider_name ?? "none"}</dd>
            {generation.latency !== null && (
              <>
                <dt>In the gateway</dt>
                <dd>{duration(generation.latency)}</dd>
              </>
            )}
            <dt>Attempts</dt>
            <dd>
              <Attempts attempts={generation.attempts} />
            </dd>
          </>
        )}
      </dl>
      <Raw name="Request" read={() => requestText(exchange)} />
      {head !== "" && <Raw name="Response" read={() => responseText(exchange)} />}
    </section>
  )
}
