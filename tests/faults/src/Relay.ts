/**
 * The connections of one process to Postgres. They can be cut at once, as the system does when a
 * process dies, and show whether an answer is awaited.
 */
import { connect, createServer, type AddressInfo, type Socket } from "node:net"
import type { Simulation } from "./Simulation.ts"

/** A relay. */
export interface Relay {
  readonly port: number
  /** Cuts all connections and accepts no more. */
  readonly cut: () => void
}

/** The end of an answer: `ReadyForQuery`, a message of 5 bytes after its type. */
const isReady = (bytes: Buffer): boolean =>
  bytes.length >= 6 && bytes.readUInt8(bytes.length - 6) === 0x5a && bytes.readUInt32BE(bytes.length - 5) === 5

/** Opens a relay to the server. */
export const open = async (
  simulation: Simulation,
  to: { readonly host: string; readonly port: number }
): Promise<Relay> => {
  const sockets = new Set<Socket>()
  const server = createServer((caller) => {
    const postgres = connect(to)
    let awaited: (() => void) | undefined = simulation.external()
    const answered = () => {
      awaited?.()
      awaited = undefined
    }
    for (const [from, into] of [
      [caller, postgres],
      [postgres, caller]
    ] as const) {
      sockets.add(from)
      from.setNoDelay(true)
      from.on("error", () => {})
      from.on("close", () => {
        answered()
        sockets.delete(from)
        into.destroy()
      })
    }
    caller.on("data", (bytes) => {
      awaited ??= simulation.external()
      postgres.write(bytes)
    })
    postgres.on("data", (bytes) => {
      caller.write(bytes)
      if (isReady(bytes)) answered()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address: AddressInfo | string | null = server.address()
  if (address === null || typeof address === "string") throw new Error("no port")
  return {
    port: address.port,
    cut: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    }
  }
}
