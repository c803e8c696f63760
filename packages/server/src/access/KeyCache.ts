/**
 * Caches the caller of a key's hash for a few seconds, so that a busy key is not looked up for
 * every request.
 *
 * Every change to what authentication reads (a key, a guardrail, an assignment) evicts the affected
 * entries here, so a change made in this process takes effect immediately. A change made by another
 * process takes effect when the entry expires.
 */
import { Context, Duration, Effect, Layer } from "effect"
import * as MonotonicTime from "../internal/MonotonicTime.ts"
import * as LruMap from "../internal/LruMap.ts"
import type { Caller } from "./Caller.ts"
import type { EphemeralKey } from "./Key.ts"

/** The cache. */
export class KeyCache extends Context.Service<
  KeyCache,
  {
    /** The cached caller, or the result of `lookup`. Failures are not cached. */
    readonly get: <E, R>(hash: string, lookup: Effect.Effect<Caller, E, R>) => Effect.Effect<Caller, E, R>
    /** Evicts one key. */
    readonly forget: (hash: string) => Effect.Effect<void>
    /** Evicts all keys. */
    readonly forgetAll: Effect.Effect<void>
    /**
     * The ephemeral key of the hash, cached likewise. Null, for an unknown key, is not cached.
     * Ephemeral keys and callers are cached separately, so that evicting a parent affects all its
     * ephemeral keys.
     */
    readonly getEphemeral: <E, R>(
      hash: string,
      lookup: Effect.Effect<EphemeralKey | null, E, R>
    ) => Effect.Effect<EphemeralKey | null, E, R>
    /** Evicts one ephemeral key. */
    readonly forgetEphemeral: (hash: string) => Effect.Effect<void>
  }
>()("@model-gateway/server/access/KeyCache") {}

/** Size and lifetime of the cache. */
export interface Options {
  /** Default: 3 seconds. A key revoked in another process works here for at most this long. */
  readonly timeToLive?: Duration.Input | undefined
  /** Default: 10,000 keys and as many ephemeral keys. */
  readonly capacity?: number | undefined
}

interface Entry<A> {
  readonly found: A
  readonly until: number
}

const remembering = <A>(capacity: number, timeToLive: number) => {
  const entries = LruMap.make<string, Entry<A>>(capacity)
  // A lookup that started before a change must not be cached after it.
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

/** The cache of this process. */
export const layer = (options?: Options): Layer.Layer<KeyCache> => Layer.sync(KeyCache, () => make(options))
