/**
 * Node's HTTP server, set up so that every request gets its answer, at the start and at the end of
 * the service too, and that no client can hold a connection forever.
 */
import { type IncomingMessage, Server, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { setImmediate as nextTurn } from "node:timers/promises"
import { type Connection, isOver, refuse } from "./Refusals.ts"
import * as SlowClients from "./SlowClients.ts"

/** The server, and how to tell its connections that the service begins and that it stops. */
export interface Connections {
  readonly server: Server
  /**
   * Call it when the service has its routes: the requests that have arrived before are handed over.
   */
  readonly begin: () => void
  /**
   * Call it, and wait for it, before the server is closed and before answers say `connection:
   * close`. Idle connections stay open for a second, for the requests that are on their way. All
   * others are cut off after `patience` milliseconds and some time for the last answers.
   */
  readonly stop: (patience: number) => Promise<void>
}

/** How patient the server is. */
export interface Options {
  readonly bodyRate: SlowClients.BodyRate
  /**
   * Milliseconds without a byte moving until a connection is closed whose client does not read its
   * answer. Default: 2 minutes.
   */
  readonly stalled?: number
}

/** Node's limit for a whole request. Its default of 5 minutes is short for a large upload. */
const longestUpload = 3_600_000

/**
 * Longer than the idle time of common load balancers, so that they close connections and we do not.
 */
const keepAlive = 65_000

/** Time for the answers to requests that were interrupted, before their connections are cut off. */
const lastWords = 5000

/** How long idle connections stay open after the service was told to stop. */
const idleGrace = 1000

/** A busy server needs some milliseconds for each connection that waits to be accepted. */
const longestAccepting = 5000

class GatewayServer extends Server {
  /**
   * Node knows this property, its types do not. Without it a client that ends its side of the
   * connection gets no answer.
   */
  readonly httpAllowHalfOpen = true

  constructor() {
    super({
      requestTimeout: longestUpload,
      keepAliveTimeout: keepAlive,
      // The service refuses it in the envelope.
      requireHostHeader: false,
      // The service has no other protocol. As ordinary requests they are answered, and noticed when
      // they are gone.
      shouldUpgradeCallback: () => false
    })
  }

  /**
   * Node calls it when the server closes. The next request of a busy client may be on its way then.
   */
  override closeIdleConnections(): void {
    setTimeout(() => super.closeIdleConnections(), idleGrace).unref()
  }
}

/** A request that waits for "100 Continue" comes by an event of its own. */
const asking = ["request", "checkContinue"] as const

/**
 * After CONNECT, a response that waits for those before it does not hear from Node that its
 * connection is closed. Whoever writes it would wait forever, and the server could not stop.
 */
const closeUnsent = ({ unsent }: Connection): void => {
  for (const response of unsent) response.destroy().emit("close")
}

/** Makes the server; it does not listen yet. */
export const make = ({ bodyRate, stalled = 120_000 }: Options): Connections => {
  const server = new GatewayServer()
  const open = new Map<Duplex, Connection>()
  let accepted = 0

  server.on("connection", (socket: Socket) => {
    const connection: Connection = {
      socket,
      current: undefined,
      previous: undefined,
      isRefused: false,
      unsent: new Set()
    }
    open.set(socket, connection)
    accepted++
    socket.once("close", () => {
      open.delete(socket)
      setImmediate(closeUnsent, connection)
    })
    // Node takes its own listener away after CONNECT, and an error that nobody listens for ends the
    // process.
    socket.on("error", () => {})
    SlowClients.probeHalfClosed(connection)
  })

  const refuseOn = (socket: Duplex, code: string): void => {
    const connection = open.get(socket)
    if (connection === undefined) socket.destroy()
    else refuse(connection, code)
  }

  // Node listens before the service has its routes, and some time after. Then the listener here is
  // the only one.
  let phase: "early" | "handing over" | "begun" = "early"
  const early: Array<() => boolean> = []
  for (const event of asking) {
    server.on(event, (request: IncomingMessage, response: ServerResponse) => {
      if (phase === "handing over") return
      const connection = open.get(request.socket)
      if (connection !== undefined) {
        connection.previous = connection.current
        connection.current = { request, response }
        connection.unsent.add(response)
        response.once("close", () => connection.unsent.delete(response))
      }
      if (server.listenerCount(event) > 1) return
      if (phase === "early") early.push(() => server.emit(event, request, response))
      else refuseOn(request.socket, "STOPPING")
    })
  }
  // The service refuses it in the envelope.
  server.on("checkExpectation", (request, response) => void server.emit("request", request, response))

  server.on("connect", (_, socket) => {
    refuseOn(socket, "CONNECT")
    // Node reads no further, and would not notice that the client is gone.
    socket.resume()
  })
  server.on("clientError", ({ code = "" }: NodeJS.ErrnoException, socket) => {
    if (code === "ECONNRESET" || code === "EPIPE") socket.destroy()
    else refuseOn(socket, code)
  })

  // Node tells of idle connections by the same event.
  server.timeout = stalled
  server.on("timeout", (socket: Socket) => {
    const current = open.get(socket)?.current
    if (socket.writableLength > 0 || current === undefined || isOver(current)) socket.destroy()
  })
  SlowClients.refuseSlowBodies({ [Symbol.iterator]: () => open.values() }, bodyRate)

  const closeUnused = (): void => {
    for (const { socket } of open.values()) if (socket.bytesRead === 0) socket.destroy()
  }

  /**
   * Node accepts one connection each turn of the event loop. Those that still wait when it stops
   * listening are reset, their requests with them.
   */
  const acceptWaiting = async (): Promise<void> => {
    const end = performance.now() + longestAccepting
    let before = -1
    while (before !== accepted && performance.now() < end) {
      before = accepted
      await nextTurn()
      await nextTurn()
    }
  }

  return {
    server,
    begin: () => {
      phase = "handing over"
      for (const handOver of early.splice(0)) handOver()
      phase = "begun"
    },
    stop: async (patience) => {
      await acceptWaiting()
      server.keepAliveTimeout = idleGrace
      setTimeout(closeUnused, idleGrace).unref()
      setTimeout(() => server.closeAllConnections(), patience + lastWords).unref()
    }
  }
}
