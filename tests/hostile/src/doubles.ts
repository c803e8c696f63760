/**
 * Servers that attacks put around the gateway: upstreams, receivers of webhooks, collectors. They
 * listen on loopback and do what the attack says, also something else from one moment to the next.
 */
import { readFileSync } from "node:fs"
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from "node:http"
import { createServer as createSecureServer } from "node:https"
import type { Socket } from "node:net"
import { fileURLToPath } from "node:url"
import { entriesOf, fieldOf } from "./client.ts"

/** A request that arrived completely. */
export interface Call {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Answers a request, or leaves it without an answer. */
export type Handler = (call: Call, response: ServerResponse) => void

export interface Double {
  /** `http://127.0.0.1:port`, or `https://localhost:port` with TLS. */
  readonly url: string
  /** Replace it at any time. Default: answers every request with `{}`. */
  handle: Handler
  /** The number of requests that arrived completely. */
  readonly calls: () => number
  /** The number of connections that are open now. */
  readonly connections: () => number
  /** Resets every connection. */
  readonly stop: () => Promise<void>
}

/** Answers with JSON. A text is sent as it is. */
export const answer = (response: ServerResponse, body: unknown, status = 200): void => {
  const text = typeof body === "string" ? body : JSON.stringify(body)
  response
    .writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) })
    .end(text)
}

/** A handler that answers every request with this JSON. */
export const always =
  (body: unknown, status = 200): Handler =>
  (_, response) =>
    answer(response, body, status)

/** A handler that never answers. */
export const silent: Handler = () => {}

/** The JSON of a call, or undefined if it is not JSON. */
export const jsonIn = ({ body }: Call): unknown => {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

/** Ranks as `POST /v2/rerank` of Cohere does: the documents in their order. */
export const ranking: Handler = (call, response) => {
  const documents = entriesOf(fieldOf(jsonIn(call), "documents"))
  answer(response, {
    id: "hostile",
    results: documents.map((_, index) => ({ index, relevance_score: 1 / (index + 1) })),
    meta: { billed_units: { search_units: 1 } }
  })
}

/**
 * The upstream `double` at this URL, which speaks Cohere's API, and its model `double/rank`. For
 * the settings file of an attack.
 */
export const rankingAt = (url: string): object => ({
  upstreams: { double: { adapter: "cohere", apiKey: "not-a-real-key", baseUrl: url } },
  models: { "double/rank": { offers: [{ upstream: "double", model: "rank", price: { search_unit: 0.001 } }] } }
})

const certificate = (name: string): string =>
  fileURLToPath(new URL(`../../../apps/gateway/test/fixtures/${name}`, import.meta.url))

/** Variables with which a gateway trusts doubles with TLS. */
export const trust = { NODE_EXTRA_CA_CERTS: certificate("receiver.crt") }

/** Settings with which webhooks and events may be sent to doubles. */
export const exempt = { OUTBOUND_EXEMPT_HOSTS: "localhost,127.0.0.1" }

/**
 * Starts a double. The URLs of webhooks are `https://`, so receivers of webhooks need `tls`.
 */
export const start = async (options: { readonly tls?: boolean } = {}): Promise<Double> => {
  const isSecure = options.tls === true
  const sockets = new Set<Socket>()
  let calls = 0
  const listener: RequestListener = (request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("error", () => {})
    response.on("error", () => {})
    request.on("end", () => {
      calls++
      const { headers, method = "", url = "" } = request
      double.handle({ method, path: url, headers, body: Buffer.concat(chunks) }, response)
    })
  }
  const server = isSecure
    ? createSecureServer(
        { cert: readFileSync(certificate("receiver.crt")), key: readFileSync(certificate("receiver.key")) },
        listener
      )
    : createServer(listener)
  server.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, isSecure ? "localhost" : "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const double: Double = {
    url: isSecure ? `https://localhost:${port}` : `http://127.0.0.1:${port}`,
    handle: always({}),
    calls: () => calls,
    connections: () => sockets.size,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      })
  }
  return double
}
