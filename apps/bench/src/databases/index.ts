/**
 * `pnpm bench databases`: a paid rerank on SQLite, on Postgres with one process of the gateway, and
 * on Postgres with two, in turns. Postgres writes each commit to the disk, as it does by default.
 */
import { availableParallelism } from "node:os"
import { startPostgres } from "@model-gateway/test-services/Postgres"
import * as Child from "../child.ts"
import { rerankRequest } from "../client/messages.ts"
import { inRounds, spread, table } from "../rounds.ts"
import { type Request, throughput, type Throughput } from "../throughput.ts"

/** Concurrent connections, spread over the processes. */
const connections = 32

interface Contender {
  readonly name: string
  readonly processes: ReadonlyArray<Child.Child>
}

const rerank: Request = { path: "/api/v1/rerank", method: "POST", body: JSON.stringify(rerankRequest) }

const measure = async ({ processes }: Contender, seconds: number): Promise<Throughput> => {
  const load = { connections: connections / processes.length, seconds }
  const all = await Promise.all(processes.map((child) => throughput(child, rerank, load)))
  return {
    perSecond: all.reduce((sum, { perSecond }) => sum + perSecond, 0),
    p50: Math.max(...all.map(({ p50 }) => p50)),
    p99: Math.max(...all.map(({ p99 }) => p99))
  }
}

/** The table. */
export const run = async (quick: boolean): Promise<ReadonlyArray<string>> => {
  const postgres = await startPostgres({ durable: true })
  const children: Array<Child.Child> = []
  const start = async (...args: ReadonlyArray<string>): Promise<Child.Child> => {
    const child = await Child.start("./service/gateway.js", args)
    children.push(child)
    return child
  }
  try {
    const sqlite = await start()
    const first = await start(postgres.url)
    const second = await start(postgres.url, first.apiKey)
    const contenders: ReadonlyArray<Contender> = [
      { name: "Postgres, one process", processes: [first] },
      { name: "Postgres, two processes", processes: [first, second] },
      { name: "SQLite, one process", processes: [sqlite] }
    ]
    const seconds = quick ? 1 : 5
    const rounds = await inRounds(contenders, quick ? 2 : 7, (contender) => measure(contender, seconds))
    const reference = rounds[0] ?? []
    return [
      table(
        `Databases: paid rerank of 20 documents, ${connections} connections, ${availableParallelism()} cores for load, gateway and database`,
        ["× Postgres with one min", "median", "max", "requests/s", "p50 ms", "p99 ms"],
        contenders.map(({ name }, i) => {
          const own = rounds[i] ?? []
          const ratio = spread(
            own.map(({ perSecond }, round) => perSecond / (reference[round]?.perSecond ?? Number.NaN))
          )
          return [
            name,
            ratio.min.toFixed(2),
            ratio.median.toFixed(2),
            ratio.max.toFixed(2),
            spread(own.map(({ perSecond }) => perSecond)).median.toFixed(0),
            spread(own.map(({ p50 }) => p50)).median.toFixed(0),
            spread(own.map(({ p99 }) => p99)).median.toFixed(0)
          ]
        })
      )
    ]
  } finally {
    await Promise.all(children.map((child) => child.stop()))
    await postgres.remove()
  }
}
