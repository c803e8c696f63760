/** What the lists that page by `after` and `limit` have in common on the wire. */
import { BadRequest, phrases } from "@model-gateway/core/GatewayError"
import { Effect } from "effect"
import { UnknownCursor } from "../storage/Page.ts"

/** A page as it is asked for on the wire. */
export interface Cursor {
  readonly after?: string
  readonly limit?: number
}

const unknownCursor = new BadRequest({
  error: {
    message: `${phrases[400]}: after: it names no item of the list`,
    metadata: { issues: [{ path: "after", message: "Expected the name of an item of the list" }] }
  }
})

/** Answers 400 where `after` names no item of the list. */
export const known = <A, E, R>(list: Effect.Effect<A, E, R>) =>
  Effect.catchIf(
    list,
    (error: E): error is Extract<E, UnknownCursor> => error instanceof UnknownCursor,
    () => Effect.fail(unknownCursor)
  )
