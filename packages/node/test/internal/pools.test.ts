import { assert, describe, it } from "@effect/vitest"
import { Gateway, RetryPolicy } from "@model-gateway/core"
import { NodeGateway } from "@model-gateway/node"
import { ConfigProvider, Deferred, Effect, Layer, Redacted, Tracer } from "effect"
import { readFileSync } from "node:fs"
import { createServer } from "node:https"
import { listen } from "../support/proxy.ts"
import { layer as layerPeer, Peer } from "../support/server.ts"

const ranking = { id: "r1", model: "m", results: [{ index: 0, relevance_score: 1, document: { text: "pears" } }] }

const rerank = Effect.flatMap(Gateway.Gateway, (gateway) =>
  gateway.rerank({ model: "m", query: "pears", documents: ["pears"] })
)

const fixture = (name: string): Buffer => readFileSync(new URL(`../fixtures/${name}`, import.meta.url))

const once = Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none)

describe("long polls", () => {
  const count = 200

  it.live("do not occupy the connections of short calls", () => {
    const allHeld = Deferred.makeUnsafe<void>()
    let held = 0
    return Effect.gen(function* () {
      const gateway = yield* Gateway.Gateway
      const peer = yield* Peer
      yield* Effect.forEach(Array.from({ length: count }), () =>
        Effect.forkScoped(gateway.getVideo("v_1", { wait: "1 minute" }))
      )
      yield* Deferred.await(allHeld)
      assert.strictEqual(peer.connections(), count)
      for (let i = 0; i < 10; i++) assert.strictEqual((yield* rerank).id, "r1")
      // Two, because a call may begin while undici still finishes the previous one.
      assert.isAtMost(peer.connections(), count + 2)
    }).pipe(
      Effect.scoped,
      Effect.provide(
        Layer.unwrap(
          Effect.map(Peer, ({ origin }) =>
            NodeGateway.layer({ baseUrl: `${origin}/api/v1`, credential: Redacted.make("k") })
          )
        ).pipe(
          Layer.provideMerge(
            layerPeer((request, response) => {
              if (request.method === "GET") {
                if (++held === count) Deferred.doneUnsafe(allHeld, Effect.void)
                return
              }
              request.resume().on("end", () => response.end(JSON.stringify(ranking)))
            })
          )
        )
      )
    )
  })
})

describe("proxies", () => {
  const peer = layerPeer((request, response) => {
    request.resume().on("end", () => response.end(JSON.stringify({ ...ranking, id: request.headers.host ?? "" })))
  })

  const portOf = ({ origin }: Peer["Service"]): number => Number(new URL(origin).port)

  const client = (
    baseUrl: string,
    environment: { readonly [name: string]: string },
    pool?: NodeGateway.PoolOptions
  ): ReturnType<typeof NodeGateway.layer> =>
    NodeGateway.layer({ baseUrl, credential: Redacted.make("k"), pool }).pipe(
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({ ...environment })))
    )

  it.live("HTTP_PROXY gets the requests to http URLs, with its credential", () =>
    Effect.gen(function* () {
      const { address, seen } = yield* listen(portOf(yield* Peer))
      const layer = client("http://gateway.test/api/v1", { HTTP_PROXY: `http://me:s3cret@${address}` })
      assert.strictEqual((yield* Effect.provide(rerank, layer)).id, "gateway.test")
      assert.deepStrictEqual(seen, [
        {
          method: "POST",
          target: "http://gateway.test/api/v1/rerank",
          authorization: `Basic ${Buffer.from("me:s3cret").toString("base64")}`
        }
      ])
    }).pipe(Effect.scoped, Effect.provide(peer))
  )

  it.live("HTTPS_PROXY tunnels to https URLs: one tunnel for many calls, verified by the pool's TLS settings", () =>
    Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(
        Effect.callback<{ readonly port: number; readonly stop: () => void }>((resume) => {
          const server = createServer(
            { cert: fixture("gateway.crt"), key: fixture("gateway.key") },
            (request, response) => {
              request.resume().on("end", () => response.end(JSON.stringify({ ...ranking, id: request.headers.host })))
            }
          )
          server.listen(0, "127.0.0.1", () => {
            const address = server.address()
            const port = address !== null && typeof address === "object" ? address.port : 0
            const stop = () => {
              server.closeAllConnections()
              server.close()
            }
            resume(Effect.succeed({ port, stop }))
          })
        }),
        ({ stop }) => Effect.sync(stop)
      )
      const { address, seen } = yield* listen(server.port)
      const layer = client(
        "https://gateway.test/api/v1",
        { HTTPS_PROXY: `http://me:s3cret@${address}` },
        { connections: 1, agent: { connect: { ca: fixture("gateway.crt") } } }
      )
      yield* Effect.provide(
        Effect.gen(function* () {
          for (let i = 0; i < 3; i++) assert.strictEqual((yield* rerank).id, "gateway.test")
        }),
        layer
      )
      assert.deepStrictEqual(seen, [
        {
          method: "CONNECT",
          target: "gateway.test:443",
          authorization: `Basic ${Buffer.from("me:s3cret").toString("base64")}`
        }
      ])
    }).pipe(Effect.scoped)
  )

  it.live("a name in lower case takes precedence, and a scheme may be left out", () =>
    Effect.gen(function* () {
      const { address, seen } = yield* listen(portOf(yield* Peer))
      const layer = client("http://gateway.test/api/v1", { HTTP_PROXY: "http://127.0.0.1:1", http_proxy: address })
      yield* Effect.provide(rerank, layer)
      assert.lengthOf(seen, 1)
    }).pipe(Effect.scoped, Effect.provide(peer))
  )

  it.live("neither loopback addresses, hosts in NO_PROXY, sockets, nor pools without proxies use one", () =>
    Effect.gen(function* () {
      const { origin } = yield* Peer
      const { address, seen } = yield* listen(1)
      const HTTP_PROXY = `http://${address}`
      yield* Effect.provide(rerank, client(`${origin}/api/v1`, { HTTP_PROXY }))
      const elsewhere = "http://gateway.invalid/api/v1"
      yield* Effect.exit(Effect.provide(once(rerank), client(elsewhere, { HTTP_PROXY, NO_PROXY: ".invalid" })))
      yield* Effect.exit(Effect.provide(once(rerank), client(elsewhere, { HTTP_PROXY }, { proxy: "none" })))
      const connect = { socketPath: "/nowhere/gateway.sock" }
      const error = yield* once(rerank).pipe(
        Effect.provide(client(elsewhere, { HTTP_PROXY }, { agent: { connect } })),
        Effect.flip
      )
      assert.include(error.message, "ENOENT")
      assert.deepStrictEqual(seen, [])
    }).pipe(Effect.scoped, Effect.provide(peer))
  )

  it.live("the error for a proxy that refuses the credential has its status", () =>
    Effect.gen(function* () {
      const { address } = yield* listen(1)
      const environment = { HTTP_PROXY: `http://me:wrong@${address}` }
      for (const scheme of ["http", "https"]) {
        const error = yield* Effect.flip(
          Effect.provide(once(rerank), client(`${scheme}://gateway.test/api/v1`, environment))
        )
        assert.include(error.message, "the proxy responded with status 407")
      }
    }).pipe(Effect.scoped)
  )

  it.live("an invalid proxy fails the layer, whichever name its variable has", () =>
    Effect.gen(function* () {
      for (const name of ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"]) {
        const error = yield* Effect.flip(
          Effect.provide(rerank, client("http://gateway.test/api/v1", { [name]: "socks5://127.0.0.1:1" }))
        )
        assert.strictEqual(error._tag, "InvalidProxy")
        assert.include(error.message, name)
      }
    })
  )

  it.live("a password is in no error and no span", () =>
    Effect.gen(function* () {
      const { address } = yield* listen(1)
      const spans: Array<Tracer.NativeSpan> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      const shown: Array<unknown> = []
      for (const [baseUrl, environment] of [
        ["https://gateway.test/api/v1", { HTTPS_PROXY: `http://me:wrong@${address}` }],
        ["http://gateway.test/api/v1", { HTTP_PROXY: "http://me:wrong@127.0.0.1:1" }],
        ["http://gateway.test/api/v1", { HTTP_PROXY: "http://me:wrong@a b" }],
        ["http://gateway.test/api/v1", { HTTPS_PROXY: "socks5://me:wrong@127.0.0.1:1" }]
      ] as const) {
        const error = yield* once(rerank).pipe(
          Effect.provide(client(baseUrl, environment)),
          Effect.provideService(Tracer.Tracer, tracer),
          Effect.flip
        )
        shown.push(
          error.message,
          String(error),
          JSON.stringify(error),
          "underlying" in error ? String(error.underlying) : ""
        )
      }
      for (const { attributes, events } of spans) shown.push(JSON.stringify([[...attributes], events.map(String)]))
      const text = shown.join("\n")
      assert.isAbove(spans.length, 0)
      assert.notInclude(text, "wrong")
      assert.include(text, "the proxy responded with status 407")
      assert.include(text, "HTTP_PROXY")
    }).pipe(Effect.scoped)
  )
})
