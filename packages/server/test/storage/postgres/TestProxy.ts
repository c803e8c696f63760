/**
 * A TCP proxy in front of Postgres that counts round trips and can lose an answer, as a network
 * does that breaks down after the server has received a statement.
 */
import { Effect } from "effect"
import * as TcpProxy from "../../TcpProxy.ts"

/** The messages that a client ends a request with: `Sync`, and the simple `Query`. */
const requestEnds = new Set(["S", "Q"].map((letter) => letter.charCodeAt(0)))

/** What a process asks once a second on the connection that holds its lock. It is not counted. */
const probe = "SELECT 1\0"

/** Counts the requests in what a client sends: one round trip each. */
const counter = () => {
  let buffered: Buffer = Buffer.alloc(0)
  let isStarted = false
  let isProbe = false
  return (chunk: Buffer): number => {
    buffered = Buffer.concat([buffered, chunk])
    let requests = 0
    while (true) {
      // The first message has no type.
      const header = isStarted ? 1 : 0
      if (buffered.length < header + 4) return requests
      const end = header + buffered.readInt32BE(header)
      if (buffered.length < end) return requests
      if (isStarted && buffered.subarray(0, end).includes(probe)) isProbe = true
      if (isStarted && requestEnds.has(buffered[0] ?? 0)) {
        if (!isProbe) requests++
        isProbe = false
      }
      isStarted = true
      buffered = buffered.subarray(end)
    }
  }
}

/** Starts it in front of the server at the URL. It stops with the scope. */
export const make = Effect.fnUntraced(function* (databaseUrl: string) {
  let roundTrips = 0
  let losing: string | undefined
  const { url } = yield* TcpProxy.make(databaseUrl, () => {
    const count = counter()
    let isLost = false
    return {
      toServer: (bytes) => {
        roundTrips += count(bytes)
        if (losing !== undefined && bytes.includes(losing)) {
          losing = undefined
          isLost = true
        }
        return true
      },
      // The server has done what was asked, and nobody hears of it.
      toClient: () => !isLost
    }
  })

  return {
    /** The URL through the proxy. */
    url,
    /** The number of round trips that the effect takes, and its result. */
    counted: <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.suspend(() => {
        const before = roundTrips
        return Effect.map(effect, (result) => ({ result, roundTrips: roundTrips - before }))
      }),
    /**
     * Loses the connection of the next request that contains this text, once the server has
     * answered.
     */
    loseAnswerTo: (text: string) =>
      Effect.sync(() => {
        losing = text
      })
  }
})
