/**
 * Node's HTTP server, made so that it can stop in time.
 *
 * Node waits for every connection that has not been told to close. Browsers and load balancers open some before they need them: those ask nothing and
 * are dropped at once; those that still do not end when the time for requests in flight is over are cut.
 */
import { createServer, type IncomingMessage, type Server } from "node:http"
import type { Socket } from "node:net"

/** The server, and how to tell its connections that it stops. */
export interface Connections {
  readonly server: Server
  /** Drops the connections that have asked nothing; cuts all others after so many milliseconds. */
  readonly stop: (patience: number) => void
}

/** Node cuts a request whose body takes longer than this; its own default of 5 minutes is short for a large upload. */
const longestUpload = 3_600_000

/** Longer than the idle time of common load balancers, so that they and not we close a connection. */
const keepAlive = 65_000

/** What the requests that were given up may take to be answered, before their connections are cut. */
const lastWords = 5000

/** Makes the server; it does not listen yet. */
export const make = (): Connections => {
  const server = createServer({ requestTimeout: longestUpload, keepAliveTimeout: keepAlive })
  const unused = new Set<Socket>()
  let stopping = false

  server.on("connection", (socket) => {
    if (stopping) socket.destroy()
    else unused.add(socket)
    socket.once("close", () => unused.delete(socket))
  })
  // A request that waits for "100 Continue", or wants another protocol, comes by an event of its own.
  for (const event of ["request", "checkContinue", "upgrade"]) {
    server.on(event, ({ socket }: IncomingMessage) => unused.delete(socket))
  }

  return {
    server,
    stop: (patience) => {
      stopping = true
      for (const socket of unused) socket.destroy()
      setTimeout(() => server.closeAllConnections(), patience + lastWords).unref()
    }
  }
}
