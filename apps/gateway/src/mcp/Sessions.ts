/**
 * The sessions at /mcp of this process, each bound to the key that began it. A session ends when it
 * is idle for too long, or to make room for another one.
 *
 * The protocol's revision 2026-07-28 has no sessions. Its requests share one for each key.
 */
import type { Session } from "@model-gateway/mcp/Session"
import { Clock, Duration, Effect } from "effect"

/** A session, and what is known of its use. */
export interface Entry {
  readonly keyHash: string
  readonly session: Session["Service"]
  /** Whether the protocol knows it, under the id of the entry. */
  readonly hasId: boolean
  /** Requests in progress. */
  running: number
  /** Milliseconds, when its last request began or ended. */
  lastUsed: number
}

/** The bounds of the sessions. */
export interface Options {
  readonly sessions: number
  readonly sessionIdle: Duration.Duration
}

/** The sessions of a key, so that one cannot end those of others. */
const perKey = 32

/** The requests of a key that are in progress at the same time. */
const runningPerKey = 64

/** Makes the store. `end` tells the protocol that a session ended. */
export const make = (options: Options, end: (id: string) => Effect.Effect<void>) => {
  /** The least recently used first. */
  const entries = new Map<string, Entry>()
  const running = new Map<string, number>()
  const idle = Duration.toMillis(options.sessionIdle)

  const remove = (id: string) =>
    Effect.suspend(() => {
      const entry = entries.get(id)
      entries.delete(id)
      return entry?.hasId === true ? end(id) : Effect.void
    })

  const firstIdle = (keyHash?: string): string | undefined => {
    for (const [id, entry] of entries) {
      if (entry.running === 0 && (keyHash === undefined || entry.keyHash === keyHash)) return id
    }
    return undefined
  }

  const endIdle = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const ended = [...entries]
      .filter(([, entry]) => entry.running === 0 && now - entry.lastUsed > idle)
      .map(([id]) => id)
    yield* Effect.forEach(ended, remove, { discard: true })
  })

  /** Ends one idle session of those of the key, or of all. False: all of them are in use. */
  const makeRoom = (keyHash?: string) =>
    Effect.suspend(() => {
      const id = firstIdle(keyHash)
      return id === undefined ? Effect.succeed(false) : Effect.as(remove(id), true)
    })

  let checkedAt = 0

  return {
    /** The session with this id, if the key began it. */
    find: (id: string, keyHash: string): Entry | undefined => {
      const entry = entries.get(id)
      return entry?.keyHash === keyHash ? entry : undefined
    },
    /** Adds a session. False: there is no room, because all others have requests in progress. */
    add: Effect.fnUntraced(function* (id: string, entry: Entry) {
      const ofKey = [...entries.values()].filter(({ keyHash }) => keyHash === entry.keyHash).length
      if (ofKey >= perKey && !(yield* makeRoom(entry.keyHash))) return false
      if (entries.size >= options.sessions && !(yield* makeRoom())) return false
      entries.set(id, entry)
      return true
    }),
    remove,
    /** Counts a request of a session until the scope closes. False: the key has too many. */
    use: Effect.fnUntraced(function* (id: string, entry: Entry) {
      const now = yield* Clock.currentTimeMillis
      // Not with each request: it looks at all sessions.
      if (now - checkedAt > Math.min(idle, 60_000)) {
        checkedAt = now
        yield* endIdle
      }
      const count = running.get(entry.keyHash) ?? 0
      if (count >= runningPerKey) return false
      running.set(entry.keyHash, count + 1)
      entry.running++
      entry.lastUsed = now
      // The most recently used one is the last.
      if (entries.get(id) === entry) {
        entries.delete(id)
        entries.set(id, entry)
      }
      yield* Effect.addFinalizer(() =>
        Effect.map(Clock.currentTimeMillis, (ended) => {
          entry.running--
          entry.lastUsed = ended
          const left = (running.get(entry.keyHash) ?? 1) - 1
          if (left === 0) running.delete(entry.keyHash)
          else running.set(entry.keyHash, left)
        })
      )
      return true
    })
  }
}
