/** Wire parameters of lists that page by `after` and `limit`. */
import { Effect } from "effect"
import { UnknownCursor } from "../storage/sql/Page.ts"
import { invalid } from "../internal/Issues.ts"

/** The requested page. */
export interface Cursor {
  readonly after?: string
  readonly limit?: number
}

const unknownCursor = invalid(
  [{ path: "after", message: "Expected the id of an item in the list" }],
  "after: there is no such item in the list"
)

/** Maps an unknown `after` to a 400. */
export const rejectUnknownCursor = <A, E, R>(list: Effect.Effect<A, E, R>) =>
  Effect.catchIf(
    list,
    (error: E): error is Extract<E, UnknownCursor> => error instanceof UnknownCursor,
    () => Effect.fail(unknownCursor)
  )

/** A page as the wire has it: its items, and the `after` of the next page. */
export const toWire = <A, B>(
  { items, next }: { readonly items: ReadonlyArray<A>; readonly next: string | undefined },
  toItem: (item: A) => B
) => ({ data: items.map(toItem), has_more: next !== undefined, next: next ?? null })
