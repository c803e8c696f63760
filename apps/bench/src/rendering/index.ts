/**
 * Third table: the latency of GET /key while videos render in the same process, and while none
 * does. A bare server in its own process is called in turn: its maximum latency is the noise of the
 * machine.
 */
import { Gateway, VideoProgress } from "@model-gateway/core"
import { NodeGateway } from "@model-gateway/node"
import { Effect, Redacted } from "effect"
import { fork } from "node:child_process"
import { once } from "node:events"
import { setTimeout } from "node:timers/promises"
import * as Child from "../child.ts"
import { spread, table } from "../rounds.ts"
import type { Answer } from "./asker.ts"

/** Maximum latency of a call in milliseconds. */
const target = 50

/** Two, so that one waits for the other's thread and starts when that ends. */
const videos = 2

const startAsker = async (gateway: Child.Child, bare: Child.Child) => {
  const child = fork(new URL("./asker.js", import.meta.url), [gateway.apiKey, gateway.origin, bare.origin], {
    stdio: "inherit"
  })
  await once(child, "message")
  return {
    /** The milliseconds of each call made while `work` ran. */
    during: async (work: () => Promise<unknown>) => {
      child.send("begin")
      await work()
      child.send("enough")
      const [[ours = [], theirs = []]] = (await once(child, "message")) as [Answer]
      return { ours, theirs }
    },
    stop: () => child.disconnect()
  }
}

/** Waits until all videos are rendered and stored. */
const render = ({ apiKey, origin }: Child.Child, duration: number): Promise<void> =>
  Effect.gen(function* () {
    const gateway = yield* Gateway.Gateway
    const one = Effect.gen(function* () {
      const { id } = yield* gateway.submitVideo({
        model: "sandbox/title-card",
        prompt: "A quiet harbor at dawn",
        resolution: "1080p",
        duration
      })
      yield* VideoProgress.awaitFinal(id, { interval: "60 seconds" })
    })
    yield* Effect.all(
      Array.from({ length: videos }, () => one),
      { concurrency: "unbounded", discard: true }
    )
  }).pipe(
    Effect.provide(NodeGateway.layer({ baseUrl: `${origin}/api/v1`, credential: Redacted.make(apiKey) })),
    Effect.runPromise
  )

const line = (name: string, milliseconds: ReadonlyArray<number>, toReach?: number): ReadonlyArray<string> => {
  const { max, median, min } = spread(milliseconds)
  const sorted = milliseconds.toSorted((a, b) => a - b)
  const p99 = sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN
  return [
    name,
    ...[min, median, p99, max].map((time) => time.toFixed(2)),
    milliseconds.length.toFixed(0),
    toReach === undefined ? "" : `max ≤ ${toReach}: ${max <= toReach ? "reached" : "missed"}`
  ]
}

/** The table. */
export const run = async (quick: boolean): Promise<ReadonlyArray<string>> => {
  const [gateway, bare] = await Promise.all([Child.start("./service/gateway.js"), Child.start("./service/bare.js")])
  const asker = await startAsker(gateway, bare)
  // The maximum duration of a title card.
  const duration = quick ? 2 : 60
  try {
    // Do not measure the compilation during the first calls.
    await asker.during(() => setTimeout(1000))
    const idle = await asker.during(() => setTimeout(quick ? 1000 : 10_000))
    const rendering = await asker.during(() => render(gateway, duration))
    const work = `while ${videos} videos of 1080p and ${duration} s render`
    return [
      table(
        "Service: GET /key, one call after the other",
        ["ms min", "median", "p99", "max", "calls", "to reach"],
        [
          line(`gateway, ${work}`, rendering.ours, target),
          line("bare node:http beside it, meanwhile", rendering.theirs),
          line("gateway, while nothing renders", idle.ours),
          line("bare node:http beside it, meanwhile", idle.theirs)
        ]
      )
    ]
  } finally {
    asker.stop()
    await Promise.all([gateway.stop(), bare.stop()])
  }
}
