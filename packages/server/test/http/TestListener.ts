/** HTTP servers on this machine for tests. */
import { Effect } from "effect"
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http"

/** The port of the server, which listens until the scope closes. Open connections end with it. */
export const listening = Effect.fnUntraced(function* (server: Server) {
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  )
  const address = server.address()
  if (address === null || typeof address === "string") return yield* Effect.die(new Error("no port"))
  return address.port
})

/** A request. */
export interface Received {
  readonly path: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/**
 * A server that passes each whole request to `reply`, and listens until the scope closes. Returns
 * its port.
 */
export const receiving = (reply: (response: ServerResponse, received: Received) => void) =>
  listening(
    createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        const { headers, method = "", url: path = "" } = request
        reply(response, { path, method, headers, body: Buffer.concat(chunks) })
      })
    })
  )
