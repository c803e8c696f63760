/**
 * A receiver of webhooks and of broadcast events with TLS. `/ok` accepts what arrives, `/gone`
 * answers 410, and `/failing` 500.
 *
 * The database of a filled gateway has its address, so every copy starts it at the same port:
 * several processes can listen there.
 */
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { createServer } from "node:https"
import { fileURLToPath } from "node:url"

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../../apps/gateway/test/fixtures/${name}`, import.meta.url))

/** Makes a gateway trust the receiver, and allows its address. */
export const environment = {
  NODE_EXTRA_CA_CERTS: fixture("receiver.crt"),
  MODEL_GATEWAY_OUTBOUND_EXEMPT_HOSTS: "localhost"
}

const statuses = new Map([
  ["/ok", 204],
  ["/gone", 410]
])

export interface Receivers {
  readonly port: number
  readonly close: () => Promise<void>
}

/** 0 chooses a port. */
export const startReceivers = async (port: number): Promise<Receivers> => {
  const certificate = { cert: readFileSync(fixture("receiver.crt")), key: readFileSync(fixture("receiver.key")) }
  const server = createServer(certificate, (request, response) => {
    request.resume()
    request.on("end", () => response.writeHead(statuses.get(request.url ?? "") ?? 500).end())
  })
  server.listen({ host: "127.0.0.1", port, reusePort: process.platform === "linux" })
  await once(server, "listening")
  const address = server.address()
  return {
    port: address === null || typeof address === "string" ? port : address.port,
    close: async () => {
      const closed = once(server, "close")
      server.close()
      server.closeAllConnections()
      await closed
    }
  }
}
