/**
 * Node's HTTP server, set up so that every request gets a response, also while the service starts
 * and stops, and that no client can keep a connection forever.
 */
import type { WireNames } from "@model-gateway/core/WireNames"
import { type IncomingMessage, Server, type ServerResponse } from "node:http"
import { Server as SecureServer } from "node:https"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises"
import * as Refusals from "./Refusals.ts"
import * as SlowClients from "./SlowClients.ts"

/** The server, with what its connections need to do when the service starts and stops. */
export interface Connections {
  readonly server: Server
  /**
   * New connections get this certificate, and open ones keep theirs. Only for a server that was
   * made with one.
   */
  readonly setCertificate: (certificate: Certificate) => void
  /** The requests without a complete response. */
  readonly openRequests: () => Iterable<IncomingMessage>
  /**
   * Call it when the service has its routes. Requests that arrived earlier are then handled.
   */
  readonly begin: () => void
  /**
   * Accepts the connections that wait, and stops listening. New requests wait meanwhile, for some
   * milliseconds and at most 5 seconds, and are then handled. Connections that are idle afterward
   * stay open for one second, because their next request may be on its way.
   */
  readonly stopListening: () => Promise<void>
  /**
   * Call it after {@link stopListening}. Waits until every connection is closed, at most `timeout`
   * milliseconds from the call of {@link stopListening} on. Then requests that have not arrived
   * completely are rejected, and the last connections are closed 5 seconds later.
   */
  readonly drain: (timeout: number) => Promise<void>
  /**
   * Waits until every connection is closed. Returns at once if {@link stopListening} was not
   * called.
   */
  readonly closed: () => Promise<void>
}

/** A certificate with its chain, and its key, in PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** Time limits for clients, and how requests are rejected. */
export interface Options {
  /** With it, the server speaks TLS and nothing else. */
  readonly certificate?: Certificate | undefined
  readonly bodyRate: SlowClients.BodyRate
  /**
   * Milliseconds without any transfer until the connection of a client that does not read its
   * response is closed. Default: 2 minutes.
   */
  readonly stalled?: number
  /** The words on the wire. Default: the neutral ones. */
  readonly wireNames?: WireNames | undefined
}

/** Milliseconds for a whole request. Node's default of 5 minutes is too short for large uploads. */
const requestTimeout = 3_600_000

/**
 * Longer than the idle timeout of common load balancers, so that they close idle connections first.
 * Otherwise a request could meet a connection that has just been closed.
 */
const keepAlive = 65_000

/** Milliseconds for the TLS handshake. Node's default of 2 minutes would keep idle connections. */
const handshakeTimeout = 10_000

/** Milliseconds to send the responses of interrupted requests before connections are closed. */
const lastResponses = 5000

/** Milliseconds that idle connections stay open after the service began to stop. */
const idleGrace = 1000

/** Milliseconds to accept waiting connections before the server stops listening. */
const acceptTimeout = 5000

/**
 * Bytes that arrived while the event loop was blocked are read in its next turn, and timers that
 * were due meanwhile run before it.
 */
const afterReading = async (): Promise<void> => {
  await nextTurn()
  await nextTurn()
}

const serverOptions = {
  requestTimeout,
  keepAliveTimeout: keepAlive,
  // The service rejects requests without it, with an error envelope.
  requireHostHeader: false,
  // The service offers no other protocol. Treated as ordinary requests, they get a response, and a
  // closed connection is detected.
  shouldUpgradeCallback: () => false
}

const makeServer = (certificate: Certificate | undefined): Server | SecureServer => {
  const server =
    certificate === undefined
      ? new Server(serverOptions)
      : new SecureServer({ ...serverOptions, ...certificate, handshakeTimeout, allowHalfOpen: true })
  const closeIdle = server.closeIdleConnections.bind(server)
  return Object.assign(server, {
    // Missing in Node's types. Without it, a client that ends its side of the connection gets no
    // response.
    httpAllowHalfOpen: true,
    // Node calls it when the server closes. A client's next request may be on its way then.
    closeIdleConnections: () => void setTimeout(() => void afterReading().then(closeIdle), idleGrace).unref()
  })
}

/** Node emits an event of its own for requests that wait for "100 Continue". */
const requestEvents = ["request", "checkContinue"] as const

/**
 * After CONNECT, Node does not tell a response that is queued behind others that its connection is
 * closed. Its handler would wait forever, and the server could not stop.
 */
const closeUnsent = ({ unsent }: Refusals.Connection): void => {
  for (const response of unsent) response.destroy().emit("close")
}

/** Makes the server. It does not listen yet. */
export const make = ({ bodyRate, certificate, stalled = 120_000, wireNames }: Options): Connections => {
  const server = makeServer(certificate)
  const open = new Map<Duplex, Refusals.Connection>()
  /** The TCP connections below those of TLS. */
  const raw = new Set<Socket>()
  const refuse = Refusals.make(wireNames)
  let accepted = 0

  if (certificate !== undefined) {
    server.on("connection", (socket: Socket) => {
      accepted++
      raw.add(socket)
      socket.once("close", () => raw.delete(socket))
    })
  }

  server.on(certificate === undefined ? "connection" : "secureConnection", (socket: Socket) => {
    const connection: Refusals.Connection = {
      socket,
      handshakeBytes: certificate === undefined ? 0 : socket.bytesRead,
      current: undefined,
      previous: undefined,
      isRefused: false,
      unsent: new Set()
    }
    open.set(socket, connection)
    if (certificate === undefined) accepted++
    socket.once("close", () => {
      open.delete(socket)
      setImmediate(closeUnsent, connection)
    })
    // Node removes its own listener after CONNECT, and an error event without a listener would end
    // the process.
    socket.on("error", () => {})
    SlowClients.probeHalfClosed(connection)
  })

  const refuseOn = (socket: Duplex, code: string): void => {
    const connection = open.get(socket)
    if (connection === undefined) socket.destroy()
    else refuse(connection, code)
  }

  // The server listens before the service has added its request listener, and until after it has
  // removed it. In between, this listener is the only one.
  let phase: "early" | "handing over" | "begun" = "early"
  const early: Array<() => boolean> = []
  const listeners = requestEvents.map((event) => {
    const listener = (request: IncomingMessage, response: ServerResponse): void => {
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
    }
    server.on(event, listener)
    return { event, listener }
  })

  const handOver = (): void => {
    phase = "handing over"
    for (const emit of early.splice(0)) emit()
    phase = "begun"
  }

  /**
   * Lets requests wait until the returned function is called, as before the service has started.
   */
  const pause = (): (() => void) => {
    const removed = listeners.flatMap(({ event, listener }) =>
      server
        .listeners(event)
        .filter((other): other is typeof listener => other !== listener)
        .map((other) => ({ event, other }))
    )
    for (const { event, other } of removed) server.off(event, other)
    phase = "early"
    return () => {
      for (const { event, other } of removed) server.on(event, other)
      handOver()
    }
  }

  // The service rejects it, with an error envelope.
  server.on("checkExpectation", (request, response) => void server.emit("request", request, response))

  server.on("connect", (_, socket) => {
    refuseOn(socket, "CONNECT")
    // Node stops reading, and would not detect that the client has disconnected.
    socket.resume()
  })
  server.on("clientError", ({ code = "" }: NodeJS.ErrnoException, socket) => {
    if (code === "ECONNRESET" || code === "EPIPE") socket.destroy()
    else refuseOn(socket, code)
  })

  // Idle connections cause the same event.
  server.timeout = stalled
  server.on("timeout", (socket: Socket) => {
    const idle = (): boolean => {
      const current = open.get(socket)?.current
      return socket.writableLength > 0 || current === undefined || Refusals.isOver(current)
    }
    void afterReading().then(() => {
      if (idle()) socket.destroy()
    })
  })
  SlowClients.refuseSlowBodies({ [Symbol.iterator]: () => open.values() }, bodyRate, refuse)

  const closeUnused = (): void => {
    for (const { handshakeBytes, socket } of open.values()) if (socket.bytesRead === handshakeBytes) socket.destroy()
    for (const socket of raw) if (socket.bytesRead === 0) socket.destroy()
  }

  /**
   * Waits for a turn of the event loop in which no connection was accepted. Node accepts one per
   * turn, and the system resets those that still wait when the server stops listening, together
   * with their requests. A connection may also arrive during the turn, so a long turn counts only
   * after a long time: one of 0.1 milliseconds after 0.1 seconds. Requests wait meanwhile, so
   * that turns are short, and clients that wait for their responses open no further connections.
   */
  const acceptWaiting = async (): Promise<void> => {
    const startedAt = performance.now()
    await nextTurn()
    for (;;) {
      const before = accepted
      const turnedAt = performance.now()
      await nextTurn()
      const now = performance.now()
      const waited = now - startedAt
      if (waited > acceptTimeout || (before === accepted && now - turnedAt < waited / 1000)) return
    }
  }

  /** A request whose head has not arrived completely is none yet. */
  const isIncomplete = ({ current }: Refusals.Connection): boolean =>
    current === undefined || !current.request.complete || Refusals.isOver(current)

  let closing: Promise<void> | undefined
  let stoppingSince = 0

  return {
    server,
    setCertificate: (next) => {
      if (server instanceof SecureServer) server.setSecureContext(next)
    },
    openRequests: function* () {
      for (const { unsent } of open.values()) for (const { req } of unsent) yield req
    },
    begin: handOver,
    stopListening: async () => {
      stoppingSince = performance.now()
      const resume = pause()
      await acceptWaiting()
      server.keepAliveTimeout = idleGrace
      setTimeout(() => void afterReading().then(closeUnused), idleGrace).unref()
      closing = new Promise((resolve) => server.close(() => resolve()))
      resume()
    },
    drain: async (timeout) => {
      const end = new AbortController()
      const left = Math.max(0, stoppingSince + timeout - performance.now())
      await Promise.race([closing, sleep(left, undefined, { signal: end.signal }).catch(() => {})])
      end.abort()
      for (const connection of open.values()) if (isIncomplete(connection)) refuse(connection, "STOPPING")
      setTimeout(() => {
        server.closeAllConnections()
        for (const socket of raw) socket.destroy()
      }, lastResponses).unref()
    },
    closed: async () => closing
  }
}
