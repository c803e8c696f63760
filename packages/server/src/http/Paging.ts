/**
 * Pages of a list by the name of the item before them, over stores that page by number.
 */
import { BadRequest, phrases } from "@model-gateway/core/GatewayError"
import { Effect } from "effect"
import type { Page, PageRequest } from "../storage/Page.ts"

/** A page as it is asked for on the wire. */
export interface Cursor {
  readonly after?: string
  readonly limit?: number
}

/** A page as it is answered on the wire. */
export interface Slice<A> {
  readonly items: ReadonlyArray<A>
  readonly hasMore: boolean
}

const step = 1000

const unknownCursor = new BadRequest({
  error: {
    message: `${phrases[400]}: after: it names no item of the list`,
    metadata: { issues: [{ path: "after", message: "Expected the name of an item of the list" }] }
  }
})

/** The `limit` items (100 unless told) that come after the one named `after`; a 400 where the list has no such item. */
export const slice = Effect.fnUntraced(function* <A, E, R>(
  { after, limit = 100 }: Cursor,
  nameOf: (item: A) => string,
  list: (page: PageRequest) => Effect.Effect<Page<A>, E, R>
): Effect.fn.Return<Slice<A>, E | BadRequest, R> {
  let offset = 0
  if (after !== undefined) {
    for (let found = false; !found;) {
      const page = yield* list({ offset, limit: step })
      const index = page.items.findIndex((item) => nameOf(item) === after)
      found = index !== -1
      if (!found && offset + page.items.length >= page.total) return yield* unknownCursor
      offset += found ? index + 1 : page.items.length
    }
  }
  const page = yield* list({ offset, limit })
  return { items: page.items, hasMore: offset + page.items.length < page.total }
})
