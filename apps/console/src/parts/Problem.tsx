/** An error: what failed, the gateway's sentence, and the id to report. */
import type { ReactNode } from "react"
import { ApiError } from "../api/http.ts"
import { Id } from "./Copy.tsx"
import { sentence } from "./format.ts"
import { Icon } from "./Icon.tsx"

/** What is wrong with the fields of the request. */
export const Issues = ({ of: { issues } }: { readonly of: ApiError }) =>
  issues.length > 0 && (
    <ul>
      {issues.map(({ message, path }) => (
        <li key={`${path} ${message}`}>
          {path !== "" && <code>{path}: </code>}
          {message}
        </li>
      ))}
    </ul>
  )

export const Problem = ({
  children,
  error,
  what
}: {
  /** What failed, such as "The keys could not be read". */
  readonly what: string
  readonly error: Error
  /** What the person can do. */
  readonly children?: ReactNode
}) => {
  if (error instanceof ApiError && error.reason === "canceled") return null
  const requestId = error instanceof ApiError ? error.requestId : undefined
  return (
    <div className="problem" role="alert">
      <Icon name="warning" />
      <div>
        <p>
          <strong>{what}.</strong> <span className="sentence">{sentence(error.message)}</span>
        </p>
        {error instanceof ApiError && <Issues of={error} />}
        {requestId !== undefined && (
          <p className="hint">
            Request <Id id={requestId} what="the request id" full />
          </p>
        )}
        {children !== undefined && <div className="bar">{children}</div>}
      </div>
    </div>
  )
}
