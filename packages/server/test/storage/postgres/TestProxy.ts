/**
 * A TCP proxy in front of Postgres that counts round trips and can lose an answer, as a network
 * does that breaks down after the server has received a statement.
 */
import { Effect } from "effect"
import { connect, createServer, type Socket } from "node:net"

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
export const make = Effect.fnUntraced(function* (url: string) {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let roundTrips = 0
  let losing: string | undefined

  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    const count = counter()
    let isLost = false
    const close = () => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on("error", close)
      socket.on("close", close)
    }
    client.on("data", (chunk) => {
      roundTrips += count(chunk)
      if (losing !== undefined && chunk.includes(losing)) {
        losing = undefined
        isLost = true
      }
      upstream.write(chunk)
    })
    upstream.on("data", (chunk) => {
      // The server has done what was asked, and nobody hears of it.
      if (isLost) close()
      else client.write(chunk)
    })
  })
  yield* Effect.callback<void>((resume) => {
    server.listen(0, "127.0.0.1", () => resume(Effect.void))
  })
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
  )
  const address = server.address()
  if (address === null || typeof address === "string") return yield* Effect.die(new Error("The proxy has no port"))
  const proxied = new URL(url)
  proxied.host = `127.0.0.1:${address.port}`

  return {
    /** The URL through the proxy. */
    url: proxied.href,
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
