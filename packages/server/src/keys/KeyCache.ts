/**
 * Who is behind a key's hash, remembered for a few seconds, so that a busy key is not looked up at every request.
 *
 * Everything that changes what authentication finds (a key, a guardrail, an assignment) forgets here what it touched, so a change made in this process is
 * felt at once. A change made by another process is felt when the entry has aged.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import * as LruMap from "../storage/LruMap.ts"
import type { Caller } from "./Key.ts"

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
  }
>()("@model-gateway/server/keys/KeyCache") {}

/** How long and how many. */
export interface Options {
  /** Default 3 seconds: the longest that a key revoked in another process still works here. */
  readonly timeToLive?: Duration.Input | undefined
  /** Default 10,000 keys. */
  readonly capacity?: number | undefined
}

interface Entry {
  readonly caller: Caller
  readonly until: number
}

/** Makes an empty cache. */
export const make = (options?: Options): KeyCache["Service"] => {
  const timeToLive = Duration.toMillis(Duration.fromInputUnsafe(options?.timeToLive ?? "3 seconds"))
  const entries = LruMap.make<string, Entry>(options?.capacity ?? 10_000)
  // A lookup that began before a change must not be remembered after it.
  let generation = 0

  return KeyCache.of({
    get: (hash, lookup) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const entry = entries.get(hash)
        if (entry !== undefined && entry.until > now) return Effect.succeed(entry.caller)
        const began = generation
        return Effect.map(lookup, (caller) => {
          if (generation === began) entries.set(hash, { caller, until: now + timeToLive })
          return caller
        })
      }),
    forget: (hash) =>
      Effect.sync(() => {
        generation++
        entries.delete(hash)
      }),
    forgetAll: Effect.sync(() => {
      generation++
      entries.clear()
    })
  })
}

/** A cache of this process. */
export const layer = (options?: Options): Layer.Layer<KeyCache> => Layer.sync(KeyCache, () => make(options))
