/** The steps of a handler after its request is decoded, in the order in which they may fail. */
import { Effect } from "effect"
import { withinRate } from "../admission/RequestRate.ts"
import type { RateLimits } from "../admission/RateLimits.ts"
import * as Operations from "../http/Operations.ts"
import { RequestContext } from "../http/RequestContext.ts"

/**
 * Counts the request against its key's rate limit if its operation has one. The 429 is a defect,
 * which the outermost middleware answers like any other error: which operation it is, and thus
 * whether it has a 429, is known only at run time.
 */
const counted: Effect.Effect<void, never, RateLimits | RequestContext> = Effect.flatMap(
  RequestContext,
  ({ endpoint }) =>
    endpoint !== undefined && Operations.of(endpoint)?.isRateLimited === true ? Effect.orDie(withinRate) : Effect.void
)

/**
 * Finds what the request is for (403 or 404), counts the request against its key's rate limit
 * (429), then does the work. A request for something that does not exist is not counted.
 */
export const handle = <A, E, R, B, E2, R2>(
  find: Effect.Effect<A, E, R>,
  run: (found: A) => Effect.Effect<B, E2, R2>
): Effect.Effect<B, E | E2, R | R2 | RateLimits | RequestContext> =>
  Effect.flatMap(find, (found) => Effect.andThen(counted, run(found)))
