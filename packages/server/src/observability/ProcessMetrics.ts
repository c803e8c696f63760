/**
 * What Node and the operating system say of this process, under the names that Prometheus clients
 * give it, so that existing dashboards show it.
 */
import { Effect, type Layer, Metric } from "effect"
import { readdir, readFile } from "node:fs/promises"
import { monitorEventLoopDelay, performance } from "node:perf_hooks"
import { cpuUsage, memoryUsage, version } from "node:process"
import { getHeapStatistics } from "node:v8"
import * as MetricFamily from "./MetricFamily.ts"
import * as Scrape from "./Scrape.ts"

const { counter, families, gauge } = MetricFamily.declarations()

/** Every family of this module. */
export { families }

const cpu = counter("process_cpu_seconds_total", { help: "CPU time of the process, in all its threads", labels: [] })

const startTime = gauge("process_start_time_seconds", {
  help: "When the process started, in seconds since 1970",
  labels: []
})

const residentMemory = gauge("process_resident_memory_bytes", { help: "Memory of the process", labels: [] })

const openFiles = gauge("process_open_fds", {
  help: "Open file descriptors, connections among them. Only on Linux",
  labels: []
})

const maxFiles = gauge("process_max_fds", {
  help: "Maximum number of open file descriptors. Only on Linux",
  labels: []
})

const heapUsed = gauge("nodejs_heap_size_used_bytes", { help: "Used memory of the JavaScript heap", labels: [] })

const heapTotal = gauge("nodejs_heap_size_total_bytes", { help: "Memory of the JavaScript heap", labels: [] })

const heapLimit = gauge("nodejs_heap_size_limit_bytes", {
  help: "Size of the JavaScript heap at which Node ends the process",
  labels: []
})

const external = gauge("nodejs_external_memory_bytes", {
  help: "Memory of buffers, outside of the JavaScript heap",
  labels: []
})

const lagMean = gauge("nodejs_eventloop_lag_mean_seconds", {
  help: "How late timers ran, on average since the last reading",
  labels: []
})

const lagP99 = gauge("nodejs_eventloop_lag_p99_seconds", {
  help: "How late timers ran, at the 99th percentile since the last reading",
  labels: []
})

const lagMax = gauge("nodejs_eventloop_lag_max_seconds", {
  help: "How late a timer ran at most since the last reading",
  labels: []
})

const utilization = gauge("nodejs_eventloop_utilization", {
  help: "Share of the time since the last reading in which the event loop was busy, from 0 to 1",
  labels: []
})

const nodeVersion = gauge("nodejs_version_info", { help: "Always 1", labels: ["version"] })

/** Milliseconds. The delay that Node measures includes the time for which its timer waits. */
const resolution = 20

const lagOf = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e9 - resolution / 1e3)

/** Undefined where there is no `/proc`. */
const descriptors = Effect.option(
  Effect.tryPromise(async () => {
    const [open, limits] = await Promise.all([readdir("/proc/self/fd"), readFile("/proc/self/limits", "utf8")])
    const [, max] = /^Max open files\s+(\d+)/m.exec(limits) ?? []
    return { open: open.length, max: max === undefined ? undefined : Number(max) }
  })
)

const make = Effect.gen(function* () {
  const context = yield* Effect.context<never>()
  const startedAt = performance.timeOrigin / 1000
  // The kernel counts it since the start of the process, so it is not a sum of increases.
  const registration = Metric.registerUnsafe(cpu(), context, {
    get: () => {
      const { system, user } = cpuUsage()
      return { count: (system + user) / 1e6, incremental: true }
    },
    update: () => {},
    modify: () => {}
  })
  yield* Effect.addFinalizer(() => Effect.sync(registration.remove))
  const delay = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const histogram = monitorEventLoopDelay({ resolution })
      histogram.enable()
      return histogram
    }),
    (histogram) => Effect.sync(() => histogram.disable())
  )
  let since = performance.eventLoopUtilization()

  const update = Effect.map(descriptors, (found) => {
    const set = (series: Metric.Gauge<number>, value: number) => series.updateUnsafe(value, context)
    const memory = memoryUsage()
    set(startTime(), startedAt)
    set(residentMemory(), memory.rss)
    set(heapUsed(), memory.heapUsed)
    set(heapTotal(), memory.heapTotal)
    set(heapLimit(), getHeapStatistics().heap_size_limit)
    set(external(), memory.external)
    set(lagMean(), lagOf(delay.mean))
    set(lagP99(), lagOf(delay.percentile(99)))
    set(lagMax(), lagOf(delay.max))
    delay.reset()
    const now = performance.eventLoopUtilization()
    set(utilization(), performance.eventLoopUtilization(now, since).utilization)
    since = now
    set(nodeVersion(version), 1)
    if (found._tag === "None") return
    set(openFiles(), found.value.open)
    if (found.value.max !== undefined) set(maxFiles(), found.value.max)
  })
  return [{ name: "process", update }]
})

/** Measures this process as long as the layer lives. */
export const layer: Layer.Layer<never, never, Scrape.Scrape> = Scrape.layerSources(make)
