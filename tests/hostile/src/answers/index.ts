/**
 * `pnpm hostile fuzz-answers`: asks for reranks, transcriptions and videos of upstreams whose
 * answers are random, from a seed. Each response of the gateway must be allowed by the contract and
 * match it, the ledger must be exact afterward, and every list must still be readable.
 */
import { Response as RerankResponse } from "@model-gateway/core/Rerank"
import { Response as TranscriptionResponse } from "@model-gateway/core/Transcription"
import { Job } from "@model-gateway/core/Video"
import { Schema } from "effect"
import type { Bounds } from "../attacks/index.ts"
import { manager, milliseconds, pause } from "../attacks/attack.ts"
import * as Ledger from "../ledger.ts"
import { type Answer, ask, entriesOf, fieldOf, jsonOf } from "../client.ts"
import * as Database from "../database.ts"
import * as Doubles from "../doubles.ts"
import { problemWith } from "../errorEnvelope.ts"
import { operations } from "../fuzz/operations.ts"
import * as Random from "../fuzz/random.ts"
import { type Gateway, heapMebibytes, start, unlimited } from "../gateway.ts"
import type { Seen } from "../watch.ts"
import * as Exchanges from "./exchanges.ts"
import { mutated } from "./mutations.ts"

export interface Options {
  readonly requests: number
  readonly seed: number
  /** Send only the request with this number, to reproduce its violation. */
  readonly only?: number | undefined
  /** Concurrent requests. */
  readonly concurrency: number
  readonly bounds: Pick<Bounds, "health" | "memory">
  /** Video jobs that are not over expire after this many seconds. */
  readonly lifetime: number
  /** The gateway's `main.js`. */
  readonly main?: string | undefined
}

export interface Result {
  readonly options: Options
  /** The statuses of the gateway by upstream and operation. */
  readonly tallies: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** The answers of the upstreams by what was wrong with them. */
  readonly answers: ReadonlyMap<string, number>
  /** The ends of the video jobs. */
  readonly jobs: ReadonlyMap<string, number>
  readonly violations: ReadonlyArray<string>
  readonly seen: Seen
  /** The longest time that the event loop was blocked, in milliseconds. */
  readonly stall: number
  readonly seconds: number
}

/** The answers of one request have generators of their own, so that they can be reproduced. */
const answersPerRequest = 1000

/** Enough to see what is wrong. */
const maxViolations = 50

const count = (counts: Map<string, number>, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1)

const statusesOf = (name: string): ReadonlySet<number> =>
  operations.find((operation) => operation.name.endsWith(`.${name}`))?.statuses ?? new Set()

const schemas = {
  rerank: Schema.decodeUnknownExit(RerankResponse),
  transcribe: Schema.decodeUnknownExit(TranscriptionResponse),
  submitVideo: Schema.decodeUnknownExit(Job)
}

const problemOf = (operation: Exchanges.Exchange["operation"], answer: Answer): string | undefined => {
  if (answer.failure !== undefined) return `no whole answer (${answer.failure})`
  if (answer.status === 500 || !statusesOf(operation).has(answer.status)) return `status ${answer.status}`
  if (answer.status >= 400) return problemWith(answer)
  const decoded = schemas[operation](jsonOf(answer))
  return decoded._tag === "Success" ? undefined : `a ${answer.status} that does not match the contract`
}

const isOver = "completed_at IS NOT NULL"

/** Waits until every video job is over, at most until its lifetime has passed. */
const jobsOf = async (query: Database.Query, lifetime: number): Promise<Map<string, number>> => {
  const end = performance.now() + (lifetime + 60) * 1000
  for (;;) {
    const [open] = await query(`SELECT COUNT(*) AS jobs FROM video_jobs WHERE NOT ${isOver}`)
    if (Number(open?.["jobs"]) === 0 || performance.now() > end) break
    await pause(500)
  }
  const rows = await query("SELECT status, COUNT(*) AS jobs FROM video_jobs GROUP BY status")
  return new Map(rows.map(({ jobs, status }) => [String(status), Number(jobs)]))
}

/** Reads a list to its end. What is wrong, if anything. */
const listProblem = async (gateway: Gateway, path: string, key: string, next: (json: unknown) => unknown) => {
  let after: unknown
  do {
    const page = typeof after === "string" ? `&after=${encodeURIComponent(after)}` : ""
    const answer = await ask(gateway.origin, { method: "GET", path: `/api/v1${path}${page}`, key })
    if (answer.status !== 200) return [`GET ${path} answered ${answer.status}`]
    after = next(jsonOf(answer))
  } while (typeof after === "string")
  return []
}

const lastId = (json: unknown): unknown => {
  const items = entriesOf(fieldOf(json, "data"))
  return fieldOf(json, "has_more") === true ? fieldOf(items.at(-1)?.[1], "id") : undefined
}

export const run = async (options: Options): Promise<Result> => {
  const { lifetime, main, only, requests, seed } = options
  const double = await Doubles.start()
  const answers = new Map<string, number>()
  const called = new Map<number, number>()
  double.handle = (call, response) => {
    const number = Exchanges.numberOf(call)
    const times = called.get(number ?? -1) ?? 0
    called.set(number ?? -1, times + 1)
    const random = Random.make(seed, (number ?? 0) * answersPerRequest + (times % answersPerRequest))
    const { bytes, kind } = mutated(random, Exchanges.rightAnswer(double.url, call, number ?? 0))
    count(answers, kind)
    // Written past Node's server, which would correct it.
    response.socket?.end(bytes)
  }
  const gateway = await start({
    main,
    file: Exchanges.file(double.url),
    settings: {
      ...unlimited,
      CIRCUIT_FAILURES: "1000000000",
      VIDEO_LIFETIME: `${lifetime} seconds`,
      VIDEO_CONCURRENCY: "200"
    }
  })
  try {
    const manage = manager(gateway, gateway.managementKey)
    await manage("POST", `/workspaces/${gateway.workspace}/credits`, { amount: 1_000_000 })
    await gateway.watch.reset()
    await gateway.stall()
    const tallies = new Map<string, Map<string, number>>()
    const violations: Array<string> = []
    const startedAt = performance.now()
    let next = only ?? 0
    const end = only === undefined ? requests : only + 1
    const lane = async (): Promise<void> => {
      while (next < end && gateway.ended() === undefined && violations.length < maxViolations) {
        const number = next++
        const { operation, question, upstream } = Exchanges.pick(Random.make(seed ^ 0x5bd1e995, number))
        const answer = await ask(gateway.origin, { ...question(number), key: gateway.apiKey })
        const name = `${operation} at ${upstream}`
        const statuses = tallies.get(name) ?? new Map<string, number>()
        tallies.set(name, statuses)
        count(statuses, answer.status === 0 ? "none" : String(answer.status))
        const problem = problemOf(operation, answer)
        if (problem !== undefined) {
          const again = `pnpm hostile fuzz-answers --seed ${seed} --only ${number}`
          violations.push(`${name}: ${problem}\n  ${again}\n  ${answer.body.toString().slice(0, 300)}`)
        }
      }
    }
    await Promise.all(Array.from({ length: options.concurrency }, lane))
    if (next < end) violations.push(`stopped after ${next} requests`)
    const stall = await gateway.stall()
    const query = Database.sqlite(gateway.dataDir)
    const jobs = await jobsOf(query, lifetime)
    const seen = await gateway.watch.read()
    const { apiKey, managementKey } = gateway
    const ended = gateway.ended()
    violations.push(
      ...(ended === undefined ? [] : [`the process ended (${ended})`]),
      ...(await listProblem(gateway, "/generations?limit=1000", managementKey, (json) => fieldOf(json, "next"))),
      ...(await listProblem(gateway, "/videos?limit=100", apiKey, lastId)),
      ...(await listProblem(gateway, "/activity", managementKey, () => undefined)),
      ...(await Ledger.problemsOf(query, 30_000)),
      ...(seen.healthMax > options.bounds.health ? [`/healthz took ${milliseconds(seen.healthMax)}`] : []),
      ...((seen.memoryMax ?? 0) > options.bounds.memory ? [`${seen.memoryMax?.toFixed(0)} MiB of memory`] : []),
      // A defect of the worker of video jobs has no response that tells of it.
      ...(gateway.errors() === "" ? [] : [`the log has errors: ${gateway.errors().slice(0, 2000)}`])
    )
    return { options, tallies, answers, jobs, violations, seen, stall, seconds: (performance.now() - startedAt) / 1000 }
  } finally {
    await gateway.stop()
    await double.stop()
  }
}

const listed = (counts: ReadonlyMap<string, number>): string =>
  [...counts]
    .map(([name, many]) => `${name} ×${many}`)
    .toSorted()
    .join(", ")

/** The table in Markdown, and every violation. */
export const report = ({ answers, jobs, options, seconds, seen, stall, tallies, violations }: Result): string => {
  const sum = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((total, many) => total + many, 0)
  const rows = [...tallies]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([name, statuses]) => `| ${name} | ${sum(statuses)} | ${listed(statuses)} |`)
  const total = [...tallies.values()].reduce((all, statuses) => all + sum(statuses), 0)
  return [
    `### Fuzzed answers: ${total} requests, ${sum(answers)} answers, seed ${options.seed}, heap ${heapMebibytes} MiB`,
    "",
    "| operation and upstream | requests | responses |",
    "| --- | ---: | --- |",
    ...rows,
    "",
    `Answers of the upstreams: ${listed(answers)}. Video jobs: ${listed(jobs)}.`,
    `${seconds.toFixed(0)} s. /healthz: at most ${milliseconds(seen.healthMax)}. Longest stall: ${milliseconds(stall)}. ` +
      `Memory: at most ${seen.memoryMax?.toFixed(0) ?? "?"} MiB.`,
    ...violations.map((violation) => `FAIL: ${violation}`),
    violations.length === 0 ? "pass" : ""
  ].join("\n")
}
