/** A server of one test. */
import type { Server } from "node:net"
import { onTestFinished } from "vitest"

/** Listens on a free port of the loopback address until the test ends. Returns the port. */
export const listen = async (server: Server & { readonly closeAllConnections: () => void }): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}
