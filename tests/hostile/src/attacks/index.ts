/**
 * Runs every attack against its own gateway, which must survive it, stay within its memory and keep
 * answering `/healthz` and the requests of another key. Afterward its ledger must be exact, its
 * memory must have returned, and it must start again on the same data.
 */
import { startRedis } from "@model-gateway/test-services/Redis"
import * as Ledger from "../ledger.ts"
import { ask } from "../client.ts"
import * as Database from "../database.ts"
import * as Doubles from "../doubles.ts"
import { type Gateway, heapMebibytes, type Options as GatewayOptions, start } from "../gateway.ts"
import * as Neighbor from "../neighbor.ts"
import { access } from "./access.ts"
import {
  type Attack,
  type Check,
  manager,
  milliseconds,
  type Outcome,
  pause,
  smallRerank,
  statusesOf,
  type Target,
  textOf
} from "./attack.ts"
import { commands } from "./commands.ts"
import { decoding } from "./decoding.ts"
import { disclosure } from "./disclosure.ts"
import { audioLengths } from "./lengths.ts"
import { management } from "./management.ts"
import { events } from "./events.ts"
import { memory } from "./memory.ts"
import { neighbors } from "./neighbors.ts"
import { outbound } from "./outbound.ts"
import { polls } from "./polls.ts"
import { rates } from "./rates.ts"
import { shutdown } from "./shutdown.ts"
import { shares } from "./shares.ts"
import { storage } from "./storage.ts"
import { upstreams } from "./upstreams.ts"
import { webhooks } from "./webhooks.ts"
import { videoRequests } from "./videoRequests.ts"
import { videos } from "./videos.ts"
import { wire } from "./wire.ts"

export type { Attack }

/** Every attack. */
export const attacks: ReadonlyArray<Attack> = [
  ...decoding,
  ...memory,
  ...storage,
  ...neighbors,
  ...outbound,
  ...shares,
  ...access,
  ...disclosure,
  ...management,
  ...commands,
  ...wire,
  ...polls,
  ...events,
  ...audioLengths,
  ...shutdown,
  ...webhooks,
  ...videoRequests,
  ...upstreams,
  ...videos,
  ...rates
]

/** The bounds of every attack. */
export interface Bounds {
  /** Maximum time of `/healthz` in milliseconds. */
  readonly health: number
  /**
   * Maximum memory of the process in MiB: its heap, and as much again for buffers, code and
   * threads.
   */
  readonly memory: number
  /** Maximum time of another key's small requests in milliseconds, at the 99th percentile. */
  readonly neighbor: number
}

/** The bounds of `pnpm hostile attacks`. */
export const strict: Bounds = { health: 250, memory: 2 * heapMebibytes, neighbor: 250 }

/**
 * Bounds for a machine that is busy with other work: no slow machine explains what is beyond them.
 */
export const lenient: Bounds = { ...strict, health: 4000, neighbor: 4000 }

/**
 * What may stay in memory after an attack: code that was not loaded before and caches of a fixed
 * size, in MiB.
 */
const maxKept = 48

/** Memory must return within this many milliseconds. */
const returnTime = 20_000

/** Where the attacks run. */
export interface Options {
  /** The gateway's `main.js`. */
  readonly main?: string | undefined
  /** A server of Postgres. Default: the gateway uses SQLite. */
  readonly postgres?: Database.Server | undefined
  /**
   * Requests that the attack has left in progress must end within this many milliseconds. Default:
   * 20,000.
   */
  readonly patience?: number | undefined
}

export interface Result {
  readonly attack: Attack
  readonly healthMax: number
  readonly memoryMax: number | undefined
  readonly stall: number
  /** The 99th percentile of another key's requests in milliseconds. NaN if it was not measured. */
  readonly neighbor: number
  /** MiB in use before and after the attack. */
  readonly memoryBefore: number
  readonly memoryAfter: number
  readonly figure: string
  readonly problems: ReadonlyArray<string>
}

const givenUp = (seconds: number): Promise<Outcome> =>
  new Promise((resolve) => {
    setTimeout(
      () => resolve({ figure: `not over after ${seconds} s`, problems: ["it did not end"] }),
      seconds * 1000
    ).unref()
  })

/** The outcome if the process dies during the attack. */
const died = async (gateway: Gateway): Promise<Outcome> => {
  await gateway.exited
  return { figure: `the process ended (${gateway.ended()})`, problems: ["the process ended"] }
}

const failed = (error: unknown): Outcome => {
  const reason = error instanceof Error ? error.message : String(error)
  return { figure: `could not be carried out: ${reason.slice(0, 200)}`, problems: ["could not be carried out"] }
}

const atMost = <A>(promise: Promise<A>, otherwise: A): Promise<A> =>
  Promise.race([promise, new Promise<A>((resolve) => void setTimeout(() => resolve(otherwise), 2000).unref())])

/** Several keys take turns, so that they stay below a low rate limit, too. */
const neighborKeys = 8

/** Makes another workspace with credits and keys of its own. */
const neighborOf = async (manage: Target["manage"]): Promise<ReadonlyArray<string>> => {
  const workspace = textOf(await manage("POST", "/workspaces", { name: "Neighbor", slug: "neighbor" }), "data", "id")
  await manage("POST", `/workspaces/${workspace}/credits`, { amount: 100 })
  const made = Array.from({ length: neighborKeys }, () =>
    manage("POST", "/keys", { name: "neighbor", workspace_id: workspace })
  )
  return (await Promise.all(made)).map((key) => textOf(key, "key"))
}

/** What another key has seen. */
const neighborProblems = ({ answers, failures, p99 }: Neighbor.Served, bounds: Bounds): ReadonlyArray<string> => [
  ...failures.map(
    ([status, count]) => `another key: ${count} of ${answers} answered ${status === 0 ? "nothing" : status}`
  ),
  ...(p99 > bounds.neighbor ? [`another key: ${milliseconds(p99)} at the 99th percentile`] : [])
]

/** Collects garbage until the memory has returned or the time is over. */
const memoryAfter = async (gateway: Gateway, before: number): Promise<number> => {
  const startedAt = performance.now()
  for (;;) {
    const now = await gateway.memory()
    if (!(now > before + maxKept) || performance.now() - startedAt > returnTime) return now
    await pause(500)
  }
}

/** A new process on the same data must serve, and still run a moment later. */
const restartProblems = async (options: GatewayOptions, key: string): Promise<ReadonlyArray<string>> => {
  const gateway = await start(options)
  try {
    const first = await ask(gateway.origin, smallRerank(key))
    await pause(1000)
    const second = await ask(gateway.origin, smallRerank(key))
    const answers = [first, second].filter(({ status }) => status !== 200)
    const ended = gateway.ended()
    return [
      ...(answers.length > 0 ? [`after a restart: answered ${statusesOf(answers)}`] : []),
      ...(ended === undefined ? [] : [`after a restart: the process ended (${ended})`])
    ]
  } finally {
    await gateway.kill()
  }
}

/** Runs one attack. */
export const carryOut = async (attack: Attack, bounds: Bounds, options: Options = {}): Promise<Result> => {
  const { main, patience = 20_000, postgres } = options
  const checks = (check: Check): boolean => attack.skips?.[check] === undefined
  const upstream = await Doubles.start()
  const databaseUrl = await postgres?.create()
  const redis = attack.redis === true ? await startRedis() : undefined
  const file = {
    ...attack.file?.(upstream.url),
    ...(redis === undefined ? undefined : { redisUrl: redis.url }),
    ...(databaseUrl === undefined ? undefined : { databaseUrl })
  }
  const started = await start({ main, settings: attack.settings, file })
  const others: Array<Gateway> = []
  const doubles: Array<Doubles.Double> = [upstream]
  let neighbor: Neighbor.Neighbor | undefined
  try {
    const manage = manager(started, started.managementKey)
    const keys = await neighborOf(manage)
    // Loads what the first request loads.
    for (const key of keys) await ask(started.origin, smallRerank(key))
    const memoryBefore = await started.memory()
    const lane = checks("neighbor") ? await Neighbor.start({ port: started.port, keys }) : undefined
    neighbor = lane
    const gateway: Gateway = {
      ...started,
      // What prepares an attack is not measured, also not at the other key.
      watch: {
        ...started.watch,
        reset: async () => {
          await lane?.reset()
          return started.watch.reset()
        }
      }
    }
    const query = databaseUrl === undefined ? Database.sqlite(gateway.dataDir) : Database.postgres(databaseUrl)
    const target: Target = {
      gateway,
      manage,
      upstream,
      redis,
      query,
      store: databaseUrl === undefined ? "sqlite" : "postgres",
      another: async (settings) => {
        const other = await start({ main, settings, file, dataDir: gateway.dataDir })
        others.push(other)
        return other
      },
      double: async (options) => {
        const double = await Doubles.start(options)
        doubles.push(double)
        return double
      },
      newKey: async (options) => {
        const made = await manage("POST", "/keys", { name: "hostile", ...options })
        return { key: textOf(made, "key"), hash: textOf(made, "data", "hash") }
      }
    }
    await gateway.stall()
    // An attack that ends the process on purpose notices its end before this does.
    const outcome = await Promise.race([
      attack.run(target).catch(failed),
      died(gateway).then((outcome) => new Promise<Outcome>((resolve) => setTimeout(() => resolve(outcome), 1000))),
      givenUp(attack.seconds ?? 60)
    ])
    // A process that the attack killed may take a moment to end.
    if (outcome.problems.length > 0) await atMost(gateway.exited, undefined)
    const seen = await gateway.watch.read()
    // A short attack has at least one request of the other key.
    if (lane !== undefined) await pause(200)
    const served = await lane?.read()
    await lane?.stop()
    const endsItself = gateway.ended() === "exit code 0"
    const stall = await atMost(gateway.stall(), Number.NaN)
    const after = checks("memory") ? await memoryAfter(gateway, memoryBefore) : Number.NaN
    const ledger = checks("ledger") ? await Ledger.problemsOf(query, patience) : []
    const ended = gateway.ended()
    for (const other of others) await other.kill()
    await gateway.kill()
    const { dataDir } = gateway
    const restart = checks("restart")
      ? await restartProblems({ main, settings: attack.settings, file, dataDir }, keys[0] ?? "").catch((error) => [
          `after a restart: ${failed(error).figure}`
        ])
      : []
    const later = checks("ledger") && checks("restart") ? await Ledger.problemsOf(query, patience) : []
    return {
      attack,
      healthMax: endsItself ? Number.NaN : seen.healthMax,
      memoryMax: seen.memoryMax,
      stall,
      neighbor: served?.p99 ?? Number.NaN,
      memoryBefore,
      memoryAfter: after,
      figure: outcome.figure,
      problems: [
        ...outcome.problems,
        ...(ended === undefined || endsItself ? [] : [`the process ended (${ended})`]),
        ...(!endsItself && seen.healthMax > bounds.health ? [`/healthz took ${milliseconds(seen.healthMax)}`] : []),
        ...(seen.memoryMax !== undefined && seen.memoryMax > bounds.memory
          ? [`${seen.memoryMax.toFixed(0)} MiB of memory`]
          : []),
        ...(served === undefined ? [] : neighborProblems(served, bounds)),
        // Neither is a number if the process could not be asked.
        ...(checks("memory") && !endsItself && !(after <= memoryBefore + maxKept)
          ? [`memory does not return: ${memoryBefore.toFixed(0)} MiB before, ${after.toFixed(0)} MiB after`]
          : []),
        ...ledger,
        ...restart,
        ...later.map((problem) => `after a restart: ${problem}`)
      ]
    }
  } finally {
    await neighbor?.stop()
    for (const other of others) await other.stop()
    await started.stop()
    for (const double of doubles) await double.stop()
    await redis?.dispose()
    if (databaseUrl !== undefined) await postgres?.drop(databaseUrl)
  }
}

const orDash = (value: number | undefined, format: (value: number) => string): string =>
  value === undefined || !Number.isFinite(value) ? "–" : format(value)

/** The table, in Markdown. */
export const report = (results: ReadonlyArray<Result>, bounds: Bounds, store: Database.Store): string => {
  const mebibytes = (value: number): string => `${value.toFixed(0)} MiB`
  const lines = [
    [
      "attack",
      "/healthz at most",
      "another key, p99",
      "longest stall",
      "memory at most",
      "memory before and after",
      "came to",
      "bound",
      "verdict"
    ],
    Array<string>(9).fill("---"),
    ...results.map((result) => [
      `${result.attack.name}: ${result.attack.title}`,
      orDash(result.healthMax, milliseconds),
      orDash(result.neighbor, milliseconds),
      orDash(result.stall, milliseconds),
      orDash(result.memoryMax, mebibytes),
      `${mebibytes(result.memoryBefore)}, ${orDash(result.memoryAfter, mebibytes)}`,
      result.figure,
      result.attack.bound,
      result.problems.length === 0 ? "pass" : `FAIL: ${[...new Set(result.problems)].join("; ")}`
    ])
  ]
  const skipped = results.flatMap(({ attack }) =>
    Object.entries(attack.skips ?? {}).map(
      ([check, reason]) => `- ${attack.name} skips the check "${check}": ${reason}`
    )
  )
  const bound =
    `${store}, heap ${heapMebibytes} MiB, /healthz within ${bounds.health} ms, ` +
    `another key within ${bounds.neighbor} ms at the 99th percentile, at most ${bounds.memory} MiB of memory`
  return [
    `### Hostile callers: ${bound}`,
    "",
    ...lines.map((cells) => `| ${cells.join(" | ")} |`),
    "",
    ...skipped,
    ""
  ].join("\n")
}
