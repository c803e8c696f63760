/** A proxy before the gateway that loses responses, and a server that never responds. */
import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import { buffer } from "node:stream/consumers"

export interface Server {
  /** As `MODEL_GATEWAY_BASE_URL` has it. */
  readonly baseUrl: string
  readonly close: () => void
}

const listen = async (listener: RequestListener): Promise<Server> => {
  const server = createServer(listener).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return {
    baseUrl: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/api/v1`,
    close: () => {
      server.close()
      server.closeAllConnections()
    }
  }
}

/**
 * Passes requests on to a gateway. The gateway does the work of each, but the response to the first
 * POST of each path is lost. `seen` has the idempotency keys that came, by path.
 */
export const losingFirstResponses = async (origin: string, seen: Map<string, ReadonlyArray<string>>): Promise<Server> =>
  listen((request, response) => {
    const path = request.url ?? "/"
    const { authorization = "", "content-type": type = "", "idempotency-key": key = "" } = request.headers
    const before = seen.get(path) ?? []
    seen.set(path, [...before, String(key)])
    const pass = async () => {
      const answer = await fetch(`${origin}${path}`, {
        method: request.method ?? "GET",
        headers: { authorization, "content-type": type, "idempotency-key": String(key) },
        body: await buffer(request)
      })
      const body = Buffer.from(await answer.arrayBuffer())
      if (before.length === 0) response.destroy()
      else response.writeHead(answer.status, { "content-type": "application/json" }).end(body)
    }
    pass().catch(() => response.destroy())
  })

/** Accepts requests and never responds. `requests` counts those that came and were closed. */
export const neverResponding = async (requests: { came: number; closed: number }): Promise<Server> =>
  listen((_, response) => {
    requests.came++
    response.once("close", () => requests.closed++)
  })
