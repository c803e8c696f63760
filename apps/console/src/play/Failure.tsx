/** A failed request: the gateway's sentence, then what to do. */
import { useEffect, useState } from "react"
import type { ApiError } from "../api/http.ts"
import { Id } from "../parts/Copy.tsx"
import { sentence } from "../parts/format.ts"
import { Icon } from "../parts/Icon.tsx"
import { Issues } from "../parts/Problem.tsx"
import { adviceOf, classOf, isRepeatable } from "./shared/advice.ts"

/** The statuses after which the page counts down until the request may be repeated. */
const counted = new Set([429, 529])

const useCountdown = (seconds: number): number => {
  const [left, setLeft] = useState(seconds)
  useEffect(() => {
    const end = performance.now() + seconds * 1000
    const timer = setInterval(() => {
      const next = Math.max(0, Math.ceil((end - performance.now()) / 1000))
      setLeft(next)
      if (next === 0) clearInterval(timer)
    }, 200)
    return () => clearInterval(timer)
  }, [seconds])
  return left
}

const Repeat = ({ error, onRepeat }: { readonly error: ApiError; readonly onRepeat: () => void }) => {
  const wait = counted.has(error.status) ? Math.ceil(error.retryAfter ?? 1) : 0
  const left = useCountdown(wait)
  return (
    <p className="bar">
      <button type="button" disabled={left > 0} onClick={onRepeat}>
        <Icon name="refresh" />
        {left > 0 ? `Run again in ${left} s` : "Run again"}
      </button>
      {wait > 0 && (
        <span className="hint" role="status">
          {left > 0 ? "The gateway asks to wait." : "You can run it again now."}
        </span>
      )}
    </p>
  )
}

export const Failure = ({ error, onRepeat }: { readonly error: ApiError; readonly onRepeat?: () => void }) => (
  <div className="problem" role="alert">
    <Icon name="warning" />
    <div>
      <strong className="sentence">{sentence(error.message)}</strong>
      <Issues of={error} />
      <p>{adviceOf(error)}</p>
      {onRepeat !== undefined && isRepeatable(error.status) && (
        <Repeat key={error.requestId} error={error} onRepeat={onRepeat} />
      )}
      <details>
        <summary>Details</summary>
        <dl className="facts">
          <dt>Status</dt>
          <dd>{error.status === 0 ? "none: no answer arrived" : error.status}</dd>
          <dt>Class</dt>
          <dd>
            <code>{classOf(error.status)}</code> of <code>@model-gateway/core</code>
          </dd>
          {error.requestId !== undefined && (
            <>
              <dt>Request id</dt>
              <dd>
                <Id id={error.requestId} what="the request id" full />
              </dd>
            </>
          )}
        </dl>
      </details>
    </div>
  </div>
)
