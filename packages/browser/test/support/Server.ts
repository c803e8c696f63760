// A scripted gateway on loopback: it reads uploads only as far as the test allows, and records
// requests.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** A received request. */
export interface Seen {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly headers: IncomingMessage["headers"]
  /** Bytes of the body read so far. */
  received: number
  /**
   * `complete`: the whole body was received. `aborted`: the client closed the connection before
   * that.
   */
  readonly ended: Promise<"complete" | "aborted">
}

export type Handler = (request: IncomingMessage, response: ServerResponse, seen: Seen) => void

export interface Server {
  readonly origin: string
  readonly seen: ReadonlyArray<Seen>
  /** Waits for the next request to this path. */
  readonly next: (path: string) => Promise<Seen>
  readonly on: (path: string, handler: Handler) => void
  readonly close: () => Promise<void>
}

/** Serves the handlers by path. A path without a handler is a 404. */
export const serve = async (): Promise<Server> => {
  const handlers = new Map<string, Handler>()
  const seen: Array<Seen> = []
  const waiting: Array<{ readonly path: string; readonly resolve: (seen: Seen) => void }> = []
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://loopback").pathname
    const entry: Seen = {
      method: request.method ?? "",
      path,
      authorization: request.headers.authorization,
      headers: request.headers,
      received: 0,
      ended: new Promise((resolve) => {
        request.once("end", () => resolve("complete"))
        request.once("close", () => resolve(request.complete ? "complete" : "aborted"))
      })
    }
    request.on("error", () => {})
    seen.push(entry)
    for (const waiter of waiting.splice(0)) {
      if (waiter.path === path) waiter.resolve(entry)
      else waiting.push(waiter)
    }
    const handler = handlers.get(path)
    if (handler === undefined) response.writeHead(404).end()
    else handler(request, response, entry)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    seen,
    next: (path) => new Promise((resolve) => waiting.push({ path, resolve })),
    on: (path, handler) => handlers.set(path, handler),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

/** Reads `limit` bytes of the body, and continues only when `more` is called. */
export const readUpTo = (request: IncomingMessage, seen: Seen, limit: number): { readonly more: () => void } => {
  let open = false
  request.on("data", (chunk: Uint8Array) => {
    seen.received += chunk.length
    if (!open && seen.received >= limit) request.pause()
  })
  return {
    more: () => {
      open = true
      request.resume()
    }
  }
}

export const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) =>
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))

export const envelope = (code: number, message: string) => ({
  error: { code, message },
  service_metadata: { request_id: "req_test" },
  user_id: null
})
