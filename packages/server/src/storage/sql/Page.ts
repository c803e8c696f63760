/**
 * Pages of a list.
 *
 * API lists continue after a named item ({@link Slice}): the database finds the item by an index,
 * so every page costs the same. Reports page by offset ({@link Page}).
 */
import { Data, Effect } from "effect"
import type { Row } from "effect/sql/SqlConnection"
import * as Dialect from "./Dialect.ts"

/**
 * At most `limit` items (default 100, at most 1000) after the item named `after` (default: from the
 * start).
 */
export interface SliceRequest {
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

/** The items, and whether more follow. */
export interface Slice<A> {
  readonly items: ReadonlyArray<A>
  readonly hasMore: boolean
}

/** `after` names no item of the list (status 400). */
export class UnknownCursor extends Data.TaggedError("UnknownCursor")<{ readonly after: string }> {
  override readonly message = "`after` names no item of the list."
}

/**
 * The position in a list after which a slice starts. Items are ordered by creation time, then by
 * name.
 */
export interface Place {
  readonly createdAt: number
  readonly name: string
}

/** Before the first item of a list in newest-first order. */
export const newestFirst: Place = { createdAt: Number.MAX_SAFE_INTEGER, name: "" }

/** Before the first item of a list in oldest-first order. */
export const oldestFirst: Place = { createdAt: -1, name: "" }

/**
 * The position of the item named `after`, or the start. `select` reads the item's `created_at` if
 * it is in the list.
 */
export const placeOf = <E>(
  start: Place,
  request: SliceRequest | undefined,
  select: (after: string) => Effect.Effect<ReadonlyArray<Row>, E>
): Effect.Effect<Place, E | UnknownCursor> => {
  const after = request?.after
  if (after === undefined) return Effect.succeed(start)
  return Effect.flatMap(select(after), ([row]) =>
    row === undefined
      ? Effect.fail(new UnknownCursor({ after }))
      : Effect.succeed({ createdAt: Dialect.int(row, "created_at"), name: after })
  )
}

/** The `limit` of a {@link SliceRequest}. Query one more row to learn whether more follow. */
export const limitOf = (request: SliceRequest | undefined): number => clamp(request?.limit ?? 100, 1, 1000)

/** Makes a slice from the rows of a query with `limit` + 1. */
export const slice = <Row, A>(rows: ReadonlyArray<Row>, limit: number, read: (row: Row) => A): Slice<A> => ({
  items: rows.slice(0, limit).map(read),
  hasMore: rows.length > limit
})

/** At most `limit` items (default 100, at most 1000) after skipping `offset` (default 0). */
export interface PageRequest {
  readonly offset?: number | undefined
  readonly limit?: number | undefined
}

/** The items, and the `total` number of items in the list. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly total: number
}

/** The limits applied to a request: whole numbers, `limit` from 1 to 1000, `offset` from 0. */
export const bounds = (request: PageRequest | undefined): { readonly offset: number; readonly limit: number } => ({
  offset: clamp(request?.offset ?? 0, 0, Number.MAX_SAFE_INTEGER),
  limit: clamp(request?.limit ?? 100, 1, 1000)
})

const clamp = (value: number, least: number, most: number): number =>
  Math.min(most, Math.max(least, Math.trunc(Number.isNaN(value) ? least : value)))
