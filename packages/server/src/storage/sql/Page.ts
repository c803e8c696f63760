/**
 * Pages of a list.
 *
 * A page starts after a named item ({@link read}). The database finds that place by an index, so
 * every page costs the same, however long the list is. A total is not part of such a page, because
 * counting reads the whole list.
 *
 * A list by time whose filters have no index ({@link readByTime}) looks at a limited number of rows
 * for each page, however few of them match, and says where to continue.
 *
 * The lists whose published form pages by position have a total ({@link readCounted}). Counting and
 * skipping read nothing but an index.
 */
import { Data, Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import type { Fragment } from "effect/sql/Statement"
import * as FailureLog from "../../observability/FailureLog.ts"
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
 * The items of rows. A row that cannot be read is left out, and named in the log, so that it does
 * not hide the others.
 */
export const itemsOf = Effect.fnUntraced(function* <A>(
  rows: ReadonlyArray<Row>,
  item: (row: Row) => A
): Effect.fn.Return<ReadonlyArray<A>> {
  const items: Array<A> = []
  for (const row of rows) {
    try {
      items.push(item(row))
    } catch (error) {
      const message = error instanceof Error ? error.message : "unknown"
      yield* FailureLog.report({
        kind: `row\n${message}`,
        event: "row_unreadable",
        message: `A list leaves out a row of the database that cannot be read: ${message}`,
        annotations: typeof row["id"] === "string" ? { row: row["id"] } : {}
      })
    }
  }
  return items
})

/**
 * Reads one page of a list. Asks for one row more than the page has, to learn whether more follow.
 */
export const read = Effect.fnUntraced(function* <A, E>(
  list: List<A, E>,
  request: Request | undefined
): Effect.fn.Return<Page<A>, E | UnknownCursor> {
  const limit = limitOf(request)
  const rows = yield* list.rows(yield* placeOf(list, request?.after), limit + 1)
  return { items: yield* itemsOf(rows.slice(0, limit), list.item), hasMore: rows.length > limit }
})

/** At most `limit` items after the first `offset` items (default 0). */
export interface OffsetRequest {
  readonly offset?: number | undefined
  readonly limit?: number | undefined
}

/** The items of a page, and the number of items on all pages. */
export interface CountedPage<A> {
  readonly items: ReadonlyArray<A>
  readonly totalCount: number
}

/** A list whose pages {@link readAt} reads. */
export interface OffsetList<A, E> {
  /** At most `limit` rows after the first `offset` rows. */
  readonly rows: (limit: number, offset: number) => Effect.Effect<ReadonlyArray<Row>, E>
  /** Reads an item from its row. */
  readonly item: (row: Row) => A
}

/** A list whose pages {@link readCounted} reads. */
export interface CountedList<A, E> extends OffsetList<A, E> {
  /** One row with the number of items as `total_count`. */
  readonly total: Effect.Effect<ReadonlyArray<Row>, E>
}

/**
 * Reads one page of a list by its position: 100 items by default. Asks for one row more than the
 * page has, to learn whether more follow.
 */
export const readAt = <A, E>(
  { item, rows }: OffsetList<A, E>,
  { limit = 100, offset = 0 }: OffsetRequest = {}
): Effect.Effect<Page<A>, E> =>
  Effect.flatMap(rows(limit + 1, offset), (found) =>
    Effect.map(itemsOf(found.slice(0, limit), item), (items) => ({ items, hasMore: found.length > limit }))
  )

/**
 * Reads one page of a list by its position: 50 items by default, at most 100. Counts only if the
 * page does not show the end.
 */
export const readCounted = Effect.fnUntraced(function* <A, E>(
  { item, rows, total }: CountedList<A, E>,
  request: OffsetRequest | undefined
): Effect.fn.Return<CountedPage<A>, E> {
  const { limit, offset } = rangeOf(request)
  const found = yield* rows(limit, offset)
  const items = yield* itemsOf(found, item)
  if (found.length < limit && (found.length > 0 || offset === 0)) return { items, totalCount: offset + found.length }
  const [counted] = yield* total
  return { items, totalCount: counted === undefined ? 0 : Dialect.int(counted, "total_count") }
})

/**
 * One page of a list that is small enough to be read whole, with the same bounds as
 * {@link readCounted}.
 */
export const ofAll = <A>(all: ReadonlyArray<A>, request: OffsetRequest | undefined): CountedPage<A> => {
  const { limit, offset } = rangeOf(request)
  return { items: all.slice(offset, offset + limit), totalCount: all.length }
}

const rangeOf = (request: OffsetRequest | undefined) => ({
  limit: clamp(request?.limit ?? 50, 1, 100),
  offset: clamp(request?.offset ?? 0, 0, Number.MAX_SAFE_INTEGER)
})

const placeOf = Effect.fnUntraced(function* <A, E>(
  list: List<A, E>,
  after: string | undefined
): Effect.fn.Return<Place, E | UnknownCursor> {
  if (after === undefined) return list.start
  const time = yield* list.createdAt(after)
  return time === undefined ? yield* new UnknownCursor({ after }) : { createdAt: time, name: after }
})

const limitOf = (request: Request | undefined): number => clamp(request?.limit ?? 100, 1, 1000)

const clamp = (value: number, min: number, max: number): number => {
  const integer = Math.trunc(value)
  return Number.isNaN(integer) ? min : Math.min(max, Math.max(min, integer))
}

/** The rows of some workspaces, in the order of a time and then of their key. */
export interface OfWorkspaces {
  readonly table: string
  readonly key: string
  readonly time: string
  readonly order: "ASC" | "DESC"
  readonly where: Fragment
  /** Default: those of all workspaces. */
  readonly workspaceIds: ReadonlyArray<string> | undefined
}

/**
 * The keys of a page of {@link OfWorkspaces}: a statement that reads as many rows of each workspace
 * as the page may have. Each is read in its order from an index that begins with the workspace, so
 * nothing is sorted but these.
 */
export const ofWorkspaces = (sql: SqlClient, { key, order, table, time, where, workspaceIds }: OfWorkspaces) => {
  const ordered = sql.literal(`ORDER BY ${time} ${order}, ${key} ${order}`)
  const name = sql.literal(key)
  const places = sql.literal(`${key}, ${time}`)
  const from = sql.literal(table)
  return (limit: number, offset: number) => {
    if (workspaceIds === undefined) {
      return sql`SELECT ${name} FROM ${from} WHERE ${where} ${ordered} LIMIT ${limit} OFFSET ${offset}`
    }
    const [only, ...others] = workspaceIds
    const end = limit + offset
    const parts = workspaceIds.map(
      (id) => sql`SELECT * FROM (
        SELECT ${places} FROM ${from} WHERE workspace_id = ${id} AND ${where} ${ordered} LIMIT ${end}) one_page`
    )
    return others.length === 0
      ? sql`SELECT ${name} FROM ${from} WHERE workspace_id = ${only ?? ""} AND ${where} ${ordered}
          LIMIT ${limit} OFFSET ${offset}`
      : sql`SELECT ${name} FROM (${sql.join(" UNION ALL ", false)(parts)}) w ${ordered} LIMIT ${limit} OFFSET ${offset}`
  }
}

/** The condition `where`, restricted to rows of these workspaces (default: all). */
export const inWorkspaces = (
  sql: SqlClient,
  where: Fragment,
  workspaceIds: ReadonlyArray<string> | undefined
): Fragment => (workspaceIds === undefined ? where : sql.and([where, sql.in("workspace_id", workspaceIds)]))

/** A cursor that is a time: the page has what is older. */
export const beforeTime = (time: number): string => `before:${time}`

/** The time of a cursor that {@link beforeTime} made. Undefined for another cursor. */
export const timeOf = (cursor: string): number | undefined => {
  const time = /^before:(\d{1,15})$/.exec(cursor)?.[1]
  return time === undefined ? undefined : Number(time)
}

/** Items, newest first. */
export interface ByTime<A> {
  readonly items: ReadonlyArray<A>
  /** The `after` of the next page. Undefined if this is the last one. */
  readonly next: string | undefined
}

/** A list whose pages {@link readByTime} reads: newest first, and those of one time by their `id`. */
export interface TimedList<A> {
  readonly table: string
  /** The column of the time. An index begins with it and `id`, after the columns of `found`. */
  readonly time: string
  /** The first time, and the first one that is too late, in epoch milliseconds. Default: none. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** The values of columns that an index finds. Default: none. */
  readonly found?: Readonly<Record<string, string | undefined>>
  /** Whether few rows have the values of `found`, so that a page may look at all of them. */
  readonly isFew?: boolean
  /** The values of columns that have no index. Undefined: any. */
  readonly equal: Readonly<Record<string, string | number | undefined>>
  /** Whose rows the reader sees. A page continues after one of these, or before a time. */
  readonly visible: Fragment
  /** Those of the visible rows that are wanted. Default: all. */
  readonly wanted?: Fragment
  /** Reads an item from its row. */
  readonly item: (row: Row) => A
}

/** The number of rows that a page of {@link readByTime} looks at. Reading them takes milliseconds. */
export const window = 2000

/** Reads one page of a list by time. */
export const readByTime = Effect.fnUntraced(function* <A>(
  sql: SqlClient,
  { equal, from = 0, item, to = Number.MAX_SAFE_INTEGER, visible, wanted = visible, ...list }: TimedList<A>,
  { after, limit = 100 }: Request = {}
) {
  const [table, time] = [sql.literal(list.table), sql.literal(list.time)]
  const ordered = sql.literal(`ORDER BY ${list.time} DESC, id DESC`)
  const valuesOf = (columns: TimedList<A>["equal"]) =>
    Object.entries(columns).flatMap(([column, value]) => (value === undefined ? [] : [sql`${sql(column)} = ${value}`]))
  const placeAfter = Effect.fnUntraced(function* (cursor: string) {
    const before = timeOf(cursor)
    if (before !== undefined) return { time: before, id: "" }
    const [row] = yield* sql`SELECT ${time} FROM ${table} WHERE id = ${cursor} AND ${visible}`
    return row === undefined
      ? yield* new UnknownCursor({ after: cursor })
      : { time: Dialect.int(row, list.time), id: cursor }
  })
  // An empty id precedes all others, so the bound itself is excluded.
  const start = { time: to, id: "" }
  const cursor = after === undefined ? start : yield* placeAfter(after)
  const place = cursor.time < start.time ? cursor : start
  const found = valuesOf(list.found ?? {})
  const isOlder = sql`(${time}, id) < (${place.time}, ${place.id})`
  // Read first, so that rows that are written meanwhile do not move the end of the page.
  const [row] =
    list.isFew === true
      ? []
      : yield* sql`SELECT ${time} FROM ${table} WHERE ${sql.and([...found, isOlder, sql`${time} >= ${from}`])}
          ${ordered} LIMIT 1 OFFSET ${window - 1}`
  const end = row === undefined ? undefined : Dialect.int(row, list.time)
  const conditions = sql.and([
    ...found,
    isOlder,
    // Postgres estimates the size of a range of times, but not of a range of pairs.
    sql`${time} BETWEEN ${end ?? from} AND ${place.time}`,
    ...valuesOf(equal),
    wanted
  ])
  const rows = yield* sql`SELECT * FROM ${table} WHERE ${conditions} ${ordered} LIMIT ${limit + 1}`
  const page: ByTime<A> = {
    items: yield* itemsOf(rows.slice(0, limit), item),
    next: nextOf(rows[limit - 1], rows.length > limit, end)
  }
  return page
})

/** Where the next page begins: after the last row of this one, or before the time that ends it. */
const nextOf = (last: Row | undefined, hasMore: boolean, end: number | undefined): string | undefined => {
  if (hasMore && last !== undefined) return Dialect.text(last, "id")
  return end === undefined ? undefined : beforeTime(end)
}
