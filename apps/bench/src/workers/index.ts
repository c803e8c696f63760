/**
 * `pnpm bench workers`: paid reranks by the executable with 1, 2 and 3 workers, in turns, on SQLite
 * and on Postgres, which writes each commit to the disk, as it does by default.
 *
 * The load needs CPU time, too. So where the machine has few cores, the requests per second say
 * less than the CPU time of a request, which is that of all processes of the gateway.
 */
import { type Postgres, startPostgres } from "@model-gateway/test-services/Postgres"
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { availableParallelism, tmpdir } from "node:os"
import { join } from "node:path"
import { rerankRequest } from "../client/messages.ts"
import { cpuOf, type Executable, startExecutable } from "../executable.ts"
import { type Call, caller, type Figures } from "../load.ts"
import { inRounds, spread, table } from "../rounds.ts"
import { ratios } from "../targets.ts"
import type { LockWaits } from "./lockWaits.ts"

export const stores = ["SQLite", "Postgres"] as const

type Store = (typeof stores)[number]

const workers = [1, 2, 3]

const concurrencies = [64, 16, 1]

const lockWaits = new URL("./lockWaits.js", import.meta.url).href

interface Contender {
  readonly workers: number
  readonly gateway: Executable
  /** The folder of the files of lockWaits. */
  readonly locks: string
  readonly postgres: Postgres | undefined
}

interface Measured extends Figures {
  /** Microseconds of CPU time of Postgres for one request. */
  readonly database: number
  /** For one request. */
  readonly waits: number
  /** Milliseconds for one request. */
  readonly waited: number
}

const rerank = (key: string): Call => ({
  path: "/api/v1/rerank",
  method: "POST",
  body: JSON.stringify(rerankRequest),
  headers: () => ({ authorization: `Bearer ${key}`, "content-type": "application/json" })
})

const waitsOf = async ({ locks }: Contender): Promise<LockWaits> => {
  const files = await readdir(locks)
  const all = await Promise.all(
    files.map(async (file) => JSON.parse(await readFile(join(locks, file), "utf8")) as LockWaits)
  )
  return all.reduce((sum, { waits, waited }) => ({ waits: sum.waits + waits, waited: sum.waited + waited }), {
    waits: 0,
    waited: 0
  })
}

const startContender = async (store: Store, count: number): Promise<Contender> => {
  const postgres = store === "Postgres" ? await startPostgres({ durable: true }) : undefined
  const locks = await mkdtemp(join(tmpdir(), "model-gateway-bench-"))
  const gateway = await startExecutable({
    MODEL_GATEWAY_WORKERS: String(count),
    ...(postgres === undefined
      ? { NODE_OPTIONS: `--import ${lockWaits}`, BENCH_LOCK_WAITS: locks }
      : { DATABASE_URL: postgres.url })
  })
  return { workers: count, gateway, locks, postgres }
}

const stop = async ({ gateway, locks, postgres }: Contender): Promise<void> => {
  await gateway.remove()
  await rm(locks, { recursive: true, force: true })
  await postgres?.remove()
}

const measureAll = async (
  contenders: ReadonlyArray<Contender>,
  connections: number,
  quick: boolean
): Promise<ReadonlyArray<ReadonlyArray<Measured>>> => {
  const callers = contenders.map((contender) => {
    const { gateway } = contender
    const child = { origin: gateway.origin, usage: async () => ({ cpu: await cpuOf(gateway.pid) }) }
    return { contender, ...caller({ child, call: rerank(gateway.key) }, connections) }
  })
  for (const { measure } of callers) await measure(quick ? 500 : 2000)
  const rounds = await inRounds(callers, quick ? 2 : 9, async ({ calls, contender, measure }): Promise<Measured> => {
    const database = () => (contender.postgres === undefined ? 0 : cpuOf(contender.postgres.pid()))
    const [callsBefore, before, databaseBefore] = [calls(), await waitsOf(contender), await database()]
    const figures = await measure(quick ? 500 : 1000)
    const [made, after, databaseAfter] = [calls() - callsBefore, await waitsOf(contender), await database()]
    return {
      ...figures,
      database: (databaseAfter - databaseBefore) / made,
      waits: (after.waits - before.waits) / made,
      waited: (after.waited - before.waited) / made
    }
  })
  await Promise.all(callers.map(({ close }) => close()))
  return rounds
}

/** The table of a store. */
export const run = async (store: Store, quick: boolean): Promise<ReadonlyArray<string>> => {
  const contenders: Array<Contender> = []
  try {
    for (const count of workers) contenders.push(await startContender(store, count))
    const lines: Array<ReadonlyArray<string>> = []
    for (const connections of concurrencies) {
      const rounds = await measureAll(contenders, connections, quick)
      const each = (i: number, figure: keyof Measured) => (rounds[i] ?? []).map((measured) => measured[figure])
      const median = (i: number, figure: keyof Measured) => spread(each(i, figure)).median
      for (const [i, contender] of contenders.entries()) {
        const cpu = spread(each(i, "cpu"))
        const ratio = (figure: keyof Measured) => spread(ratios(each(i, figure), each(0, figure))).median.toFixed(2)
        lines.push([
          `${connections} at once, ${contender.workers} ${contender.workers === 1 ? "worker" : "workers"}`,
          ...[cpu.median, cpu.lower, cpu.min].map((value) => value.toFixed(0)),
          ratio("cpu"),
          ...(store === "Postgres" ? [median(i, "database").toFixed(0)] : []),
          median(i, "perSecond").toFixed(0),
          ratio("perSecond"),
          median(i, "p50").toFixed(1),
          median(i, "p99").toFixed(1),
          ...(store === "SQLite"
            ? [
                (median(i, "waits") * 1000).toFixed(0),
                (median(i, "waits") > 0 ? median(i, "waited") / median(i, "waits") : 0).toFixed(1)
              ]
            : [])
        ])
      }
    }
    return [
      table(
        `Workers on ${store}: paid rerank of 20 documents, ${availableParallelism()} cores for load, gateway and database`,
        [
          "CPU µs a request median",
          "lower quartile",
          "least",
          "× 1 worker",
          ...(store === "Postgres" ? ["Postgres µs"] : []),
          "requests/s",
          "× 1 worker",
          "p50 ms",
          "p99 ms",
          ...(store === "SQLite" ? ["waits for the lock, of 1,000 requests", "ms each"] : [])
        ],
        lines
      )
    ]
  } finally {
    await Promise.all(contenders.map(stop))
  }
}
