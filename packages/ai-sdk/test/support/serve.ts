/** A server on loopback that a test scripts. */
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { onTestFinished } from "vitest"

export interface Received {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

export const json = ({ response }: Received, status: number, body: unknown, headers: Record<string, string> = {}) => {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
}

export const envelope = (code: number, message = "not now") => ({ error: { code, message, metadata: null } })

export const ranking = {
  id: "gen_1",
  model: "m",
  provider: "p",
  results: [{ index: 0, relevance_score: 1, document: { text: "pears" } }],
  usage: { search_units: 1, cost: 0.001 }
}

/** The server until the test ends, and the requests that it received. */
export const serve = async (answer: (received: Received, number: number) => void) => {
  const received: Array<Received> = []
  const server = createServer((request, response) => {
    request.resume()
    received.push({ request, response })
    answer({ request, response }, received.length)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return { baseURL: `http://127.0.0.1:${port}/api/v1`, received }
}

export const keysOf = (received: ReadonlyArray<Received>) =>
  received.map(({ request }) => request.headers["idempotency-key"])

export const rejection = (promise: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(promise).then(
    () => undefined,
    (error: unknown) => error
  )
