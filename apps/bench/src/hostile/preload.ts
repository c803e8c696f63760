/**
 * Loaded into the gateway before its own code: tells the parent process how long the event loop has
 * stalled.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
process.on("message", (message) => {
  if (message !== "stall") return
  process.send?.(delay.max / 1e6)
  delay.reset()
})
// A gateway must not outlive the process that attacks it.
process.once("disconnect", () => process.exit())
// The channel must not keep a gateway alive that wants to end.
process.channel?.unref()
