/** A TCP proxy in front of a server, which counts what passes through it. */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"

export interface Counts {
  /** Bytes from the clients. */
  readonly sent: number
  /** Bytes to the clients. */
  readonly received: number
  /** How often Postgres was ready for the next query of a connection. 0 for other protocols. */
  readonly roundTrips: number
}

export interface Meter {
  readonly port: number
  readonly counts: () => Counts
  readonly close: () => void
}

/** The type of Postgres's message ReadyForQuery. */
const readyForQuery = "Z".charCodeAt(0)

/** Counts the messages of Postgres that say that it is ready, in what a connection receives. */
const makeReadyCounter = (): ((chunk: Buffer) => number) => {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let ready = 0
    let at = 0
    // A message is its type, its length without the type, and its content.
    while (rest.length - at >= 5) {
      const end = at + 1 + rest.readUInt32BE(at + 1)
      if (end > rest.length) break
      if (rest[at] === readyForQuery) ready++
      at = end
    }
    rest = rest.subarray(at)
    return ready
  }
}

/** Starts a proxy of a server on this machine. It reads Postgres's messages if `isPostgres`. */
export const startMeter = async (target: number, isPostgres: boolean): Promise<Meter> => {
  let sent = 0
  let received = 0
  let roundTrips = 0
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): Socket => {
    sockets.add(socket.setNoDelay())
    return socket.on("close", () => sockets.delete(socket)).on("error", () => {})
  }
  const server = createServer((client) => {
    const upstream = keep(connect(target, "127.0.0.1"))
    const ready = isPostgres ? makeReadyCounter() : () => 0
    keep(client).on("data", (chunk) => (sent += chunk.length))
    upstream.on("data", (chunk) => {
      received += chunk.length
      roundTrips += ready(chunk)
    })
    client.pipe(upstream).pipe(client)
    client.on("close", () => upstream.destroy())
    upstream.on("close", () => client.destroy())
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return {
    port: address !== null && typeof address === "object" ? address.port : 0,
    counts: () => ({ sent, received, roundTrips }),
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    }
  }
}
