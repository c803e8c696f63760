// A server on loopback that answers every request in one hostile way, and counts.
import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"

export interface HostilePeer {
  readonly baseUrl: string
  /** The idempotency key of each request that arrived. */
  readonly keys: ReadonlyArray<string | undefined>
  /** Waits until that many requests have arrived. */
  readonly arrived: (requests: number) => Promise<void>
  /** The requests whose connection the client closed before the response was complete. */
  readonly abandoned: () => number
  readonly close: () => void
}

export type Answer = (response: ServerResponse) => void

/** An error of the contract. */
export const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) => {
    response.writeHead(code, { "content-type": "application/json", ...headers })
    response.end(JSON.stringify({ error: { code, message: "hostile", metadata: null } }))
  }

/** Half of a response: its head promises more than ever comes. */
export const half: Answer = (response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "1000" }).write('{"id": "r1", ')
}

export const start = async (answer: Answer): Promise<HostilePeer> => {
  const keys: Array<string | undefined> = []
  const waiting = new Set<() => void>()
  let abandoned = 0
  const server = createServer((request, response) => {
    const { "idempotency-key": key } = request.headers
    keys.push(typeof key === "string" ? key : undefined)
    response.once("close", () => {
      if (!response.writableFinished) abandoned++
    })
    for (const look of waiting) look()
    request.resume().on("end", () => answer(response))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    keys,
    abandoned: () => abandoned,
    arrived: (requests) =>
      new Promise((resolve) => {
        const look = () => {
          if (keys.length >= requests && waiting.delete(look)) resolve()
        }
        waiting.add(look)
        look()
      }),
    close: () => {
      server.close()
      server.closeAllConnections()
    }
  }
}
