/**
 * Who is behind a key's hash, remembered for a few seconds, so that a busy key is not looked up at every request.
 *
 * Everything that changes what authentication finds (a key, a guardrail, an assignment) forgets here what it touched, so a change made in this process is
 * felt at once. A change made by another process is felt when the entry has aged.
 */
import { Context, Duration, Effect, Layer } from "effect"
import * as MonotonicTime from "../internal/MonotonicTime.ts"
import * as LruMap from "../storage/LruMap.ts"
import type { Caller, EphemeralKey } from "./Key.ts"

/** The cache. */
export class KeyCache extends Context.Service<
  KeyCache,
  {
    /** The caller of that hash: the remembered one while it is fresh, else what `lookup` finds; its failures are not remembered. */
    readonly get: <E, R>(hash: string, lookup: Effect.Effect<Caller, E, R>) => Effect.Effect<Caller, E, R>
    /** Forgets one key. */
    readonly forget: (hash: string) => Effect.Effect<void>
    /** Forgets all keys. */
    readonly forgetAll: Effect.Effect<void>
    /**
     * The ephemeral key of that hash, in the same way; null, where there is none, is not remembered. Apart from the callers, because who stands behind it is for its parent's entry to say: what forgets the parent
     * is felt by all that were made from it.
     */
    readonly getEphemeral: <E, R>(
      hash: string,
      lookup: Effect.Effect<EphemeralKey | null, E, R>
    ) => Effect.Effect<EphemeralKey | null, E, R>
    /** Forgets one ephemeral key. */
    readonly forgetEphemeral: (hash: string) => Effect.Effect<void>
  }
>()("@model-gateway/server/keys/KeyCache") {}

/** How long and how many. */
export interface Options {
  /** Default 3 seconds: the longest that a key revoked in another process still works here. */
  readonly timeToLive?: Duration.Input | undefined
  /** Default 10,000 keys, and as many ephemeral ones. */
  readonly capacity?: number | undefined
}

interface Entry<A> {
  readonly found: A
  readonly until: number
}

const remembering = <A>(capacity: number, timeToLive: number) => {
  const entries = LruMap.make<string, Entry<A>>(capacity)
  // A lookup that began before a change must not be remembered after it.
  let generation = 0
  return {
    get: <E, R>(hash: string, lookup: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.flatMap(MonotonicTime.millis, (now) => {
        const entry = entries.get(hash)
        if (entry !== undefined && entry.until > now) return Effect.succeed(entry.found)
        const began = generation
        return Effect.map(lookup, (found) => {
          if (generation === began && found !== null) entries.set(hash, { found, until: now + timeToLive })
          return found
        })
      }),
    forget: (hash: string) =>
      Effect.sync(() => {
        generation++
        entries.delete(hash)
      }),
    forgetAll: Effect.sync(() => {
      generation++
      entries.clear()
    })
  }
}

/** Makes an empty cache. */
export const make = (options?: Options): KeyCache["Service"] => {
  const timeToLive = Duration.toMillis(Duration.fromInputUnsafe(options?.timeToLive ?? "3 seconds"))
  const capacity = options?.capacity ?? 10_000
  const callers = remembering<Caller>(capacity, timeToLive)
  const ephemeral = remembering<EphemeralKey | null>(capacity, timeToLive)
  return KeyCache.of({ ...callers, getEphemeral: ephemeral.get, forgetEphemeral: ephemeral.forget })
}

/** A cache of this process. */
export const layer = (options?: Options): Layer.Layer<KeyCache> => Layer.sync(KeyCache, () => make(options))
