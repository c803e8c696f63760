/** Listens on this machine for a test. */
import { Effect } from "effect"
import type { Server } from "node:http"

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
