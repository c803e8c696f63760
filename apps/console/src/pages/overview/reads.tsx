/** Reads of which a card of the overview is made. */
import { ApiError } from "../../api/http.ts"

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

/** What could not be read, or may not be. */
export const NotRead = ({ reads }: { readonly reads: Reads }) => {
  const broken = reads.filter(([, { error }]) => error !== null && !isForbidden(error))
  const hidden = reads.filter(([, { error }]) => isForbidden(error)).map(([what]) => what.toLowerCase())
  return (
    <>
      {broken.map(([what, { error }], index) => (
        <p key={index} className="issue">
          {what} could not be read: {error?.message}
        </p>
      ))}
      {hidden.length > 0 && (
        <p className="hint">Your role may not read {[...new Set(hidden)].join(", ")}, which were not checked.</p>
      )}
    </>
  )
}
