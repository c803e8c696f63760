/**
 * A proxy before Postgres that sees which step of a paid request a statement is, and breaks there
 * once: before the statement, or after its commit and before its answer.
 */
import { Effect } from "effect"
import { connect, createServer, type Socket } from "node:net"

/** A step that is one commit. */
export interface Break {
  readonly step: "claim" | "hold" | "end"
  readonly when: "before" | "after"
}

/** All of them. */
export const breaks = (["claim", "hold", "end"] as const).flatMap((step) =>
  (["before", "after"] as const).map((when): Break => ({ step, when }))
)

/** Whether the bytes to the server contain the step of the request with this idempotency key. */
const isStep = (bytes: string, step: Break["step"], key: string): boolean =>
  step === "claim" ? bytes.includes(key) && !bytes.includes(`"kind"`) : bytes.includes(`"kind":"${step}"`)

/** The server is ready for the next statement, outside a transaction. */
const ready = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

/** Until the scope closes. `arm` runs `act` at the next such step; all connections are cut then. */
export const make = (databaseUrl: string) =>
  Effect.acquireRelease(
    Effect.callback<{
      readonly url: string
      readonly arm: (at: Break, key: string, act: () => void) => void
      readonly close: () => void
    }>((resume) => {
      const target = new URL(databaseUrl)
      const sockets = new Set<Socket>()
      let armed: { readonly at: Break; readonly key: string; readonly act: () => void } | undefined

      const cut = () => {
        armed?.act()
        armed = undefined
        for (const socket of sockets) socket.destroy()
      }

      const server = createServer((client) => {
        const upstream = connect(Number(target.port), target.hostname)
        let isCommitting = false
        for (const socket of [client, upstream]) {
          sockets.add(socket)
          socket.on("error", () => socket.destroy())
          socket.on("close", () => sockets.delete(socket))
        }
        client.on("close", () => upstream.destroy())
        upstream.on("close", () => client.destroy())
        client.on("data", (bytes: Buffer) => {
          if (armed !== undefined && isStep(bytes.toString("latin1"), armed.at.step, armed.key)) {
            if (armed.at.when === "before") return cut()
            isCommitting = true
          }
          upstream.write(bytes)
        })
        upstream.on("data", (bytes: Buffer) => {
          if (isCommitting && bytes.includes(ready)) return cut()
          client.write(bytes)
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const url = new URL(databaseUrl)
        url.hostname = "127.0.0.1"
        url.port = String(typeof address === "object" && address !== null ? address.port : 0)
        resume(
          Effect.succeed({
            url: url.href,
            arm: (at, key, act) => {
              armed = { at, key, act }
            },
            close: () => {
              server.close()
              for (const socket of sockets) socket.destroy()
            }
          })
        )
      })
    }),
    ({ close }) => Effect.sync(close)
  )
