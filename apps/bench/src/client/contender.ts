/**
 * One client in its own process, so that no client pays for another's garbage collection. Runs a
 * batch per message and returns the time of a call.
 */
import { type BatchSize, timed } from "../rounds.ts"
import * as Clients from "./clients.ts"

const [operation, name, origin = ""] = process.argv.slice(2)

const clients = await Clients.make(origin)
const chosen = (operation === "rerank" ? clients.rerank : clients.transcription).find((one) => one.name === name)
if (chosen === undefined) throw new Error(`no client ${name} for ${operation}`)

process.on("message", (size: BatchSize) => {
  void timed(chosen.call, size).then((microseconds) => process.send?.(microseconds))
})
process.once("disconnect", () => {
  void clients.close().then(() => process.exit())
})
process.send?.("ready")
