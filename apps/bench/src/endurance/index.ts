/**
 * `pnpm bench endurance`: what the executable uses after each 100,000 paid requests, on SQLite: its
 * memory, its file descriptors and its database.
 */
import { setTimeout } from "node:timers/promises"
import { Pool } from "undici"
import { rerankRequest } from "../client/messages.ts"
import { bytesIn, type Executable, metricsOf, startExecutable } from "../executable.ts"
import { table } from "../rounds.ts"
import { limits } from "../targets.ts"

export interface Options {
  /** Paid requests in all. */
  readonly requests: number
  /** Paid requests between two rows of the table. */
  readonly step: number
}

/** Requests at once. */
const connections = 32

const mebibyte = 1024 * 1024

interface Row {
  readonly requests: number
  readonly metrics: ReadonlyMap<string, number>
  readonly databaseBytes: number
  /** Of the requests since the last row. */
  readonly perSecond: number
}

const body = JSON.stringify(rerankRequest)

/** Sends paid requests, and returns how many there were each second. */
const send = async (pool: Pool, key: string, requests: number): Promise<number> => {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
  const startedAt = performance.now()
  let left = requests
  const worker = async () => {
    while (left-- > 0) {
      const response = await pool.request({ path: "/api/v1/rerank", method: "POST", headers, body })
      const text = await response.body.text()
      if (response.statusCode !== 200) throw new Error(`${response.statusCode}: ${text}`)
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  return requests / ((performance.now() - startedAt) / 1000)
}

const rowOf = async (gateway: Executable, requests: number, perSecond: number): Promise<Row> => {
  // What is written after an answer is part of it, and the metrics are read every 5 seconds.
  await setTimeout(6000)
  return { requests, metrics: await metricsOf(gateway), databaseBytes: await bytesIn(gateway.dataDir), perSecond }
}

const residentOf = ({ metrics }: Row): number => (metrics.get("process_resident_memory_bytes") ?? Number.NaN) / mebibyte

/** The tables, and what exceeds its limit. */
export const run = async ({
  requests,
  step
}: Options): Promise<{ readonly texts: ReadonlyArray<string>; readonly problems: ReadonlyArray<string> }> => {
  const gateway = await startExecutable()
  const pool = new Pool(gateway.origin, { connections, pipelining: 1 })
  try {
    const rows: Array<Row> = [await rowOf(gateway, 0, 0)]
    for (let sent = 0; sent < requests;) {
      const count = Math.min(step, requests - sent)
      const perSecond = await send(pool, gateway.key, count)
      sent += count
      const row = await rowOf(gateway, sent, perSecond)
      rows.push(row)
      process.stderr.write(`${sent} requests: ${residentOf(row).toFixed(0)} MiB\n`)
    }
    const [idle, first] = rows
    const last = rows.at(-1)
    const problems: Array<string> = []
    const atMost = (name: string, value: number, bound: number) => {
      if (!(value <= bound)) problems.push(`${name}: ${value.toFixed(0)} MiB, at most ${bound.toFixed(0)}`)
    }
    if (idle !== undefined) atMost("resident memory when idle", residentOf(idle), limits.idleMebibytes)
    if (first !== undefined && last !== undefined) {
      atMost(`resident memory after ${first.requests} requests`, residentOf(first), limits.loadedMebibytes)
      atMost(`resident memory after ${last.requests} requests`, residentOf(last), limits.loadedMebibytes)
    }
    const inMebibytes = (row: Row, name: string) => ((row.metrics.get(name) ?? Number.NaN) / mebibyte).toFixed(0)
    return {
      texts: [
        table(
          `Paid reranks of 20 documents, ${connections} at once, on SQLite`,
          ["RSS MiB", "heap MiB", "heap used MiB", "external MiB", "files", "database bytes a request", "requests/s"],
          rows.map((row, i) => {
            const before = rows[i - 1]
            return [
              String(row.requests),
              ...[
                "process_resident_memory_bytes",
                "nodejs_heap_size_total_bytes",
                "nodejs_heap_size_used_bytes",
                "nodejs_external_memory_bytes"
              ].map((name) => inMebibytes(row, name)),
              String(row.metrics.get("process_open_fds")),
              before === undefined
                ? ""
                : ((row.databaseBytes - before.databaseBytes) / (row.requests - before.requests)).toFixed(0),
              before === undefined ? "" : row.perSecond.toFixed(0)
            ]
          })
        )
      ],
      problems
    }
  } finally {
    await pool.close()
    await gateway.remove()
  }
}
