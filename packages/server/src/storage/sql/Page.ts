/**
 * Pages of a list.
 *
 * A page starts after a named item. The database finds that place by an index, so every page costs
 * the same, however long the list is. A total is not part of a page, because counting reads the
 * whole list.
 */
import { Data, Effect } from "effect"
import type { Row } from "effect/sql/SqlConnection"
import * as Dialect from "./Dialect.ts"

/**
 * At most `limit` items (default 100, at most 1000) after the item named `after` (default: from the
 * start).
 */
export interface Request {
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

/** The items, and whether more follow. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly hasMore: boolean
}

/** `after` names no item of the list (status 400). */
export class UnknownCursor extends Data.TaggedError("UnknownCursor")<{ readonly after: string }> {
  override readonly message = "`after` names no item of the list."
}

/** A position in a list. Items are ordered by creation time, then by name. */
export interface Place {
  readonly createdAt: number
  readonly name: string
}

/** Before the first item of a list in newest-first order. */
export const newestFirst: Place = { createdAt: Number.MAX_SAFE_INTEGER, name: "" }

/** Before the first item of a list in oldest-first order. */
export const oldestFirst: Place = { createdAt: -1, name: "" }

/** A list whose pages {@link read} reads. */
export interface List<A, E> {
  /** The start of the list: {@link newestFirst} or {@link oldestFirst}. */
  readonly start: Place
  /** The creation time of the item named `after`, or undefined if the list has no such item. */
  readonly createdAt: (after: string) => Effect.Effect<number | undefined, E>
  /** At most `limit` rows that follow the place, in the order of the list. */
  readonly rows: (place: Place, limit: number) => Effect.Effect<ReadonlyArray<Row>, E>
  /** Reads an item from its row. */
  readonly item: (row: Row) => A
}

/**
 * The `created_at` of the first row, or undefined if there is no row. For {@link List.createdAt}.
 */
export const createdAt = <E>(rows: Effect.Effect<ReadonlyArray<Row>, E>): Effect.Effect<number | undefined, E> =>
  Effect.map(rows, ([row]) => (row === undefined ? undefined : Dialect.int(row, "created_at")))

/**
 * Reads one page of a list. Asks for one row more than the page has, to learn whether more follow.
 */
export const read = Effect.fnUntraced(function* <A, E>(
  list: List<A, E>,
  request: Request | undefined
): Effect.fn.Return<Page<A>, E | UnknownCursor> {
  const limit = limitOf(request)
  const rows = yield* list.rows(yield* placeOf(list, request?.after), limit + 1)
  return { items: rows.slice(0, limit).map(list.item), hasMore: rows.length > limit }
})

const placeOf = Effect.fnUntraced(function* <A, E>(
  list: List<A, E>,
  after: string | undefined
): Effect.fn.Return<Place, E | UnknownCursor> {
  if (after === undefined) return list.start
  const time = yield* list.createdAt(after)
  return time === undefined ? yield* new UnknownCursor({ after }) : { createdAt: time, name: after }
})

const limitOf = (request: Request | undefined): number => {
  const limit = Math.trunc(request?.limit ?? 100)
  return Number.isNaN(limit) ? 1 : Math.min(1000, Math.max(1, limit))
}
