/**
 * `pnpm bench upstream`: what a request costs the gateway, next to Portkey's gateway with the same
 * upstream, and next to bare `node:http` without one.
 *
 * The main figure is the CPU time of the gateway's process. Each gateway has one core, and the load
 * and the upstream have the other, if the system allows that. All take turns in short rounds.
 *
 * Portkey's `/v1/rerank` answers 500, so it gets the 20 documents as the messages of a chat
 * completion.
 */
import { makeKey } from "@model-gateway/core/IdempotencyKeySource"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import * as Child from "../child.ts"
import { rerankRequest } from "../client/messages.ts"
import { pinLoad } from "../cores.ts"
import { type Call, caller, type Figures } from "../load.ts"
import { inRounds, spread, table } from "../rounds.ts"
import { judge, judgedTable, type Judged, ratios, targets } from "../targets.ts"

/** The parts of the measurement, from the most connections to the fewest. */
export const parts = ["64", "1", "rerank", "key"] as const

export type Part = (typeof parts)[number]

export interface Options {
  readonly quick: boolean
  /** Default: all parts. */
  readonly only?: ReadonlyArray<Part>
  /** The folder of another clone that is built, which takes turns with this one. */
  readonly against?: string | undefined
}

export interface Result {
  readonly texts: ReadonlyArray<string>
  /** The targets that were missed by more than the spread. */
  readonly problems: ReadonlyArray<string>
}

interface Contender {
  readonly name: string
  readonly child: Child.Child
  readonly call: Call
}

const json = { "content-type": "application/json" }

const post = (path: string, request: object, headers: () => Readonly<Record<string, string>>): Call => ({
  path,
  method: "POST",
  body: JSON.stringify(request),
  headers: () => ({ ...json, ...headers() })
})

const authorization = ({ apiKey }: Child.Child) => ({ authorization: `Bearer ${apiKey}` })

const rerank = (child: Child.Child): Call =>
  post("/api/v1/rerank", { ...rerankRequest, model: "cohere/rerank-v3.5" }, () => authorization(child))

const rerankWithKey =
  (newKey: () => string) =>
  (child: Child.Child): Call =>
    post("/api/v1/rerank", { ...rerankRequest, model: "cohere/rerank-v3.5" }, () => ({
      ...authorization(child),
      "idempotency-key": newKey()
    }))

/** With keys as this project's client makes them: they begin with the time. */
const rerankWithClientKey = rerankWithKey(() => `${Effect.runSync(makeKey)}-0`)

/** With random keys: each is written to another page of an index. */
const rerankWithRandomKey = rerankWithKey(randomUUID)

const chat = (double: Child.Child): Call =>
  post(
    "/v1/chat/completions",
    {
      model: "gpt-4o-mini",
      messages: [rerankRequest.query, ...rerankRequest.documents].map((content) => ({ role: "user", content }))
    },
    () => ({
      authorization: "Bearer not-a-real-key",
      "x-portkey-provider": "openai",
      "x-portkey-custom-host": double.origin
    })
  )

const sandboxRerank = (child: Child.Child): Call => post("/api/v1/rerank", rerankRequest, () => authorization(child))

const keyRecord = (child: Child.Child): Call => ({
  path: "/api/v1/key",
  method: "GET",
  headers: () => authorization(child)
})

/** Connections of a part that is compared with `node:http`. */
const serviceConnections = 32

/** Credits for one request: of Cohere's search unit, and of the sandbox's rerank. */
const prices = { upstream: 0.002, sandbox: 0.001 }

/** What a gateway has charged its key for, in calls. */
const charged = async (child: Child.Child, price: number): Promise<number> => {
  const response = await fetch(`${child.origin}/api/v1/key`, { headers: authorization(child) })
  const { data } = (await response.json()) as { readonly data: { readonly usage: number } }
  return Math.round(data.usage / price)
}

/**
 * The rounds before those that count. V8 compiles what has run often: with one call at a time, its
 * compiler still takes 4 % of the process's CPU time after 12 seconds.
 */
const warmUpRounds = (connections: number): number => (connections === 1 ? 60 : 24)

type Measured = ReadonlyMap<string, ReadonlyArray<Figures>>

/** Measures the contenders in turns. */
const measure = async (
  contenders: ReadonlyArray<Contender>,
  connections: number,
  quick: boolean,
  price: number | undefined
): Promise<Measured> => {
  const callers = contenders.map((contender) => caller(contender, connections))
  const milliseconds = quick ? 300 : 500
  const inTurns = (rounds: number) => inRounds(callers, rounds, ({ measure }) => measure(milliseconds))
  await inTurns(quick ? 3 : warmUpRounds(connections))
  const rounds = await inTurns(quick ? 5 : 21)
  await Promise.all(callers.map(({ close }) => close()))
  if (price !== undefined) {
    for (const [i, { child, name }] of contenders.entries()) {
      if (name === portkeyName || name === bareName) continue
      const served = callers[i]?.calls()
      const paid = await charged(child, price)
      if (paid !== served) throw new Error(`${name} answered ${served} requests and charged ${paid}`)
    }
  }
  return new Map(contenders.map(({ name }, i) => [name, rounds[i] ?? []]))
}

const oursName = "Model Gateway"
const withKeyName = "Model Gateway, Idempotency-Key"
const withRandomKeyName = "Model Gateway, random Idempotency-Key"
const portkeyName = "Portkey"
const bareName = "bare node:http"
const against = (name: string): string => `${name}, against`

const each = (measured: Measured, name: string, figure: keyof Figures): ReadonlyArray<number> =>
  (measured.get(name) ?? []).map((figures) => figures[figure])

/** A row for each contender. */
const figuresTable = (title: string, measured: Measured, reference: string): string =>
  table(
    title,
    ["CPU µs a request median", "lower quartile", "least", `× ${reference}`, "p50 ms", "p99 ms", "requests/s"],
    [...measured.keys()].map((name) => {
      const cpu = spread(each(measured, name, "cpu"))
      const ratio = spread(ratios(each(measured, name, "cpu"), each(measured, reference, "cpu")))
      return [
        name,
        ...[cpu.median, cpu.lower, cpu.min].map((value) => value.toFixed(0)),
        ratio.median.toFixed(2),
        spread(each(measured, name, "p50")).median.toFixed(2),
        spread(each(measured, name, "p99")).median.toFixed(2),
        spread(each(measured, name, "perSecond")).median.toFixed(0)
      ]
    })
  )

/** What a build costs relative to the one that it is compared with. */
const againstTable = (measured: Measured): ReadonlyArray<string> => {
  const names = [...measured.keys()].filter((name) => measured.has(against(name)))
  if (names.length === 0) return []
  return [
    table(
      "This build, × the other one in the same round",
      ["CPU lower quartile", "median", "upper quartile", "p50 median"],
      names.map((name) => {
        const ratio = (figure: keyof Figures) =>
          spread(ratios(each(measured, name, figure), each(measured, against(name), figure)))
        const cpu = ratio("cpu")
        return [name, ...[cpu.lower, cpu.median, cpu.upper, ratio("p50").median].map((value) => value.toFixed(3))]
      })
    )
  ]
}

interface PartResult {
  readonly texts: ReadonlyArray<string>
  readonly judged: ReadonlyArray<Judged>
}

type Start = (module: string, args?: ReadonlyArray<string>) => Promise<Child.Child>

interface Starts {
  /** On the core of the server. */
  readonly ours: Start
  /** The other build, on the same core. */
  readonly against: Start | undefined
  /** On the core of the load. */
  readonly double: Start
}

const atOnce = async (connections: 64 | 1, starts: Starts, quick: boolean): Promise<PartResult> => {
  const double = await starts.double("./upstream/double.js")
  const contenders: Array<Contender> = []
  const add = async (start: Start, name: string, callOf: (child: Child.Child) => Call) => {
    const child = await start("./upstream/gateway.js", [double.origin])
    contenders.push({ name, child, call: callOf(child) })
  }
  await add(starts.ours, oursName, rerank)
  if (starts.against !== undefined) await add(starts.against, against(oursName), rerank)
  await add(starts.ours, withKeyName, rerankWithClientKey)
  if (starts.against !== undefined) await add(starts.against, against(withKeyName), rerankWithClientKey)
  await add(starts.ours, withRandomKeyName, rerankWithRandomKey)
  contenders.push({ name: portkeyName, child: await starts.ours("./upstream/portkey.js"), call: chat(double) })
  const measured = await measure(contenders, connections, quick, prices.upstream)
  const ratio = (above: string, below: string, figure: keyof Figures) =>
    ratios(each(measured, above, figure), each(measured, below, figure))
  const cpu = ratio(oursName, portkeyName, "cpu")
  const withKey = ratio(withKeyName, oursName, "cpu")
  const withRandomKey = ratio(withRandomKeyName, oursName, "cpu")
  const title = connections === 1 ? "one at a time" : `${connections} at once`
  return {
    texts: [
      figuresTable(`Gateways in front of one upstream, 20 documents, ${title}`, measured, portkeyName),
      ...againstTable(measured)
    ],
    judged:
      connections === 1
        ? [
            judge(targets.cpuAt1, cpu),
            judge(targets.p50At1, ratio(oursName, portkeyName, "p50")),
            judge(targets.keyAt1, withKey),
            judge(targets.randomKeyAt1, withRandomKey)
          ]
        : [judge(targets.cpuAt64, cpu), judge(targets.keyAt64, withKey), judge(targets.randomKeyAt64, withRandomKey)]
  }
}

const nextToBare = async (
  { call, price, target, title }: (typeof services)["rerank" | "key"],
  starts: Starts,
  quick: boolean
): Promise<PartResult> => {
  const contenders: Array<Contender> = []
  const add = async (start: Start, name: string, module: string) => {
    const child = await start(module)
    contenders.push({ name, child, call: call(child) })
  }
  await add(starts.ours, bareName, "./service/bare.js")
  await add(starts.ours, oursName, "./service/gateway.js")
  if (starts.against !== undefined) await add(starts.against, against(oursName), "./service/gateway.js")
  const measured = await measure(contenders, serviceConnections, quick, price)
  return {
    texts: [figuresTable(`${title}, ${serviceConnections} at once`, measured, bareName), ...againstTable(measured)],
    judged: [judge(target, ratios(each(measured, bareName, "cpu"), each(measured, oursName, "cpu")))]
  }
}

const services = {
  rerank: {
    title: "Paid rerank of 20 documents in the sandbox",
    call: sandboxRerank,
    price: prices.sandbox,
    target: targets.rerank
  },
  key: { title: "GET /key", call: keyRecord, price: undefined, target: targets.key }
} as const

const measurePart = (part: Part, starts: Starts, quick: boolean): Promise<PartResult> => {
  switch (part) {
    case "64":
      return atOnce(64, starts, quick)
    case "1":
      return atOnce(1, starts, quick)
    case "rerank":
    case "key":
      return nextToBare(services[part], starts, quick)
  }
}

/** The tables, and what was missed. */
export const run = async ({ against, only = [], quick }: Options): Promise<Result> => {
  const cores = pinLoad()
  const folder = against === undefined ? undefined : pathToFileURL(join(resolve(against), "apps/bench/dist/child.js"))
  const texts = [
    cores.server === undefined
      ? "Nothing is pinned: the gateways and their load share the cores.\n"
      : `The gateways run on core ${cores.server}, their load on another.\n`
  ]
  const judged: Array<Judged> = []
  try {
    for (const part of parts) {
      if (only.length > 0 && !only.includes(part)) continue
      const children: Array<Child.Child> = []
      const starting =
        (options: Child.Options): Start =>
        async (module, args) => {
          const child = await Child.start(module, args, options)
          children.push(child)
          return child
        }
      try {
        const result = await measurePart(
          part,
          {
            ours: starting({ core: cores.server }),
            against: folder === undefined ? undefined : starting({ core: cores.server, folder }),
            double: starting({})
          },
          quick
        )
        texts.push(...result.texts)
        judged.push(...result.judged)
      } finally {
        await Promise.all(children.map((child) => child.stop()))
      }
    }
  } finally {
    cores.release()
  }
  return {
    texts: [...texts, judgedTable(judged)],
    problems: judged.filter(({ verdict }) => verdict === "missed").map(({ name }) => `missed: ${name}`)
  }
}
