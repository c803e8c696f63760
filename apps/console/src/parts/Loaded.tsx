/** What a page shows of a read: rows that wait, an error, nothing, or the answer. */
import type { ReactNode } from "react"
import { ApiError } from "../api/http.ts"
import { Problem } from "./Problem.tsx"

interface Reading<A> {
  readonly data: A | undefined
  readonly error: Error | null
  readonly isFetching: boolean
  readonly isPlaceholderData: boolean
  readonly refetch: () => unknown
}

/** Rows of the final height. They appear after 150 ms. */
export const Skeleton = ({ rows }: { readonly rows: number }) => (
  <div className="skeleton" role="status" aria-label="Loading">
    {Array.from({ length: rows }, (_, index) => (
      <div key={index} />
    ))}
  </div>
)

/** Nothing to show: one sentence, and one action or command. */
export const Empty = ({ children, title }: { readonly title: string; readonly children?: ReactNode }) => (
  <div className="empty">
    <p>{title}</p>
    {children}
  </div>
)

export const Loaded = <A,>({
  children,
  rows = 8,
  value,
  what
}: {
  readonly value: Reading<A>
  /** What is read, such as "The keys". */
  readonly what: string
  /** Rows of the skeleton. */
  readonly rows?: number
  readonly children: (data: A) => ReactNode
}) => (
  <>
    {value.error !== null && (
      <Problem what={`${what} could not be read`} error={value.error}>
        <button type="button" onClick={() => value.refetch()}>
          Try again
        </button>
        <p className="hint">
          {value.data !== undefined
            ? "Below is what was read before."
            : value.error instanceof ApiError && value.error.status === 0
              ? "The other pages need the gateway, too. This page stays as it is until it answers."
              : "The rest of the console does not depend on it."}
        </p>
      </Problem>
    )}
    {value.data === undefined ? (
      value.error === null && <Skeleton rows={rows} />
    ) : (
      <div className="loaded" data-stale={value.isPlaceholderData} aria-busy={value.isFetching}>
        {children(value.data)}
      </div>
    )}
  </>
)
