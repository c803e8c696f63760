/**
 * Node's HTTP server, made so that it can start and stop in time and says what is wrong in the envelope.
 *
 * Node listens before the service has its routes, and would leave whoever asks in between without an answer: those wait here. When it stops it waits for every connection that has
 * not been told to close. Browsers and load balancers open some before they need them: those ask nothing and are dropped at once; those that still do not end when the time for
 * requests in flight is over are cut.
 */
import { randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
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

/** How long a connection that was refused may take to read why. */
const lingering = 1000

/** A request that waits for "100 Continue", or wants another protocol, comes by an event of its own. */
const asking = ["request", "checkContinue", "upgrade"]

/** Keeps what is asked before the service listens for it, and hands it over then. */
const holdEarly = (server: Server): void => {
  for (const event of asking) {
    const early: Array<ReadonlyArray<unknown>> = []
    const hold = (...asked: ReadonlyArray<unknown>): void => void early.push(asked)
    const handOver = (added: string | symbol): void => {
      if (added !== event) return
      server.off("newListener", handOver)
      server.off(event, hold)
      // The listener that is told of here is not added yet.
      setImmediate(() => {
        for (const asked of early) server.emit(event, ...asked)
      })
    }
    server.on(event, hold)
    server.on("newListener", handOver)
  }
}

const unreadable: Readonly<Record<string, readonly [status: number, reason: string, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, "Request Timeout", "the request did not come to its end in time"],
  HPE_HEADER_OVERFLOW: [431, "Request Header Fields Too Large", "the request's headers are too large"],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, "Payload Too Large", "request payload too large: the extensions of its chunks"]
}

const malformed = [
  400,
  "Bad Request",
  "invalid request parameters: the request is no HTTP, or was cut short"
] as const satisfies readonly [number, string, string]

/** The answer to what Node could not read as a request, which therefore never reaches the service. */
const refusal = (code: string): string => {
  const [status, reason, message] = unreadable[code] ?? malformed
  const id = `req_${randomUUID().replaceAll("-", "")}`
  const body = JSON.stringify({
    error: { code: status, message },
    service_metadata: { request_id: id },
    user_id: null
  })
  return [
    `HTTP/1.1 ${status} ${reason}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${id}`,
    "connection: close",
    "",
    body
  ].join("\r\n")
}

/** Says in the envelope what Node would say with a bare status line; not into the middle of another answer. */
const refuseUnreadable = (server: Server): void => {
  const answers = new WeakMap<Duplex, ServerResponse>()
  const answering = ({ socket }: IncomingMessage, response: ServerResponse): void => void answers.set(socket, response)
  server.prependListener("request", answering)
  server.prependListener("checkContinue", answering)
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    // What still comes behind a refused request is an error each time.
    if (socket.writableEnded && !socket.destroyed) return
    const answer = answers.get(socket)
    const isAnswering = answer !== undefined && answer.headersSent && !answer.writableFinished
    if (!socket.writable || error.code === "ECONNRESET" || isAnswering) return void socket.destroy()
    socket.end(refusal(error.code ?? ""))
    // Closed at once, with input unread, the connection would be reset before the answer is read.
    setTimeout(() => socket.destroy(), lingering).unref()
  })
}

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
  for (const event of asking) {
    server.on(event, ({ socket }: IncomingMessage) => unused.delete(socket))
  }
  refuseUnreadable(server)
  holdEarly(server)

  return {
    server,
    stop: (patience) => {
      stopping = true
      for (const socket of unused) socket.destroy()
      setTimeout(() => server.closeAllConnections(), patience + lastWords).unref()
    }
  }
}
