import { Context, Effect, Layer } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { Socket } from "node:net"

/** A test's server: its address and its connections. */
export class Peer extends Context.Service<
  Peer,
  {
    readonly origin: string
    /** The number of connections opened so far. */
    readonly connections: () => number
    /** The number of connections that are open now. */
    readonly open: () => number
    /** Waits until no connection is open. */
    readonly allClosed: Effect.Effect<void>
  }
>()("test/Peer") {}

/** A loopback server with the given handler. */
export const layer = (answer: (request: IncomingMessage, response: ServerResponse) => void): Layer.Layer<Peer> =>
  Layer.effect(
    Peer,
    Effect.acquireRelease(
      Effect.callback<{ readonly peer: Peer["Service"]; readonly stop: () => void }>((resume) => {
        const sockets = new Set<Socket>()
        const waiting: Array<() => void> = []
        let connections = 0
        const server = createServer(answer)
        server.on("connection", (socket) => {
          connections++
          sockets.add(socket)
          socket.on("close", () => {
            sockets.delete(socket)
            if (sockets.size === 0) for (const wake of waiting.splice(0)) wake()
          })
        })
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          const port = address !== null && typeof address === "object" ? address.port : 0
          resume(
            Effect.succeed({
              peer: {
                origin: `http://127.0.0.1:${port}`,
                connections: () => connections,
                open: () => sockets.size,
                allClosed: Effect.callback((resume) => {
                  if (sockets.size === 0) resume(Effect.void)
                  else waiting.push(() => resume(Effect.void))
                })
              },
              stop: () => {
                server.close()
                for (const socket of sockets) socket.destroy()
              }
            })
          )
        })
      }),
      ({ stop }) => Effect.sync(stop)
    ).pipe(Effect.map(({ peer }) => peer))
  )
