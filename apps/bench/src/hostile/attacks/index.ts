/**
 * Runs every attack against its own gateway, which must survive it, stay within its memory and keep
 * answering `/healthz`.
 */
import { type Gateway, heapMebibytes, start } from "../gateway.ts"
import { access } from "./access.ts"
import { type Attack, manager, milliseconds, type Outcome, type Target, textOf } from "./attack.ts"
import { decoding } from "./decoding.ts"
import { memory } from "./memory.ts"
import { neighbors } from "./neighbors.ts"
import { polls } from "./polls.ts"
import { storage } from "./storage.ts"
import { wire } from "./wire.ts"

/** Every attack. */
export const attacks: ReadonlyArray<Attack> = [
  ...decoding,
  ...memory,
  ...storage,
  ...neighbors,
  ...access,
  ...wire,
  ...polls
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
}

/** The bounds of `pnpm bench attacks`. */
export const strict: Bounds = { health: 250, memory: 2 * heapMebibytes }

export interface Result {
  readonly attack: Attack
  readonly healthMax: number
  readonly memoryMax: number | undefined
  readonly stall: number
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

/** Runs one attack. */
export const carryOut = async (attack: Attack, bounds: Bounds, main?: string): Promise<Result> => {
  const gateway = await start({ main, settings: attack.settings })
  const others: Array<Gateway> = []
  const manage = manager(gateway, gateway.managementKey)
  const target: Target = {
    gateway,
    manage,
    another: async (settings) => {
      const other = await start({ main, settings, dataDir: gateway.dataDir })
      others.push(other)
      return other
    },
    newKey: async (options) => {
      const made = await manage("POST", "/keys", { name: "hostile", ...options })
      return { key: textOf(made, "key"), hash: textOf(made, "data", "hash") }
    }
  }
  try {
    await gateway.stall()
    // An attack that ends the process on purpose notices its end before this does.
    const outcome = await Promise.race([
      attack.run(target).catch(failed),
      died(gateway).then((outcome) => new Promise<Outcome>((resolve) => setTimeout(() => resolve(outcome), 1000))),
      givenUp(attack.seconds ?? 60)
    ])
    // A process that the attack killed may take a moment to end.
    if (outcome.problems.length > 0) await atMost(gateway.exited, undefined)
    const endsItself = gateway.ended() === "exit code 0"
    const seen = await gateway.watch.read()
    const stall = await atMost(gateway.stall(), Number.NaN)
    return {
      attack,
      healthMax: endsItself ? Number.NaN : seen.healthMax,
      memoryMax: seen.memoryMax,
      stall,
      figure: outcome.figure,
      problems: [
        ...outcome.problems,
        ...(gateway.ended() === undefined || endsItself ? [] : [`the process ended (${gateway.ended()})`]),
        ...(!endsItself && seen.healthMax > bounds.health ? [`/healthz took ${milliseconds(seen.healthMax)}`] : []),
        ...(seen.memoryMax !== undefined && seen.memoryMax > bounds.memory
          ? [`${seen.memoryMax.toFixed(0)} MiB of memory`]
          : [])
      ]
    }
  } finally {
    for (const other of others) await other.stop()
    await gateway.stop()
  }
}

const orDash = (value: number | undefined, format: (value: number) => string): string =>
  value === undefined || !Number.isFinite(value) ? "–" : format(value)

/** The table, in Markdown. */
export const report = (results: ReadonlyArray<Result>, bounds: Bounds): string => {
  const lines = [
    ["attack", "/healthz at most", "longest stall", "memory at most", "came to", "bound", "verdict"],
    Array<string>(7).fill("---"),
    ...results.map(({ attack, figure, healthMax, memoryMax, problems, stall }) => [
      `${attack.name}: ${attack.title}`,
      orDash(healthMax, milliseconds),
      orDash(stall, milliseconds),
      orDash(memoryMax, (mebibytes) => `${mebibytes.toFixed(0)} MiB`),
      figure,
      attack.bound,
      problems.length === 0 ? "pass" : `FAIL: ${[...new Set(problems)].join("; ")}`
    ])
  ]
  const bound = `heap ${heapMebibytes} MiB, /healthz within ${bounds.health} ms, at most ${bounds.memory} MiB of memory`
  return [`### Hostile callers: ${bound}`, "", ...lines.map((cells) => `| ${cells.join(" | ")} |`), ""].join("\n")
}
