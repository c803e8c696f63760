/** Who is signed in to the console, as a request of it has it. */
import { Data } from "effect"
import type { Caller } from "./Caller.ts"

/** The caller of the requests of a session. */
export class SignedIn extends Data.Class<{
  readonly caller: Caller
  /** When it last proved who it is, in epoch milliseconds. */
  readonly provedAt: number
}> {}

/** How long ago that may be for an operation that cannot be undone, in milliseconds. */
export const provedFor = 15 * 60_000
