/**
 * Rejects requests that Node could not parse, with the error envelope.
 *
 * Such a request never reaches the service, so its response is written directly to the socket.
 */
import type { WireNames } from "@model-gateway/core/WireNames"
import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"

/** A request and its response. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** One connection and its newest requests. */
export interface Connection {
  readonly socket: Socket
  /** Bytes that were read before the first request: the handshake of TLS. */
  readonly handshakeBytes: number
  /** The newest request. Undefined before the first one, and some time after the last one ended. */
  current: Exchange | undefined
  /** The request before it, if the client pipelines requests. */
  previous: Exchange | undefined
  /** All responses that are not closed yet, in the order of the requests. */
  readonly unsent: Set<ServerResponse>
  /** Whether the connection was refused. No further request is read then. */
  isRefused: boolean
}

/** Milliseconds that a connection stays open so that the client can read the response. */
const closeDelay = 1000

const refusals: Readonly<Record<string, readonly [status: number, reason: string, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, "Request Timeout", "the request did not arrive in time"],
  SLOW_BODY: [408, "Request Timeout", "the request body arrived too slowly"],
  HPE_HEADER_OVERFLOW: [431, "Request Header Fields Too Large", "the request headers are too large"],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [
    413,
    "Payload Too Large",
    "request payload too large: the chunk extensions are too long"
  ],
  STOPPING: [503, "Service Unavailable", "service temporarily unavailable: the service is stopping"],
  CONNECT: [405, "Method Not Allowed", "method not allowed: the service is not a proxy"]
}

const malformed = [
  400,
  "Bad Request",
  "invalid request parameters: the request is malformed HTTP or incomplete"
] as const satisfies readonly [number, string, string]

const textOf = (code: string, wireNames: WireNames | undefined): string => {
  const [status, reason, message] = refusals[code] ?? malformed
  const id = `req_${randomUUID().replaceAll("-", "")}`
  const body = JSON.stringify({
    error: { code: status, message },
    [wireNames?.words.service_metadata ?? "service_metadata"]: { request_id: id },
    user_id: null
  })
  return [
    `HTTP/1.1 ${status} ${reason}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${id}`,
    "cache-control: no-store",
    "x-content-type-options: nosniff",
    "connection: close",
    "",
    body
  ].join("\r\n")
}

/** Whether the response is completely written or its connection is closed. */
export const isOver = ({ response }: Exchange): boolean => response.writableFinished || response.destroyed

/** Closes without a reset, which could discard the response before the client has read it. */
const close = (socket: Socket, text = ""): void => {
  socket.end(text)
  setTimeout(() => socket.destroy(), closeDelay).unref()
}

/**
 * Rejects the newest request of the connection and closes the connection. Requests that arrived
 * completely get their responses first. A response that has begun is cut off, because the error
 * would look like a part of it.
 */
export type Refuse = (connection: Connection, code: string) => void

/** Rejects with the words on the wire. Default: the neutral ones. */
export const make =
  (wireNames?: WireNames): Refuse =>
  (connection, code) => {
    if (connection.isRefused) return
    connection.isRefused = true
    const { current, previous, socket } = connection
    const incomplete = current === undefined || current.request.complete ? undefined : current
    const before = incomplete === undefined ? current : previous

    const write = (): void => {
      if (!socket.writable) return close(socket)
      if (incomplete === undefined || !incomplete.response.headersSent) return close(socket, textOf(code, wireNames))
      if (incomplete.response.writableEnded) close(socket)
      else socket.destroy()
    }
    if (before === undefined || isOver(before)) write()
    else before.response.once("close", write)
  }
