/**
 * What is wrong with a request that Node could not read, in the error envelope.
 *
 * Such a request never reaches the service, so the answer is written to the socket by hand.
 */
import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"

/** A request and its answer. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** One connection and its newest requests. */
export interface Connection {
  readonly socket: Socket
  /** The newest request. Undefined before the first one, and some time after it is over. */
  current: Exchange | undefined
  /** The one before it, of a client that sends requests without waiting for answers. */
  previous: Exchange | undefined
  /** Every response that is not closed, in the order of the requests. */
  readonly unsent: Set<ServerResponse>
  /** No further request is read. */
  isRefused: boolean
}

/** How long a connection stays open so that the client can read the refusal. */
const lingering = 1000

const refusals: Readonly<Record<string, readonly [status: number, reason: string, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, "Request Timeout", "the request did not arrive in time"],
  SLOW_BODY: [408, "Request Timeout", "the request body arrived too slowly"],
  HPE_HEADER_OVERFLOW: [431, "Request Header Fields Too Large", "the request's headers are too large"],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, "Payload Too Large", "request payload too large: the extensions of its chunks"],
  STOPPING: [503, "Service Unavailable", "service temporarily unavailable: the service is stopping"],
  CONNECT: [405, "Method Not Allowed", "method not allowed: the service is no proxy"]
}

const malformed = [
  400,
  "Bad Request",
  "invalid request parameters: the request is malformed HTTP or incomplete"
] as const satisfies readonly [number, string, string]

const textOf = (code: string): string => {
  const [status, reason, message] = refusals[code] ?? malformed
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
    "x-content-type-options: nosniff",
    "connection: close",
    "",
    body
  ].join("\r\n")
}

/** Whether nothing more will be written of the answer. */
export const isOver = ({ response }: Exchange): boolean => response.writableFinished || response.destroyed

/** Closes without a reset, which would take the answer away from the client. */
const close = (socket: Socket, text = ""): void => {
  socket.end(text)
  setTimeout(() => socket.destroy(), lingering).unref()
}

/**
 * Refuses what came last on the connection, and closes it. Requests that arrived completely are
 * answered first. An answer that has begun is cut off, because a refusal would look like a part of
 * it.
 */
export const refuse = (connection: Connection, code: string): void => {
  if (connection.isRefused) return
  connection.isRefused = true
  const { current, previous, socket } = connection
  const incomplete = current === undefined || current.request.complete ? undefined : current
  const before = incomplete === undefined ? current : previous

  const write = (): void => {
    if (!socket.writable) return close(socket)
    if (incomplete === undefined || !incomplete.response.headersSent) return close(socket, textOf(code))
    if (incomplete.response.writableEnded) close(socket)
    else socket.destroy()
  }
  if (before === undefined || isOver(before)) write()
  else before.response.once("close", write)
}
