/** The sender of a request, as authentication finds it. */
import { Context, Effect } from "effect"
import type { Guardrail } from "./Guardrail.ts"
import type { EphemeralKey, Key } from "./Key.ts"

/** The sender of a request: its key, and the key's guardrail. */
export interface Caller {
  /**
   * The key that spending, limits and stored objects belong to. For an ephemeral key, its parent.
   */
  readonly key: Key
  readonly guardrail: Guardrail | null
  /** The ephemeral key that was sent, if one was. */
  readonly ephemeral: EphemeralKey | null
}

/** The caller of the current request. The authorization middleware provides it. */
export class CurrentCaller extends Context.Service<CurrentCaller, Caller>()(
  "@model-gateway/server/access/Caller/CurrentCaller"
) {}

/**
 * The caller of the current request. An operation without authorization that reads it is a bug, so
 * it is a defect.
 */
export const currentCaller: Effect.Effect<Caller> = Effect.withFiber((fiber) => callerOf(fiber.context))

/** The caller of the request that the context belongs to. As {@link currentCaller}. */
export const callerOf = (context: Context.Context<never>): Effect.Effect<Caller> => {
  const caller = Context.getOrUndefined(context, CurrentCaller)
  return caller === undefined ? Effect.die(new Error("The request is not authenticated")) : Effect.succeed(caller)
}

/**
 * The hash of the ephemeral key if the caller sees only its own files, video jobs and requests.
 * Undefined: the caller sees those of its workspace.
 */
export const limitedTo = ({ ephemeral }: Caller): string | undefined =>
  ephemeral?.ownFiles === true ? ephemeral.hash : undefined
