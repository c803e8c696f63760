/** The thread of `watch.ts`. */
import { readFileSync } from "node:fs"
import { Agent, get } from "node:http"
import { parentPort, workerData } from "node:worker_threads"
import { fieldOf } from "./client.ts"
import type { Question } from "./recorder.ts"
import type { Seen } from "./watch.ts"

const interval = 50

const port = Number(fieldOf(workerData, "port"))
const pid = Number(fieldOf(workerData, "pid"))

const agent = new Agent({ keepAlive: true, maxSockets: 1 })
let healthMax = 0
let healthFailures = 0
let probes = 0
let memoryMax: number | undefined
/** When the request in progress was sent. A reset restarts the time. */
let startedAt: number | undefined

const memory = (): number | undefined => {
  try {
    const kibibytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
    return kibibytes === undefined ? undefined : Number(kibibytes) / 1024
  } catch {
    return undefined
  }
}

const measureMemory = (): void => {
  const now = memory()
  if (now !== undefined) memoryMax = Math.max(memoryMax ?? 0, now)
}

const probe = (): void => {
  const start = performance.now()
  startedAt = start
  let isDone = false
  const done = (ok: boolean): void => {
    if (isDone) return
    isDone = true
    probes++
    healthMax = Math.max(healthMax, performance.now() - (startedAt ?? start))
    startedAt = undefined
    if (!ok) healthFailures++
    setTimeout(probe, Math.max(0, interval - (performance.now() - start)))
  }
  get({ agent, host: "127.0.0.1", port, path: "/healthz" }, (response) => {
    response.resume()
    response.once("close", () => done(response.statusCode === 200))
  }).once("error", () => done(false))
}

probe()
setInterval(measureMemory, interval)

parentPort?.on("message", (question: Question) => {
  measureMemory()
  const waiting = startedAt === undefined ? 0 : performance.now() - startedAt
  const seen: Seen = { healthMax: Math.max(healthMax, waiting), healthFailures, probes, memoryMax }
  if (question === "reset") {
    healthMax = 0
    healthFailures = 0
    probes = 0
    memoryMax = undefined
    if (startedAt !== undefined) startedAt = performance.now()
  }
  parentPort?.postMessage(seen)
})
