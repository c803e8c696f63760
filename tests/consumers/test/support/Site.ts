// The server of a page, as its owner would have one: it serves what Vite built, hands out
// short-lived tokens, and passes the API on, since a gateway lets no other origin's page in by
// default.
import { readFileSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { extname, join, normalize } from "node:path"
import { buffer } from "node:stream/consumers"
import type { Gateway } from "@model-gateway/test-services/GatewayProcess"

export interface Site {
  readonly origin: string
  /** The API calls that came, as `POST /api/v1/rerank 200`, with whose token: `mg_ek_`. */
  readonly calls: ReadonlyArray<string>
  readonly close: () => Promise<void>
}

const types: Readonly<Record<string, string>> = { ".html": "text/html; charset=utf-8", ".js": "text/javascript" }

export const serve = async (folder: string, gateway: Gateway): Promise<Site> => {
  const calls: Array<string> = []

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = new URL(request.url ?? "/", "http://site").pathname
    const method = request.method ?? "GET"
    const send = async (answered: Response) => {
      const type = answered.headers.get("content-type") ?? "application/json"
      response.writeHead(answered.status, { "content-type": type }).end(await answered.text())
    }
    if (path === "/token") {
      const headers = { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" }
      await send(await fetch(`${gateway.origin}/api/v1/keys/ephemeral`, { method, headers, body: "{}" }))
    } else if (path.startsWith("/api/v1/")) {
      const { authorization = "", "content-type": type = "", "idempotency-key": key } = request.headers
      const headers = {
        authorization,
        "content-type": type,
        ...(typeof key === "string" && { "idempotency-key": key })
      }
      const answered = await fetch(`${gateway.origin}${path}`, { method, headers, body: await buffer(request) })
      calls.push(`${method} ${path} ${answered.status} ${authorization.slice(7, 13)}`)
      await send(answered)
    } else {
      const file = join(folder, normalize(path === "/" ? "/index.html" : path))
      const type = types[extname(file)] ?? "application/octet-stream"
      response.writeHead(200, { "content-type": type }).end(readFileSync(file))
    }
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      response.writeHead(500, { "content-type": "text/plain" }).end(String(error))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return {
    origin: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    calls,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}
