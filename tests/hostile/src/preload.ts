/**
 * Loaded into the gateway before its own code. Reports to the parent process how long the event
 * loop was blocked, and how much memory is in use after the garbage was collected.
 */
import dns from "node:dns"
import { syncBuiltinESMExports } from "node:module"
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

const nameServer = process.env["MODEL_GATEWAY_HOSTILE_NAME_SERVER"]
// The gateway refuses variables that it does not know.
delete process.env["MODEL_GATEWAY_HOSTILE_NAME_SERVER"]

/** The time after which the operating system gives a silent name up, in milliseconds. */
const systemTimeout = 10_000

/** Node asks the operating system for two names at a time. */
const maxLookUps = 2

const isFunction = (value: unknown): value is (...answer: ReadonlyArray<unknown>) => void => typeof value === "function"

if (nameServer !== undefined) {
  const { lookup } = dns
  const servers = [nameServer]
  const waiting: Array<ReadonlyArray<unknown>> = []
  let busy = 0
  const start = (): void => {
    while (busy < maxLookUps) {
      const parameters = waiting.shift()
      if (parameters === undefined) return
      busy++
      const callback = parameters.at(-1)
      const done = (...answer: ReadonlyArray<unknown>): void => {
        busy--
        start()
        if (isFunction(callback)) callback(...answer)
      }
      const isSilent = String(parameters[0]).endsWith(".silent.example")
      if (!isSilent) Reflect.apply(lookup, dns, [...parameters.slice(0, -1), done])
      else setTimeout(() => done(Object.assign(new Error("no answer"), { code: "EAI_AGAIN" })), systemTimeout)
    }
  }
  Object.assign(dns, {
    lookup: (...parameters: ReadonlyArray<unknown>) => {
      waiting.push(parameters)
      start()
    }
  })
  Object.assign(dns.promises, {
    Resolver: class extends dns.promises.Resolver {
      constructor(options?: dns.ResolverOptions) {
        super(options)
        this.setServers(servers)
      }
    }
  })
  syncBuiltinESMExports()
}
