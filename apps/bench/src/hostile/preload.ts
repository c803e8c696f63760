/**
 * Loaded into the gateway before its own code. Reports to the parent process how long the event
 * loop was blocked.
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
// The channel must not keep the gateway alive when it wants to end.
process.channel?.unref()
