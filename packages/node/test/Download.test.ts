import { assert, describe, it } from "@effect/vitest"
import { Gateway, RetryPolicy } from "@model-gateway/core"
import { NodeGateway } from "@model-gateway/node"
import { Effect, Fiber, Layer, Redacted, Schedule, Stream } from "effect"
import { Buffer } from "node:buffer"
import { createHash } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { layer as layerPeer, Peer } from "./support/server.ts"

const size = 3_000_000

/** Bytes without a period, so that a byte at a wrong position is noticed. */
const content = Buffer.concat(
  Array.from({ length: Math.ceil(size / 32) }, (_, index) => createHash("sha256").update(String(index)).digest()),
  size
)

type Hostility = (response: ServerResponse, rest: Buffer, number: number) => void

/** A service that serves ranges. What it does with a body is the test's. */
const server = (hostility: Hostility) => {
  const ranges: Array<string | undefined> = []
  const layer = layerPeer((request: IncomingMessage, response: ServerResponse) => {
    const { "if-range": condition, range } = request.headers
    ranges.push(range)
    const start = condition === '"v1"' ? Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1]) : 0
    response.writeHead(start === 0 ? 200 : 206, {
      etag: '"v1"',
      "content-type": "video/mp4",
      "content-length": size - start,
      ...(start === 0 ? {} : { "content-range": `bytes ${start}-${size - 1}/${size}` })
    })
    hostility(response, content.subarray(start), ranges.length)
  })
  return { ranges, layer }
}

const withClient = <A, E>(
  effect: Effect.Effect<A, E, Gateway.Gateway | Peer>,
  layer: Layer.Layer<Peer>,
  policy: RetryPolicy.Options = {}
) =>
  effect.pipe(
    Effect.provide(
      Layer.unwrap(
        Effect.map(Peer, ({ origin }) =>
          NodeGateway.layer({
            baseUrl: `${origin}/api/v1`,
            credential: Redacted.make("k"),
            retryPolicy: RetryPolicy.make(policy)
          })
        )
      ).pipe(Layer.provideMerge(layer))
    )
  )

const download = Effect.gen(function* () {
  const chunks = yield* Stream.runCollect((yield* Gateway.Gateway).videoContent("v_1"))
  return Buffer.concat(chunks)
})

/** Sends a part of the body, and does something once it is sent. */
const partly = (response: ServerResponse, rest: Buffer, bytes: number, then: () => void) =>
  response.write(rest.subarray(0, bytes), then)

describe("a download", () => {
  const resets: Hostility = (response, rest, number) =>
    number <= 6 ? partly(response, rest, 400_000, () => response.socket?.resetAndDestroy()) : response.end(rest)
  const cuts: Hostility = (response, rest, number) =>
    number <= 6 ? partly(response, rest, 400_000, () => response.destroy()) : response.end(rest)
  const stalls: Hostility = (response, rest, number) =>
    number <= 2 ? partly(response, rest, 400_000, () => {}) : response.end(rest)

  // A reset can come before the client has read a byte. It must not run out of retries then.
  const often = { maxRetries: 10, schedule: () => Schedule.spaced("20 millis") }
  for (const [name, hostility, policy] of [
    ["resets the connection", resets, often],
    ["closes the connection", cuts, often],
    ["stops sending", stalls, { ...often, stallTimeout: "500 millis" }]
  ] as const) {
    it.live(`arrives whole from a server that ${name} again and again`, () => {
      const { layer, ranges } = server(hostility)
      return withClient(
        Effect.gen(function* () {
          assert.isTrue(content.equals(yield* download))
          assert.isAbove(ranges.length, 2)
          assert.isUndefined(ranges[0])
        }),
        layer,
        policy
      )
    })
  }

  it.live("closes a connection that stalls", () => {
    const { layer } = server((response, rest) => partly(response, rest, 1000, () => {}))
    return withClient(
      Effect.gen(function* () {
        const error = yield* Effect.flip(download)
        assert.strictEqual(error._tag, "TimeoutError")
        yield* (yield* Peer).allClosed
      }),
      layer,
      { stallTimeout: "500 millis", maxRetries: 0 }
    )
  })

  it.live("closes its connection when it is interrupted", () => {
    const sent = Promise.withResolvers<void>()
    const { layer } = server((response, rest) => partly(response, rest, 1000, sent.resolve))
    return withClient(
      Effect.gen(function* () {
        const fiber = yield* Effect.forkChild(download)
        yield* Effect.promise(() => sent.promise)
        yield* Fiber.interrupt(fiber)
        yield* (yield* Peer).allClosed
      }),
      layer
    )
  })
})
