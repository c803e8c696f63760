/**
 * Fifth table: what a gateway adds to a call of an upstream, next to Portkey's gateway, with the
 * same upstream on the same machine.
 *
 * Both get a body of 20 documents. Portkey's `/v1/rerank` answers 500, so it gets them as the
 * messages of a chat completion. Each gateway is compared with the same call made directly.
 */
import { Pool } from "undici"
import * as Child from "../child.ts"
import { rerankRequest } from "../client/messages.ts"
import { spread, table } from "../rounds.ts"

interface Call {
  readonly origin: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

interface Figures {
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly perSecond: number
}

const at = (sorted: ReadonlyArray<number>, fraction: number): number =>
  sorted[Math.max(0, Math.ceil(sorted.length * fraction) - 1)] ?? Number.NaN

/** Makes calls for some time, as many at once as there are connections. */
const measure = async (pool: Pool, { body, headers, path }: Call, connections: number, milliseconds: number) => {
  const times: Array<number> = []
  const startedAt = performance.now()
  const end = startedAt + milliseconds
  const worker = async () => {
    for (let now = startedAt; now < end;) {
      const { body: answer, statusCode } = await pool.request({ path, method: "POST", headers, body })
      const text = await answer.text()
      if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}: ${text}`)
      const ended = performance.now()
      times.push(ended - now)
      now = ended
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  const seconds = (performance.now() - startedAt) / 1000
  const sorted = times.toSorted((a, b) => a - b)
  const figures: Figures = { p50: at(sorted, 0.5), p99: at(sorted, 0.99), perSecond: times.length / seconds }
  return { figures, calls: times.length }
}

const json = { "content-type": "application/json" }

/** What the gateway has charged its key for, in calls. */
const charged = async ({ apiKey, origin }: Child.Child, price: number): Promise<number> => {
  const response = await fetch(`${origin}/api/v1/key`, { headers: { authorization: `Bearer ${apiKey}` } })
  const { data } = (await response.json()) as { readonly data: { readonly usage: number } }
  return Math.round(data.usage / price)
}

const names = ["direct, rerank", "Model Gateway", "direct, chat", "Portkey"] as const

type Name = (typeof names)[number]

const callsOf = (double: Child.Child, ours: Child.Child, portkey: Child.Child): Readonly<Record<Name, Call>> => {
  const rerank = JSON.stringify({ ...rerankRequest, model: "rerank-v3.5" })
  const chat = JSON.stringify({
    model: "gpt-4o-mini",
    messages: [rerankRequest.query, ...rerankRequest.documents].map((content) => ({ role: "user", content }))
  })
  return {
    "direct, rerank": { origin: double.origin, path: "/v2/rerank", headers: json, body: rerank },
    "Model Gateway": {
      origin: ours.origin,
      path: "/api/v1/rerank",
      headers: { ...json, authorization: `Bearer ${ours.apiKey}` },
      body: JSON.stringify({ ...rerankRequest, model: "cohere/rerank-v3.5" })
    },
    "direct, chat": { origin: double.origin, path: "/chat/completions", headers: json, body: chat },
    Portkey: {
      origin: portkey.origin,
      path: "/v1/chat/completions",
      headers: {
        ...json,
        authorization: "Bearer not-a-real-key",
        "x-portkey-provider": "openai",
        "x-portkey-custom-host": double.origin
      },
      body: chat
    }
  }
}

/** Cohere's published price of one search unit, in credits. */
const price = 0.002

const median = (values: ReadonlyArray<number>): number => spread(values).median

/** The table. */
export const run = async (quick: boolean): Promise<ReadonlyArray<string>> => {
  const double = await Child.start("./upstream/double.js")
  const [ours, portkey] = await Promise.all([
    Child.start("./upstream/gateway.js", [double.origin]),
    Child.start("./upstream/portkey.js")
  ])
  const options = { rounds: quick ? 2 : 9, milliseconds: quick ? 500 : 1500 }
  const calls = callsOf(double, ours, portkey)
  let served = 0
  try {
    const lines: Array<ReadonlyArray<string>> = []
    // From the most to the fewest, so that all code is compiled when single calls are measured.
    for (const connections of [64, 16, 1]) {
      const rounds: Array<ReadonlyMap<Name, Figures>> = []
      // A pool of its own for each, so that all keep their connections open.
      const pools = new Map(names.map((name) => [name, new Pool(calls[name].origin, { connections, pipelining: 1 })]))
      for (let round = -1; round < options.rounds; round++) {
        const figures = new Map<Name, Figures>()
        for (let turn = 0; turn < names.length; turn++) {
          const name = names[(turn + round + 1) % names.length]
          const pool = name === undefined ? undefined : pools.get(name)
          if (name === undefined || pool === undefined) continue
          const measured = await measure(pool, calls[name], connections, options.milliseconds)
          if (name === "Model Gateway") served += measured.calls
          figures.set(name, measured.figures)
        }
        // The first round is a warm-up.
        if (round >= 0) rounds.push(figures)
      }
      await Promise.all([...pools.values()].map((pool) => pool.close()))
      const each = (name: Name, figure: keyof Figures) => rounds.map((round) => round.get(name)?.[figure] ?? Number.NaN)
      const added = (gateway: Name, direct: Name, figure: "p50" | "p99") => {
        const without = each(direct, figure)
        return each(gateway, figure).map((value, round) => value - (without[round] ?? Number.NaN))
      }
      const portkeys = each("Portkey", "perSecond")
      const ratio = median(
        each("Model Gateway", "perSecond").map((value, round) => value / (portkeys[round] ?? Number.NaN))
      )
      const p50 = {
        ours: added("Model Gateway", "direct, rerank", "p50"),
        portkey: added("Portkey", "direct, chat", "p50")
      }
      const target = (name: Name): string => {
        if (name !== "Model Gateway") return ""
        if (connections === 1) {
          return `p50 ≤ Portkey's: ${median(p50.ours) <= median(p50.portkey) ? "reached" : "missed"}`
        }
        return connections === 64 ? `≥ 2 × Portkey: ${ratio.toFixed(2)}, ${ratio >= 2 ? "reached" : "missed"}` : ""
      }
      for (const [name, direct] of [
        ["Model Gateway", "direct, rerank"],
        ["Portkey", "direct, chat"]
      ] as const) {
        const half = spread(added(name, direct, "p50"))
        lines.push([
          `${name}, ${connections} at once`,
          ...[half.min, half.median, half.max, median(added(name, direct, "p99"))].map((value) => value.toFixed(2)),
          ...[name, direct].map((name) => median(each(name, "perSecond")).toFixed(0)),
          target(name)
        ])
      }
    }
    const paid = await charged(ours, price)
    if (paid !== served) throw new Error(`the gateway answered ${served} requests and charged ${paid}`)
    return [
      table(
        `Gateways in front of one upstream, 20 documents; all ${served} requests of Model Gateway are in its ledger`,
        ["p50 added, ms min", "median", "max", "p99 added, ms", "requests/s", "direct requests/s", "to reach"],
        lines
      )
    ]
  } finally {
    await Promise.all([ours.stop(), portkey.stop()])
    await double.stop()
  }
}
