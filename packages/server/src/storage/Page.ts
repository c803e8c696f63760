/** A stretch of a longer list, as every listing of this service answers it. */

/** Which stretch: at most `limit` items (default 100, at most 1000) after skipping `offset` (default 0). */
export interface PageRequest {
  readonly offset?: number | undefined
  readonly limit?: number | undefined
}

/** `items` of the stretch, and how many there are in `total`. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly total: number
}

/** The bounds applied to a request: whole numbers, `limit` from 1 to 1000, `offset` from 0. */
export const bounds = (request: PageRequest | undefined): { readonly offset: number; readonly limit: number } => ({
  offset: clamp(request?.offset ?? 0, 0, Number.MAX_SAFE_INTEGER),
  limit: clamp(request?.limit ?? 100, 1, 1000)
})

const clamp = (value: number, least: number, most: number): number =>
  Math.min(most, Math.max(least, Math.trunc(Number.isNaN(value) ? least : value)))
