import { once } from "node:events"
import { createServer } from "node:net"

/**
 * A port of the loopback address that no program listens on. Another program may take it before it
 * is used.
 */
export const freePort = async () => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address()
  server.close()
  await once(server, "close")
  return port
}
