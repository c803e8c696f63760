import { Effect, type Scope } from "effect"
import { createServer, request as forward } from "node:http"
import { connect, type Socket } from "node:net"

/** A request as it reached the proxy: its target, and the credential for the proxy. */
export interface Proxied {
  readonly method: string | undefined
  readonly target: string | undefined
  readonly authorization: string | undefined
}

/** The credential that the proxy does not accept. */
const refused = `Basic ${Buffer.from("me:wrong").toString("base64")}`

/** A proxy on loopback that sends everything to one port, whatever host was asked for. */
export const listen = (
  port: number
): Effect.Effect<{ readonly address: string; readonly seen: Array<Proxied> }, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<{ readonly address: string; readonly seen: Array<Proxied>; readonly stop: () => void }>(
      (resume) => {
        const seen: Array<Proxied> = []
        const sockets = new Set<Socket>()
        const server = createServer((request, response) => {
          seen.push({
            method: request.method,
            target: request.url,
            authorization: request.headers["proxy-authorization"]
          })
          const { "proxy-authorization": authorization, ...headers } = request.headers
          if (authorization === refused) {
            request.resume().on("end", () => response.writeHead(407).end("Sign in"))
            return
          }
          const path = request.url === undefined ? "/" : new URL(request.url).pathname
          request.pipe(
            forward({ host: "127.0.0.1", port, path, method: request.method, headers }, (answer) => {
              response.writeHead(answer.statusCode ?? 502, answer.headers)
              answer.pipe(response)
            })
          )
        })
        server.on("connection", (socket) => sockets.add(socket))
        server.on("connect", (request, socket, head) => {
          const authorization = request.headers["proxy-authorization"]
          seen.push({ method: request.method, target: request.url, authorization })
          if (authorization === refused) {
            socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            return
          }
          const upstream = connect(port, "127.0.0.1", () => {
            socket.write("HTTP/1.1 200 Connection Established\r\n\r\n")
            upstream.write(head)
            upstream.pipe(socket).pipe(upstream)
          })
          sockets.add(upstream)
          upstream.on("error", () => socket.destroy())
          socket.on("error", () => upstream.destroy())
        })
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          const at = address !== null && typeof address === "object" ? address.port : 0
          resume(
            Effect.succeed({
              address: `127.0.0.1:${at}`,
              seen,
              stop: () => {
                server.close()
                for (const socket of sockets) socket.destroy()
              }
            })
          )
        })
      }
    ),
    ({ stop }) => Effect.sync(stop)
  )
