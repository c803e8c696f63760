/** Reads of which a card of the overview is made. */
import { useQueryClient } from "@tanstack/react-query"
import { ApiError } from "../../api/http.ts"
import { listed } from "../../parts/format.ts"
import { Problem } from "../../parts/Problem.tsx"

/** What is read, such as "The keys", and how it went. */
export type Reads = ReadonlyArray<
  readonly [what: string, read: { readonly data: unknown; readonly error: Error | null }]
>

const isForbidden = (error: Error | null) => error instanceof ApiError && error.status === 403

export const areReading = (reads: Reads): boolean =>
  reads.some(([, { data, error }]) => data === undefined && error === null)

/** Whether all was read. */
export const areRead = (reads: Reads): boolean =>
  reads.every(([, { data, error }]) => data !== undefined && error === null)

/** Such as "The keys, guardrails and credits". */
const namesOf = (reads: Reads): string => {
  const names = [...new Set(reads.map(([what]) => what.replace(/^The /, "")))]
  return `The ${listed(names)}`
}

/** What could not be read, or may not be. */
export const NotRead = ({ reads }: { readonly reads: Reads }) => {
  const broken = reads.filter(([, { error }]) => error !== null && !isForbidden(error))
  const problems = [...Map.groupBy(broken, ([, { error }]) => error?.message)]
  const hidden = reads.filter(([, { error }]) => isForbidden(error))
  const queries = useQueryClient()
  const again = () => queries.refetchQueries({ type: "active", predicate: ({ state }) => state.status === "error" })
  return (
    <>
      {problems.map(
        ([message, failed]) =>
          failed[0]?.[1].error != null && (
            <Problem key={message} what={`${namesOf(failed)} could not be read`} error={failed[0][1].error}>
              <button type="button" onClick={() => void again()}>
                Try again
              </button>
            </Problem>
          )
      )}
      {hidden.length > 0 && (
        <p className="hint">Your role may not read {namesOf(hidden).toLowerCase()}. They were not checked.</p>
      )}
    </>
  )
}
