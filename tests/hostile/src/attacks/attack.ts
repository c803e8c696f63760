/** The type of an attack, and helpers for attacks. */
import type { RedisServer } from "@model-gateway/test-services/Redis"
import { type Answer, ask, fieldOf, jsonOf, type Question } from "../client.ts"
import type { Query, Store } from "../database.ts"
import type { Double } from "../doubles.ts"
import { problemWith } from "../errorEnvelope.ts"
import type { Gateway, Settings } from "../gateway.ts"

/** The result of an attack. */
export interface Outcome {
  /** The measurements of the attack, as text. */
  readonly figure: string
  /** What went wrong. Empty: the gateway withstood the attack. */
  readonly problems: ReadonlyArray<string>
}

/** The target of an attack, with helpers to prepare it. */
export interface Target {
  readonly gateway: Gateway
  /** Starts another process on the same data folder. It is stopped after the attack. */
  readonly another: (settings?: Settings) => Promise<Gateway>
  /** Calls an operation with the management key. Fails if the call is rejected. */
  readonly manage: (method: string, path: string, body?: object) => Promise<unknown>
  /** Creates an ordinary key. */
  readonly newKey: (options?: object) => Promise<{ readonly key: string; readonly hash: string }>
  /** The double whose URL {@link Attack.file} was given. */
  readonly upstream: Double
  /** Starts a further double. It is stopped after the attack. */
  readonly double: (options?: { readonly tls?: boolean }) => Promise<Double>
  /** The Redis in which the gateway counts, for an attack with {@link Attack.redis}. */
  readonly redis: RedisServer | undefined
  /** The database that the gateway uses. */
  readonly store: Store
  /** Runs a statement that reads the database of the gateway. */
  readonly query: Query
}

/** What is checked after every attack, besides what the attack itself checks. */
export const checks = ["neighbor", "memory", "ledger", "restart"] as const

export type Check = (typeof checks)[number]

export interface Attack {
  /** The name on the command line. */
  readonly name: string
  /** What the attack does, as shown in the table. */
  readonly title: string
  /** What the gateway must guarantee in addition to the general bounds. */
  readonly bound: string
  /** Whether `npm test` runs the attack: a short one of each topic. */
  readonly quick?: boolean
  readonly settings?: Settings
  /**
   * The settings file, for an attack by an upstream: `upstream` is the URL of {@link
   * Target.upstream}. `Doubles.rankingAt` is such a file.
   */
  readonly file?: (upstream: string) => object
  /** Whether the gateway counts in a Redis. */
  readonly redis?: boolean
  /** Whether the attack concerns the database: `--store postgres` then runs it on Postgres, too. */
  readonly storage?: boolean
  /** Checks that the attack itself makes impossible, each with the reason. */
  readonly skips?: Readonly<Partial<Record<Check, string>>>
  /** Time limit of the attack in seconds. Default: 60. */
  readonly seconds?: number
  readonly run: (target: Target) => Promise<Outcome>
}

/** A string field. Throws for any other type. */
export const textOf = (json: unknown, ...path: ReadonlyArray<string>): string => {
  const found = fieldOf(json, ...path)
  if (typeof found !== "string") throw new Error(`no ${path.join(".")} in ${JSON.stringify(json)}`)
  return found
}

/** For example `400 ×3, 503 ×2`, with the reason if there was no response. */
export const statusesOf = (answers: ReadonlyArray<Answer>): string => {
  const counts = new Map<string, number>()
  for (const { failure, status } of answers) {
    const name = status === 0 ? `no answer (${failure ?? "unknown"})` : String(status)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`)).join(", ")
}

/** A time as `1.5 s` or `17 ms`. */
export const milliseconds = (time: number): string =>
  time >= 1000 ? `${(time / 1000).toFixed(1)} s` : `${time.toFixed(0)} ms`

export const maxMillisOf = (answers: ReadonlyArray<Answer>): number =>
  answers.reduce((most, { milliseconds }) => Math.max(most, milliseconds), 0)

/** The problems of responses that may have only these statuses. */
export const problemsOf = (
  answers: ReadonlyArray<Answer>,
  allowed: ReadonlyArray<number>,
  maxMillis = Infinity
): ReadonlyArray<string> => [
  ...new Set(
    answers.flatMap((answer) => {
      if (!allowed.includes(answer.status)) return [`answered ${statusesOf([answer])}`]
      const problem = answer.status < 300 ? undefined : problemWith(answer)
      return problem === undefined ? [] : [`${answer.status}: ${problem}`]
    })
  ),
  ...(maxMillisOf(answers) > maxMillis ? [`took ${milliseconds(maxMillisOf(answers))}`] : [])
]

/** An outcome that depends on the responses only. */
export const outcomeOf = (
  answers: ReadonlyArray<Answer>,
  allowed: ReadonlyArray<number>,
  maxMillis = Infinity
): Outcome => ({
  figure: `${statusesOf(answers)}; longest ${milliseconds(maxMillisOf(answers))}`,
  problems: problemsOf(answers, allowed, maxMillis)
})

/** Sends this many requests at once. */
export const atOnce = (
  count: number,
  origin: string,
  question: (at: number) => Question
): Promise<ReadonlyArray<Answer>> =>
  Promise.all(Array.from({ length: count }, (_, at) => ask(origin, question(at), false)))

/** Sends requests one after the other in parallel lanes until stopped. */
export const keepAsking = (lanes: number, origin: string, question: () => Question) => {
  const answers: Array<Answer> = []
  let stopped = false
  const lane = async (): Promise<void> => {
    while (!stopped) {
      const answer = await ask(origin, question())
      answers.push(answer)
      // Do not call a dead gateway in a tight loop.
      if (answer.status === 0) await pause(50)
    }
  }
  const ended = Promise.all(Array.from({ length: lanes }, lane))
  return {
    stop: async (): Promise<ReadonlyArray<Answer>> => {
      stopped = true
      await ended
      return answers
    }
  }
}

export const pause = (time: number): Promise<void> => new Promise((resume) => setTimeout(resume, time))

/** A small rerank. It costs money unless the model is free. */
export const smallRerank = (key: string, model = "sandbox/bm25"): Question => ({
  method: "POST",
  path: "/api/v1/rerank",
  key,
  body: { model, query: "green tea", documents: ["a cup of green tea", "milk"] }
})

/** `[item,item,…]` of about this many bytes. */
export const arrayOf = (item: string, bytes: number): string =>
  `[${`${item},`.repeat(Math.floor((bytes - item.length) / (item.length + 1)))}${item}]`

export const json = { "content-type": "application/json" }

export const mebibyte = 1024 * 1024

/** Calls with the management key. Fails if a call is rejected. */
export const manager =
  (gateway: Gateway, key: string): Target["manage"] =>
  async (method, path, body) => {
    const answer = await ask(gateway.origin, { method, path: `/api/v1${path}`, key, body })
    if (answer.status >= 300 || answer.status === 0) {
      throw new Error(`${method} ${path} answered ${answer.status}: ${answer.body.toString()} ${answer.failure ?? ""}`)
    }
    return jsonOf(answer)
  }
