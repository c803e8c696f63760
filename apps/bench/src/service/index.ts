/** Second table: the requests per second of the service, next to the lower bound. */
import * as Child from "../child.ts"
import { rerankRequest } from "../client/messages.ts"
import { spread, type Spread, table } from "../rounds.ts"
import { type Request, throughput } from "../throughput.ts"

interface Operation {
  readonly title: string
  /** The fraction of the bare server's throughput to reach. */
  readonly target: number
  readonly request: Request
}

const operations: ReadonlyArray<Operation> = [
  { title: "GET /key", target: 0.4, request: { path: "/api/v1/key", method: "GET" } },
  {
    title: "rerank of 20 documents, usage recorded",
    target: 0.25,
    request: { path: "/api/v1/rerank", method: "POST", body: JSON.stringify(rerankRequest) }
  }
]

/** Requests per second of the child, with 32 at once. */
const perSecond = async (child: Child.Child, request: Request, seconds: number): Promise<number> =>
  (await throughput(child, request, { connections: 32, seconds })).perSecond

interface Measured {
  readonly operation: Operation
  readonly bare: Spread
  readonly gateway: Spread
  readonly ratio: Spread
}

const measure = async (
  operation: Operation,
  bare: Child.Child,
  gateway: Child.Child,
  options: { readonly rounds: number; readonly seconds: number }
): Promise<Measured> => {
  const rounds: Array<{ readonly bare: number; readonly gateway: number }> = []
  for (let round = -1; round < options.rounds; round++) {
    const first = round % 2 === 0
    const before = first ? await perSecond(bare, operation.request, options.seconds) : 0
    const ours = await perSecond(gateway, operation.request, options.seconds)
    const after = first ? before : await perSecond(bare, operation.request, options.seconds)
    // The first round is a warm-up.
    if (round >= 0) rounds.push({ bare: after, gateway: ours })
  }
  return {
    operation,
    bare: spread(rounds.map(({ bare }) => bare)),
    gateway: spread(rounds.map(({ gateway }) => gateway)),
    ratio: spread(rounds.map(({ bare, gateway }) => gateway / bare))
  }
}

/** The table. */
export const run = async (quick: boolean): Promise<ReadonlyArray<string>> => {
  const [bare, gateway] = await Promise.all([Child.start("./service/bare.js"), Child.start("./service/gateway.js")])
  const options = { rounds: quick ? 2 : 9, seconds: quick ? 1 : 3 }
  try {
    const measured: Array<Measured> = []
    for (const operation of operations) measured.push(await measure(operation, bare, gateway, options))
    return [
      table(
        "Service: throughput, 32 connections",
        ["× bare node:http min", "median", "max", "requests/s", "bare requests/s", "to reach"],
        measured.map(({ operation, bare, gateway, ratio }) => [
          operation.title,
          ratio.min.toFixed(2),
          ratio.median.toFixed(2),
          ratio.max.toFixed(2),
          gateway.median.toFixed(0),
          bare.median.toFixed(0),
          `≥ ${operation.target.toFixed(2)}: ${ratio.median >= operation.target ? "reached" : "missed"}`
        ])
      )
    ]
  } finally {
    await Promise.all([bare.stop(), gateway.stop()])
  }
}
