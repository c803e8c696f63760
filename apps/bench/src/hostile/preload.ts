/**
 * Loaded into the gateway before its own code. Reports to the parent process how long the event
 * loop was blocked, and how much memory is in use after the garbage was collected.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
process.on("message", (message) => {
  if (message === "stall") {
    process.send?.(delay.max / 1e6)
    delay.reset()
  } else if (message === "memory") {
    globalThis.gc?.()
    const { external, heapUsed } = process.memoryUsage()
    process.send?.((heapUsed + external) / 1024 / 1024)
    // The collection itself blocks the event loop.
    delay.reset()
  }
})
// A gateway must not outlive the process that attacks it.
process.once("disconnect", () => process.exit())
// The channel must not keep the gateway alive when it wants to end.
process.channel?.unref()
