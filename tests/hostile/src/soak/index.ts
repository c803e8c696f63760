/**
 * The client in unattended production: mixed calls against a server whose connections, answers and
 * uploads fail at random. The server charges paid calls and counts the charges. The run checks
 * every call, and that nothing is left at its end.
 */
import { fork } from "node:child_process"
import { once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import { table } from "../table.ts"
import {
  type CallReport,
  type ClientMessage,
  type ClientOptions,
  type EndReport,
  type Limits,
  type SampleReport,
  type ServerListening,
  type ServerOptions,
  type ServerReport
} from "./messages.ts"
import { stallMillis } from "./server/faults.ts"

export interface Options extends Pick<ClientOptions, "limits" | "maxPauseMillis" | "seed" | "workers"> {
  readonly minutes: number
}

/** For `pnpm hostile soak`. */
export const defaults = {
  limits: { attempt: 2000, deadline: 8000, stall: 1500, maxRetryAfter: 2500 },
  maxPauseMillis: 1000,
  workers: 16
} satisfies Partial<Options>

/**
 * How far a call may exceed its limit, in milliseconds, besides the time in which the event loop of
 * the client was late: a process that gets no CPU ends nothing in time.
 */
export const allowance = 500

/**
 * How much the heap may grow from the first quarter to the last, in bytes. In a short run, the
 * first quarter ends before everything was used once.
 */
const growth = 8_000_000

export interface Result {
  readonly seed: number
  readonly limits: Limits
  readonly seconds: number
  readonly calls: ReadonlyArray<CallReport>
  readonly samples: ReadonlyArray<SampleReport>
  readonly end: EndReport | undefined
  readonly server: ServerReport
  readonly problems: ReadonlyArray<string>
}

/** Starts a module of this folder. */
const start = (name: string, options: ServerOptions | ClientOptions, execArgv: Array<string>) =>
  fork(new URL(name, import.meta.url), [JSON.stringify(options)], { execArgv })

/** Resolves to undefined if it takes longer. */
const within = async <A>(promise: Promise<A>, milliseconds: number): Promise<A | undefined> => {
  const waiting = new AbortController()
  try {
    return await Promise.race([promise, sleep(milliseconds, undefined, { signal: waiting.signal })])
  } finally {
    waiting.abort()
  }
}

/** The milliseconds by which a call exceeded its limit. Negative: it did not. */
const over = (call: CallReport, server: ServerReport): number =>
  call.milliseconds - call.limit - call.late - (server.uploads[call.id] ?? 0)

/** Checks the charges of the server against the answers of the client. */
const checkCharges = (calls: ReadonlyArray<CallReport>, { charges }: ServerReport): ReadonlyArray<string> => {
  const problems: Array<string> = []
  const byCall = new Map<string, Array<string>>()
  for (const { answer, call } of charges) byCall.set(call, [...(byCall.get(call) ?? []), answer])
  for (const [call, answers] of byCall) {
    if (answers.length > 1) problems.push(`${call} was charged ${answers.length} times`)
  }
  for (const { answer, id } of calls) {
    if (answer !== undefined && byCall.get(id)?.includes(answer) !== true) {
      problems.push(`${id} has ${answer}, for which it was not charged`)
    }
  }
  return problems
}

const check = ({ calls, end, samples, server }: Omit<Result, "problems">): ReadonlyArray<string> => {
  const problems = [...server.problems, ...checkCharges(calls, server)]
  for (const call of calls) {
    if (call.problem !== undefined) problems.push(`${call.name} ${call.id}: ${call.problem}`)
    const by = over(call, server)
    if (by > allowance) {
      problems.push(`${call.name} ${call.id} (${call.outcome}) took ${by.toFixed(0)} ms longer than its limit`)
    }
  }
  if (!calls.some(({ outcome }) => outcome === "success")) problems.push("no call succeeded")
  for (const { requests } of samples) {
    if (requests > 0) problems.push(`${requests} requests are left in the pools while no call runs`)
  }
  const [first, last] = [samples[0], samples[3]]
  if (first === undefined || last === undefined) problems.push("the client did not measure its memory")
  else if (last.heap - first.heap > growth) problems.push(`the heap grew by ${mebibytes(last.heap - first.heap)}`)
  if (end === undefined) problems.push("the client did not close its layer")
  else if (end.resources.length > 0) problems.push(`left at the end: ${end.resources.join(", ")}`)
  if (server.sockets > 0) problems.push(`${server.sockets} sockets of the server are open at the end`)
  return problems
}

export const run = async ({ limits, maxPauseMillis, minutes, seed, workers }: Options): Promise<Result> => {
  const milliseconds = minutes * 60_000
  // A short run has a restart, too, but not so many that they end every stall.
  const uptime = Math.min(90_000, Math.max(10_000, milliseconds / 3))
  const serverOptions: ServerOptions = { seed, limits, uptime }
  const server = start("./server/main.ts", serverOptions, [])
  const [{ port }] = (await once(server, "message")) as [ServerListening]
  const options: ClientOptions = {
    origin: `http://127.0.0.1:${port}`,
    seed,
    limits,
    milliseconds,
    workers,
    maxPauseMillis
  }
  const startedAt = performance.now()
  const client = start("./client.ts", options, ["--expose-gc"])
  const exited = once(client, "exit").then(([code]) => `code ${String(code ?? client.signalCode)}`)
  const problems: Array<string> = []
  const calls: Array<CallReport> = []
  const samples: Array<SampleReport> = []
  try {
    const end = await new Promise<EndReport | undefined>((resolve) => {
      void exited.then(() => resolve(undefined))
      client.on("message", (message: ClientMessage) => {
        if (message.type === "call") calls.push(message)
        else if (message.type === "sample") samples.push(message)
        else resolve(message)
      })
    })
    const seconds = (performance.now() - startedAt) / 1000
    const code = await within(exited, 10_000)
    if (code !== "code 0") problems.push(`the client ended with ${code ?? "nothing within 10 s"}`)
    const read = async (): Promise<ServerReport> => {
      server.send("report")
      const [report] = (await once(server, "message")) as [ServerReport]
      return report
    }
    let report = await read()
    // A stalled upload is not read: its server notices the end of the connection after the stall.
    const until = performance.now() + stallMillis(limits) + 2000
    while (report.sockets > 0 && performance.now() < until) {
      await sleep(50)
      report = await read()
    }
    const result = { seed, limits, seconds, calls, samples, end, server: report }
    return { ...result, problems: [...problems, ...check(result)] }
  } finally {
    client.kill("SIGKILL")
    server.kill("SIGKILL")
  }
}

const mebibytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MiB`

const countBy = <A>(values: ReadonlyArray<A>, key: (value: A) => string): ReadonlyArray<[string, number]> => {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(key(value), (counts.get(key(value)) ?? 0) + 1)
  return [...counts].toSorted((a, b) => b[1] - a[1])
}

const list = (counts: ReadonlyArray<[string, number]>): string =>
  counts.map(([name, count]) => `${name} ${count}`).join(", ")

/** Tables in Markdown. */
export const report = ({ calls, end, limits, problems, samples, seconds, seed, server }: Result): string => {
  const names = countBy(calls, ({ name }) => name).map(([name]) => name)
  const rows = names.map((name) => {
    const own = calls.filter((call) => call.name === name)
    const outcome = (wanted: string): string => String(own.filter(({ outcome }) => outcome === wanted).length)
    const failures = own.filter(({ outcome }) => outcome !== "success" && outcome !== "cancelled")
    const longest = Math.max(...own.map((call) => over(call, server)))
    return [
      name,
      String(own.length),
      outcome("success"),
      outcome("cancelled"),
      String(failures.length),
      longest.toFixed(0),
      list(countBy(failures, ({ outcome }) => outcome))
    ]
  })
  const paid = calls.filter(({ answer }) => answer !== undefined).length
  const quarters = samples.map(({ calls, external, heap, requests, sockets }, index) => [
    `quarter ${index + 1}`,
    String(calls),
    mebibytes(heap),
    mebibytes(external),
    String(sockets),
    String(requests)
  ])
  const [first, last] = [samples[0], samples[3]]
  const slope =
    first === undefined || last === undefined ? 0 : ((last.heap - first.heap) / (last.calls - first.calls)) * 1000
  return [
    table(
      `Soak: ${calls.length} calls in ${(seconds / 60).toFixed(1)} minutes (seed ${seed})`,
      ["calls", "succeeded", "cancelled", "failed", "ms over the limit, max", "failures by kind"],
      rows
    ),
    table(
      "Memory after garbage collection, between calls",
      ["calls", "heap", "external", "sockets", "requests"],
      quarters
    ),
    `Heap: ${(slope / 1024).toFixed(1)} KiB for 1,000 calls from the first quarter to the last.`,
    `Limits: ${JSON.stringify(limits)} ms. A call may take ${allowance} ms longer, and the time in which the event loop was late (${Math.max(0, ...calls.map(({ late }) => late)).toFixed(0)} ms at most in one call).`,
    `Attempts: ${end?.attempts}, of which retries: ${end?.retries}. Renewed tokens: ${end?.renewals}. Requests that reached the server: ${server.requests}. Resumed downloads: ${server.resumes}. Restarts of the server: ${server.restarts}.`,
    `Paid: ${server.charges.length} charges, ${paid} answers with a charge, ${server.replays} repeated keys that were answered from the store, ${calls.filter(({ isRepeat }) => isRepeat).length} calls that a caller repeated with the key of an error.`,
    `Faults: ${list(Object.entries(server.faults).toSorted((a, b) => b[1] - a[1]))}.`,
    `Left at the end: ${server.sockets} sockets of the server, ${end?.resources.length} resources of the client.`,
    "",
    ...(problems.length === 0
      ? ["No problem."]
      : [`${problems.length} problems:`, ...problems.slice(0, 50).map((problem) => `- ${problem}`)])
  ].join("\n")
}
