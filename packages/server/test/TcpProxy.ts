/** A TCP proxy in front of a server, for tests that watch its connections or break them. */
import { Effect } from "effect"
import { connect, createServer, type Socket } from "node:net"

/** What watches one connection. It is closed, and the bytes are lost, where this returns false. */
export interface Watcher {
  readonly toServer: (bytes: Buffer) => boolean
  readonly toClient: (bytes: Buffer) => boolean
}

/** Starts it in front of the server at the URL. It stops with the scope. */
export const make = Effect.fnUntraced(function* (url: string, watch: () => Watcher) {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const closeAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    const watcher = watch()
    const close = () => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on("error", close)
      socket.on("close", () => {
        sockets.delete(socket)
        close()
      })
    }
    client.on("data", (bytes) => void (watcher.toServer(bytes) ? upstream.write(bytes) : close()))
    upstream.on("data", (bytes) => void (watcher.toClient(bytes) ? client.write(bytes) : close()))
  })
  yield* Effect.callback<void>((resume) => {
    server.listen(0, "127.0.0.1", () => resume(Effect.void))
  })
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      server.close()
      closeAll()
    })
  )
  const address = server.address()
  if (address === null || typeof address === "string") return yield* Effect.die(new Error("The proxy has no port"))
  const proxied = new URL(url)
  proxied.host = `127.0.0.1:${address.port}`
  return {
    /** The URL through the proxy. */
    url: proxied.href,
    /** Closes all connections. */
    closeAll
  }
})
