/** The thread of `neighbor.ts`. */
import { Agent, request } from "node:http"
import { parentPort, workerData } from "node:worker_threads"
import { entriesOf, fieldOf } from "./client.ts"
import type { Served } from "./neighbor.ts"
import type { Question } from "./recorder.ts"

const interval = 50

const port = Number(fieldOf(workerData, "port"))
const keys = entriesOf(fieldOf(workerData, "keys")).map(([, key]) => String(key))
const body = JSON.stringify({
  model: "sandbox/bm25",
  query: "green tea",
  documents: ["a cup of green tea", "milk", "coffee"]
})

const agent = new Agent({ keepAlive: true, maxSockets: 1 })
let times: Array<number> = []
let failures = new Map<number, number>()
let answers = 0
let sent = 0
/** When the request in progress was sent. A reset restarts the time. */
let startedAt: number | undefined

/** The times of a request, and of those that would have been sent while it was in progress. */
const timesOf = (time: number): ReadonlyArray<number> =>
  Array.from({ length: 1 + Math.floor(time / interval) }, (_, at) => time - at * interval)

const send = (): void => {
  const begin = performance.now()
  startedAt = begin
  let isDone = false
  const done = (status: number): void => {
    if (isDone) return
    isDone = true
    times.push(...timesOf(performance.now() - (startedAt ?? begin)))
    startedAt = undefined
    answers++
    if (status !== 200) failures.set(status, (failures.get(status) ?? 0) + 1)
    setTimeout(send, Math.max(0, interval - (performance.now() - begin)))
  }
  const key = keys[sent++ % keys.length] ?? ""
  const asked = request(
    {
      agent,
      host: "127.0.0.1",
      port,
      method: "POST",
      path: "/api/v1/rerank",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "content-length": String(body.length)
      }
    },
    (response) => {
      response.resume()
      response.once("close", () => done(response.complete ? (response.statusCode ?? 0) : 0))
    }
  )
  asked.once("error", () => done(0))
  asked.end(body)
}

send()

parentPort?.on("message", (question: Question) => {
  const waiting = startedAt === undefined ? [] : timesOf(performance.now() - startedAt)
  const all = [...times, ...waiting].toSorted((one, other) => one - other)
  const served: Served = { answers, p99: all[Math.ceil(all.length * 0.99) - 1] ?? Number.NaN, failures: [...failures] }
  if (question === "reset") {
    times = []
    failures = new Map()
    answers = 0
    if (startedAt !== undefined) startedAt = performance.now()
  }
  parentPort?.postMessage(served)
})
