/**
 * `pnpm hostile fuzz`: sends random requests to every operation, from a seed. Each response must be
 * allowed by the contract, complete and in time, and `/healthz` must answer throughout.
 */
import type { Bounds } from "../attacks/index.ts"
import { milliseconds } from "../attacks/attack.ts"
import { type Answer, ask, converse } from "../client.ts"
import { problemWith } from "../errorEnvelope.ts"
import { type Gateway, heapMebibytes, start, unlimited } from "../gateway.ts"
import type { Seen } from "../watch.ts"
import { describe, type FuzzedRequest, make } from "./requests.ts"
import { operations } from "./operations.ts"
import { exemptHost } from "./values.ts"
import * as World from "./world.ts"

export interface Options {
  readonly requests: number
  readonly seed: number
  /** Send only the request with this number, to reproduce its violation. */
  readonly only?: number | undefined
  /** Concurrent requests. */
  readonly concurrency: number
  readonly bounds: Bounds
  /** Maximum response time in milliseconds. */
  readonly answer: number
  /** The gateway's `main.js`. */
  readonly main?: string | undefined
}

export interface Violation {
  readonly request: FuzzedRequest
  readonly problem: string
}

/** The results of one operation. */
interface Tally {
  requests: number
  longest: number
  readonly statuses: Map<string, number>
}

export interface Result {
  readonly options: Options
  readonly tallies: ReadonlyMap<string, Tally>
  readonly violations: ReadonlyArray<Violation>
  /** Problems of the whole run. */
  readonly problems: ReadonlyArray<string>
  readonly seen: Seen
  /** The longest time that the event loop was blocked, in milliseconds. */
  readonly stall: number
  readonly seconds: number
  /** The end of the gateway's stderr. */
  readonly errors: string
}

/** Node refuses a longer head with a 431, whatever the operation. */
const maxHead = 16_000

const isLongHead = ({ headers, path }: FuzzedRequest): boolean => path.length + JSON.stringify(headers).length > maxHead

const problemOf = (request: FuzzedRequest, answer: Answer, longest: number): string | undefined => {
  if (answer.failure !== undefined) return `no whole answer (${answer.failure})`
  if (!request.allowed.has(answer.status) && !(answer.status === 431 && isLongHead(request)))
    return `status ${answer.status} is not one of ${[...request.allowed].join(" ")}`
  if (answer.status === 500) return "status 500"
  if (answer.milliseconds > longest) return `took ${milliseconds(answer.milliseconds)}`
  if (request.method === "HEAD") return undefined
  if (answer.status >= 400) return problemWith(answer)
  return answer.headers["x-request-id"] === undefined ? "no x-request-id" : undefined
}

const withoutKey = (text: string): string => text.replace(/mg_\w+/g, "mg_…")

const statusLine = /^HTTP\/1\.1 \d{3} /

const sendRaw = async (gateway: Gateway, request: FuzzedRequest, bytes: Buffer) => {
  const received = await converse(gateway.port, [bytes], {
    patience: request.goesAfter ?? 1000,
    halfClose: request.goesAfter === undefined
  })
  const text = received.bytes.toString("latin1")
  const wrong = received.statuses.find((status) => !request.allowed.has(status))
  const refused = received.statuses.some((status) => status >= 400)
  const problem =
    received.bytes.length > 0 && !statusLine.test(text)
      ? "the answer is no HTTP"
      : wrong !== undefined
        ? `status ${wrong}`
        : refused && request.goesAfter === undefined && !text.includes('"request_id"')
          ? "no envelope"
          : undefined
  return {
    status: received.statuses.join("+") || "none",
    milliseconds: 0,
    problem:
      problem &&
      `${problem}, sent ${JSON.stringify(withoutKey(bytes.toString("latin1")))}, answered ${JSON.stringify(withoutKey(text).slice(0, 500))}`
  }
}

const send = async (gateway: Gateway, world: World.World, request: FuzzedRequest, longest: number) => {
  const authorization = world.authorization[request.key]
  if (request.raw !== undefined) return sendRaw(gateway, request, request.raw(authorization))
  const answer = await ask(gateway.origin, {
    method: request.method,
    path: request.path,
    headers: { ...request.headers, ...(authorization === undefined ? undefined : { authorization }) },
    body: request.body
  })
  return {
    status: answer.status === 0 ? "none" : String(answer.status),
    milliseconds: answer.milliseconds,
    problem: problemOf(request, answer, longest)
  }
}

/** After this many requests, deleted objects are created again. */
const epoch = 500
/** Enough to see what is wrong. */
const maxViolations = 50

export const run = async (options: Options): Promise<Result> => {
  const gateway = await start({
    main: options.main,
    settings: { ...unlimited, OUTBOUND_EXEMPT_HOSTS: exemptHost }
  })
  try {
    const world = await World.make(gateway, true)
    await gateway.watch.reset()
    await gateway.stall()
    const tallies = new Map<string, Tally>()
    const violations: Array<Violation> = []
    const startedAt = performance.now()
    const first = options.only ?? 0
    const end = options.only === undefined ? options.requests : options.only + 1
    let next = first

    const lane = async (): Promise<void> => {
      while (next < end && gateway.ended() === undefined && violations.length < maxViolations) {
        const number = next++
        if (number > first && number % epoch === 0) await world.renew().catch(() => {})
        const request = make(options.seed, number, world.known())
        const { milliseconds, problem, status } = await send(gateway, world, request, options.answer)
        const tally: Tally = tallies.get(request.name) ?? {
          requests: 0,
          longest: 0,
          statuses: new Map<string, number>()
        }
        tallies.set(request.name, tally)
        tally.requests++
        tally.longest = Math.max(tally.longest, milliseconds)
        tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1)
        if (problem !== undefined) violations.push({ request, problem })
      }
    }
    await Promise.all(Array.from({ length: options.concurrency }, lane))

    const seen = await gateway.watch.read()
    const { health, memory } = options.bounds
    return {
      options,
      tallies,
      violations,
      problems: [
        ...(gateway.ended() === undefined ? [] : [`the process ended (${gateway.ended()})`]),
        ...(next < end ? [`stopped after ${next - first} requests`] : []),
        ...(seen.healthMax > health ? [`/healthz took ${milliseconds(seen.healthMax)}`] : []),
        ...(seen.healthFailures > 0 ? [`${seen.healthFailures} probes of /healthz failed`] : []),
        ...((seen.memoryMax ?? 0) > memory ? [`${seen.memoryMax?.toFixed(0)} MiB of memory`] : [])
      ],
      seen,
      stall: await gateway.stall(),
      seconds: (performance.now() - startedAt) / 1000,
      errors: gateway.errors()
    }
  } finally {
    await gateway.stop()
  }
}

/** The operations that answered no success: their handlers may not have been reached. */
export const unreached = ({ tallies }: Result): ReadonlyArray<string> =>
  operations
    .map(({ name }) => name)
    .filter((name) => ![...(tallies.get(name)?.statuses.keys() ?? [])].some((status) => status.startsWith("2")))

/** The command that reproduces a violation, and the violation. */
export const reproduce = ({ options }: Result, { problem, request }: Violation): string =>
  `${problem}\n  pnpm hostile fuzz --seed ${options.seed} --only ${request.number}\n  ${describe(request)}`

/** The table in Markdown, and every violation. */
export const report = (result: Result): string => {
  const { options, problems, seconds, seen, stall, tallies, violations } = result
  const rows = [...tallies]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([name, { longest, requests, statuses }]) => {
      const counts = [...statuses].map(([status, count]) => `${status} ×${count}`).toSorted()
      return `| ${name} | ${requests} | ${milliseconds(longest)} | ${counts.join(", ")} |`
    })
  const total = [...tallies.values()].reduce((sum, { requests }) => sum + requests, 0)
  return [
    `### Fuzzed: ${total} requests, seed ${options.seed}, ${options.concurrency} at once, heap ${heapMebibytes} MiB`,
    "",
    "| operation | requests | longest | answers |",
    "| --- | ---: | ---: | --- |",
    ...rows,
    "",
    `${seconds.toFixed(0)} s. /healthz: ${seen.probes} probes, at most ${milliseconds(seen.healthMax)}. ` +
      `Longest stall: ${milliseconds(stall)}. ` +
      `Memory: at most ${seen.memoryMax?.toFixed(0) ?? "?"} MiB.`,
    `${operations.length} operations. Without a success: ${unreached(result).join(", ") || "none"}.`,
    ...problems.map((problem) => `FAIL: ${problem}`),
    ...violations.map((violation) => `FAIL: ${reproduce(result, violation)}`),
    problems.length + violations.length === 0 ? "pass" : ""
  ].join("\n")
}
