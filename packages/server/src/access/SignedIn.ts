/** Who is signed in to the console, as a request of it has it. */
import { Forbidden, phrases } from "@model-gateway/core/GatewayError"
import type { Operation } from "@model-gateway/core/Operation"
import { Data } from "effect"
import type { Caller } from "./Caller.ts"

/** The caller of the requests of a session. */
export class SignedIn extends Data.Class<{
  readonly caller: Caller
  /** The id of the session. Null: an earlier version started it. */
  readonly sessionId: string | null
  /** When it last proved who it is, in epoch milliseconds. */
  readonly provedAt: number
}> {}

/** How long ago that may be, in minutes, for an operation that needs a recent sign-in. */
const maxMinutes = 15

const tooLongAgo = new Forbidden({
  error: {
    message: `${phrases[403]}: this needs a sign-in that is at most ${maxMinutes} minutes old. Sign in again`,
    metadata: { reason: "reauthenticate" }
  }
})

/** Why a session may not call the operation now. Undefined: it may. */
export const refusalOf = (
  { provedAt }: SignedIn,
  { needsRecentSignIn }: Pick<Operation, "needsRecentSignIn">,
  now: number
): Forbidden | undefined => (needsRecentSignIn && now - provedAt > maxMinutes * 60_000 ? tooLongAgo : undefined)
