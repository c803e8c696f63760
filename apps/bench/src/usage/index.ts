/**
 * `pnpm bench usage`: how long the activity and the request log take with a month of 1,000,000
 * requests in the ledger, and what it costs a paid request that the database keeps the sums of each
 * day. For the second, the same gateway runs in turns without them: on Postgres with a function
 * that adds nothing to them, on SQLite with a table that ignores changes. Postgres writes each
 * commit to the disk, as it does by default.
 */
import { availableParallelism } from "node:os"
import { type Postgres, startPostgres } from "@model-gateway/test-services/Postgres"
import * as Child from "../child.ts"
import { rerankRequest } from "../client/messages.ts"
import { inRounds, spread, table, timed } from "../rounds.ts"
import { judge, ratios, targets } from "../targets.ts"
import { type Request, throughput } from "../throughput.ts"

/** Requests in the ledger, in 31 days. */
const ledger = 1_000_000

/** The most that a read may take in the best round, in milliseconds: others use the machine too. */
const bound = 50

/** Concurrent connections that send paid requests. */
const connections = 32

const rerank: Request = { path: "/api/v1/rerank", method: "POST", body: JSON.stringify(rerankRequest) }

/** Each read, and how many items it has at least. */
const reads: ReadonlyArray<readonly [name: string, path: string, items: number]> = [
  ["the reference: a page of keys", "/keys?limit=1", 1],
  ["activity of 31 days", "/activity", 2000],
  ["activity of a day", "/activity?date=YESTERDAY", 75],
  ["activity of a key", "/activity?api_key_hash=key-7", 90],
  ["activity by workspace", "/activity?group_by=workspace", 2000],
  ["newest 100 requests", "/generations", 100],
  ["newest of a key", "/generations?key_hash=key-7", 2],
  ["newest of a model that failed", "/generations?model=bench/model-0&status=failed", 30],
  ["newest of a key, 15 days ago", "/generations?key_hash=key-7&to=EARLIER", 2],
  ["requests of no model", "/generations?model=none", 0]
]

const dayMillis = 86_400_000

const timeOf = (daysAgo: number): string => new Date(Date.now() - daysAgo * dayMillis).toISOString()

const itemsIn = (body: unknown): number =>
  typeof body === "object" && body !== null && "data" in body && Array.isArray(body.data) ? body.data.length : 0

const read = async ({ managementKey, origin }: Child.Child, path: string, items: number): Promise<void> => {
  const at = path.replace("YESTERDAY", timeOf(1).slice(0, 10)).replace("EARLIER", timeOf(15))
  const response = await fetch(`${origin}/api/v1${at}`, { headers: { authorization: `Bearer ${managementKey}` } })
  const found = itemsIn(await response.json())
  if (response.status !== 200 || found < items) throw new Error(`${at}: ${response.status}, ${found} items`)
}

interface Result {
  readonly text: string
  readonly problems: ReadonlyArray<string>
}

const readTable = async (database: string, child: Child.Child, rounds: number): Promise<Result> => {
  const measured = await inRounds(reads, rounds, ([, path, items]) =>
    timed(() => read(child, path, items), { calls: 5, concurrency: 1 })
  )
  const reference = measured[0] ?? []
  const rows = reads.map(([name], i) => {
    const own = measured[i] ?? []
    const ratio = spread(own.map((time, round) => time / (reference[round] ?? Number.NaN)))
    const { max, median, min } = spread(own.map((time) => time / 1000))
    return { name, cells: [...[min, median, max].map((ms) => ms.toFixed(1)), ratio.median.toFixed(1)], min }
  })
  return {
    text: table(
      `Usage on ${database}: reads of a month of ${ledger.toLocaleString("en")} requests, to stay under ${bound} ms`,
      ["ms min", "median", "max", "× reference"],
      rows.map(({ cells, name }) => [name, ...cells])
    ),
    problems: rows
      .filter(({ min }) => !(min < bound))
      .map(({ min, name }) => `${database}, ${name}: ${min.toFixed(1)} ms`)
  }
}

const writeTable = async (
  database: string,
  contenders: readonly [without: Child.Child, sums: Child.Child],
  quick: boolean
): Promise<Result> => {
  const load = { connections, seconds: quick ? 1 : 3 }
  const measured = await inRounds(contenders, quick ? 3 : 15, (child) => throughput(child, rerank, load))
  const reference = measured[0] ?? []
  const rows = measured.map((own, i) => ({
    name: i === 0 ? "without sums" : "with sums",
    ratio: spread(own.map(({ perSecond }, round) => perSecond / (reference[round]?.perSecond ?? Number.NaN))),
    perSecond: spread(own.map(({ perSecond }) => perSecond)).median
  }))
  const perSecond = (i: number) => (measured[i] ?? []).map(({ perSecond }) => perSecond)
  const { ratio, verdict } = judge(targets.sums, ratios(perSecond(1), perSecond(0)))
  return {
    text: table(
      `Usage on ${database}: paid rerank of 20 documents, ${connections} connections, ${availableParallelism()} cores, to reach ${targets.sums.bound} × without sums`,
      ["× without sums min", "median", "max", "requests/s"],
      rows.map(({ name, perSecond, ratio }) => [
        name,
        ...[ratio.min, ratio.median, ratio.max].map((value) => value.toFixed(3)),
        perSecond.toFixed(0)
      ])
    ),
    problems: verdict === "missed" ? [`${database}: ${ratio.median.toFixed(3)} of the paid requests without sums`] : []
  }
}

export const databases = ["SQLite", "Postgres"] as const

/** The tables of a database, and what missed its bound. */
export const run = async (
  database: (typeof databases)[number],
  quick: boolean
): Promise<{ readonly texts: ReadonlyArray<string>; readonly problems: ReadonlyArray<string> }> => {
  const servers: Array<Postgres> = []
  const children: Array<Child.Child> = []
  const start = async (sums: string): Promise<Child.Child> => {
    const server = database === "Postgres" ? await startPostgres({ durable: true }) : undefined
    if (server !== undefined) servers.push(server)
    const args = [String(ledger), sums, ...(server === undefined ? [] : [server.url])]
    const child = await Child.start("./usage/gateway.js", args)
    children.push(child)
    return child
  }
  try {
    const without = await start("no sums")
    const sums = await start("sums")
    const results = [
      await readTable(database, sums, quick ? 3 : 20),
      await writeTable(database, [without, sums], quick)
    ]
    return { texts: results.map(({ text }) => text), problems: results.flatMap(({ problems }) => problems) }
  } finally {
    await Promise.all(children.map((child) => child.stop()))
    await Promise.all(servers.map((server) => server.remove()))
  }
}
