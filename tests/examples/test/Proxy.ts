/** Stands between an example and the gateway: records requests, and loses responses. */
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders, request as send, type ServerResponse } from "node:http"
import { inject } from "vitest"

export interface Exchange {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** What the gateway answered. */
  readonly status: number
  readonly responseHeaders: IncomingHttpHeaders
}

/** What happens to a response that is lost: nothing for ever, or the connection breaks. */
export type Loss = "silence" | "close"

export interface Proxy {
  /** The base URL for an example. */
  readonly baseUrl: string
  /** What was sent and answered, in the order of the answers. */
  readonly exchanges: ReadonlyArray<Exchange>
  /** Loses the next response to such a request. Resolves when the gateway has given it. */
  readonly lose: (method: string, loss: Loss) => Promise<Exchange>
  readonly stop: () => Promise<void>
}

/** Starts a proxy before the gateway of all examples. */
export const startProxy = async (): Promise<Proxy> => {
  const { origin } = inject("gateway")
  const exchanges: Array<Exchange> = []
  const losses: Array<{ method: string; loss: Loss; resolve: (exchange: Exchange) => void }> = []

  const lose = (exchange: Exchange, response: ServerResponse): boolean => {
    const index = losses.findIndex(({ method }) => method === exchange.method)
    const [lost] = index < 0 ? [] : losses.splice(index, 1)
    if (lost === undefined) return false
    if (lost.loss === "close") response.destroy()
    lost.resolve(exchange)
    return true
  }

  const server = createServer((request, response) => {
    const { headers, method = "GET", url: path = "/" } = request
    const upstream = send(`${origin}${path}`, { method, headers })
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk)).pipe(upstream)
    upstream.on("error", () => response.destroy())
    upstream.on("response", (answer) => {
      const body = Buffer.concat(chunks).toString()
      const { headers: responseHeaders, statusCode: status = 0 } = answer
      const exchange: Exchange = { method, path, headers, body, status, responseHeaders }
      exchanges.push(exchange)
      if (lose(exchange, response)) answer.resume()
      else answer.pipe(response.writeHead(status, responseHeaders))
    })
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("The proxy has no port")
  return {
    baseUrl: `http://127.0.0.1:${address.port}/api/v1`,
    exchanges,
    lose: (method, loss) => new Promise((resolve) => losses.push({ method, loss, resolve })),
    stop: async () => {
      const closed = once(server, "close")
      server.close()
      server.closeAllConnections()
      await closed
    }
  }
}
