import { assert, describe, it } from "@effect/vitest"
import { Gateway, RetryPolicy } from "@model-gateway/core"
import { NodeFile, NodeGateway } from "@model-gateway/node"
import { Config, ConfigProvider, Deferred, Effect, Fiber, Layer, Redacted, Schedule, Stream, Tracer } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Peer, layer as layerPeer } from "./support/server.ts"

const ranking = { id: "r1", model: "m", results: [{ index: 0, relevance_score: 1, document: { text: "pears" } }] }

const json = (response: ServerResponse, body: unknown): void => {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body))
}

const read = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** The client over a server with the given handler. */
const client = (answer: (request: IncomingMessage, response: ServerResponse) => void) =>
  Layer.unwrap(
    Effect.map(Peer, ({ origin }) =>
      NodeGateway.layer({ baseUrl: `${origin}/api/v1`, credential: Redacted.make("mg_sk_test") })
    )
  ).pipe(Layer.provideMerge(layerPeer(answer)))

const rerank = Effect.flatMap(Gateway.Gateway, (gateway) =>
  gateway.rerank({ model: "m", query: "pears", documents: ["pears"] })
)

const once = Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none)

const temporaryFolder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "model-gateway-node-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true }))
)

describe("NodeGateway", () => {
  it.live("sends the contract's request and decodes the response [spec A2 A3 J3 V4]", () => {
    const seen: Array<{
      readonly headers: IncomingMessage["headers"]
      readonly method: string | undefined
      readonly url: string | undefined
      readonly body: unknown
    }> = []
    return Effect.gen(function* () {
      const { results } = yield* rerank
      assert.deepStrictEqual(results, ranking.results)
      assert.strictEqual(seen[0]?.method, "POST")
      assert.strictEqual(seen[0]?.url, "/api/v1/rerank")
      assert.strictEqual(seen[0]?.headers.authorization, "Bearer mg_sk_test")
      assert.strictEqual(seen[0]?.headers["content-type"], "application/json")
      assert.deepStrictEqual(seen[0]?.body, { model: "m", query: "pears", documents: ["pears"] })
    }).pipe(
      Effect.provide(
        client((request, response) => {
          void read(request).then((body) => {
            seen.push({
              headers: request.headers,
              method: request.method,
              url: request.url,
              body: JSON.parse(body.toString())
            })
            json(response, ranking)
          })
        })
      )
    )
  })

  it.live("keeps its connection until the layer is closed", () =>
    Effect.gen(function* () {
      const peer = yield* Peer
      yield* Effect.gen(function* () {
        for (let i = 0; i < 10; i++) yield* rerank
        // Two, because a call may begin while undici still finishes the previous one.
        assert.isAtMost(peer.connections(), 2)
        assert.isAtLeast(peer.open(), 1)
      }).pipe(Effect.provide(NodeGateway.layer({ baseUrl: `${peer.origin}/api/v1`, credential: Redacted.make("k") })))
      yield* peer.allClosed
    }).pipe(
      Effect.provide(
        layerPeer((request, response) => {
          request.resume().on("end", () => json(response, ranking))
        })
      )
    )
  )

  it.live("reads a response in pieces, even if they split a character", () =>
    Effect.gen(function* () {
      const { results } = yield* rerank
      assert.strictEqual(results[0]?.document.text, "päars 🍐".repeat(50_000))
    }).pipe(
      Effect.provide(
        client((request, response) => {
          request.resume().on("end", () => {
            const body = Buffer.from(
              JSON.stringify({
                ...ranking,
                results: [{ index: 0, relevance_score: 1, document: { text: "päars 🍐".repeat(50_000) } }]
              })
            )
            response.writeHead(200, { "content-type": "application/json" })
            for (let at = 0; at < body.length; at += 9973) response.write(body.subarray(at, at + 9973))
            response.end()
          })
        })
      )
    )
  )

  it.live("a connection closed during the response is a TransportError, and is retried", () => {
    let requests = 0
    return Effect.gen(function* () {
      const error = yield* Effect.flip(once(rerank))
      assert.strictEqual(error._tag, "TransportError")
      assert.strictEqual(requests, 1)
      const { results } = yield* rerank
      assert.strictEqual(results.length, 1)
      assert.strictEqual(requests, 3)
    }).pipe(
      Effect.provide(
        client((request, response) => {
          requests++
          request.resume().on("end", () => {
            if (requests === 3) return json(response, ranking)
            response.writeHead(200, { "content-type": "application/json", "content-length": 1000 })
            response.write('{"id":', () => response.destroy())
          })
        })
      )
    )
  })

  it.live("a refused connection is a TransportError that says so", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(once(rerank))
      assert.strictEqual(error._tag, "TransportError")
      assert.match(error.message, /ECONNREFUSED/)
    }).pipe(Effect.provide(NodeGateway.layer({ baseUrl: "http://127.0.0.1:1/api/v1", credential: Redacted.make("k") })))
  )

  it.live("an invalid base URL fails the layer, with the corrected URL in the message", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        Effect.provide(rerank, NodeGateway.layer({ baseUrl: "http://127.0.0.1:1", credential: Redacted.make("k") }))
      )
      assert.strictEqual(error._tag, "InvalidBaseUrl")
      assert.include(error.message, "http://127.0.0.1:1/api/v1")
    })
  )

  it.live("interruption aborts the request", () => {
    const arrived = Deferred.makeUnsafe<void>()
    const left = Deferred.makeUnsafe<void>()
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(rerank)
      yield* Deferred.await(arrived)
      yield* Fiber.interrupt(fiber)
      yield* Deferred.await(left)
    }).pipe(
      Effect.provide(
        client((request, response) => {
          response.on("close", () => Deferred.doneUnsafe(left, Effect.void))
          request.resume().on("end", () => Deferred.doneUnsafe(arrived, Effect.void))
        })
      )
    )
  })

  it.live("content streams with backpressure, and stopping early aborts the request", () => {
    const left = Deferred.makeUnsafe<void>()
    let written = 0
    return Effect.gen(function* () {
      const gateway = yield* Gateway.Gateway
      const first = yield* gateway
        .fileContent("file_1", { range: { start: 5 } })
        .pipe(Stream.take(3), Stream.runCollect)
      assert.strictEqual(first.length, 3)
      yield* Deferred.await(left)
      assert.isBelow(written, 64 * 1024 * 1024)
    }).pipe(
      Effect.provide(
        client((request, response) => {
          assert.strictEqual(request.headers.range, "bytes=5-")
          response.writeHead(206, {
            "content-type": "application/octet-stream",
            "content-range": "bytes 5-999999999999/1000000000000"
          })
          const chunk = Buffer.alloc(65_536, 1)
          const more = (): void => {
            while (!response.destroyed && response.write(chunk)) written += chunk.length
          }
          response.on("drain", more).on("close", () => Deferred.doneUnsafe(left, Effect.void))
          more()
        })
      )
    )
  })

  it.live("with a tracer installed, requests have trace headers", () => {
    let traceparent: string | undefined
    const spans: Array<string> = []
    const tracer = Tracer.make({
      span: (options) => {
        spans.push(options.name)
        return new Tracer.NativeSpan(options)
      }
    })
    return Effect.gen(function* () {
      yield* rerank.pipe(Effect.withSpan("checkout"), Effect.provideService(Tracer.Tracer, tracer))
      assert.match(traceparent ?? "", /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
      assert.isTrue(spans.some((name) => name.includes("POST")))
    }).pipe(
      Effect.provide(
        client((request, response) => {
          traceparent = request.headers["traceparent"]?.toString()
          request.resume().on("end", () => json(response, ranking))
        })
      )
    )
  })

  it.live("the error for a path that is not a file names the path", () =>
    Effect.gen(function* () {
      for (const path of ["/nowhere/at.wav", tmpdir()]) {
        const error = yield* Effect.flip(NodeFile.fromPath(path))
        assert.strictEqual(error._tag, "UnreadableFile")
        assert.include(error.message, path)
      }
    })
  )
})

describe("configuration", () => {
  const peer = layerPeer((request, response) => {
    request.resume().on("end", () => json(response, { ...ranking, id: request.headers.authorization ?? "" }))
  })

  it.live("comes from the caller's own Configs, with the other options as values", () =>
    Effect.gen(function* () {
      const { origin } = yield* Peer
      let attempts = 0
      const layer = NodeGateway.layerConfig({
        baseUrl: Config.String("RANKING_URL"),
        credential: Config.Redacted("RANKING_KEY"),
        transformClient: HttpClient.mapRequest((request) => {
          attempts++
          return attempts === 1 ? HttpClientRequest.setUrl(request, "http://127.0.0.1:1/") : request
        }),
        retryPolicy: RetryPolicy.make({ schedule: () => Schedule.forever })
      }).pipe(
        Layer.provide(
          ConfigProvider.layer(ConfigProvider.fromEnvRecord({ RANKING_URL: `${origin}/api/v1`, RANKING_KEY: "own" }))
        )
      )
      assert.strictEqual((yield* Effect.provide(rerank, layer)).id, "Bearer own")
      assert.strictEqual(attempts, 2)
    }).pipe(Effect.provide(peer))
  )

  it.live("a RetryPolicy that is provided to the layer applies to its calls", () =>
    Effect.gen(function* () {
      const layer = NodeGateway.layer({ baseUrl: "http://127.0.0.1:1/api/v1", credential: Redacted.make("k") }).pipe(
        Layer.provide(Layer.succeed(RetryPolicy.RetryPolicy, RetryPolicy.none))
      )
      const error = yield* Effect.flip(Effect.provide(rerank, layer))
      assert.propertyVal(error, "attempts", 1)
    })
  )

  it.live("comes from the environment, then from a .env file", () =>
    Effect.gen(function* () {
      const { origin } = yield* Peer
      const folder = yield* temporaryFolder
      const path = join(folder, ".env")
      yield* Effect.promise(() =>
        writeFile(path, `MODEL_GATEWAY_API_KEY=from-file\nMODEL_GATEWAY_BASE_URL=${origin}/api/v1/\n`)
      )
      const key = (env: Record<string, string>) =>
        Effect.map(rerank, ({ id }) => id).pipe(
          Effect.provide(
            NodeGateway.layerConfig().pipe(
              Layer.provide(NodeGateway.layerDotEnv({ path })),
              Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(env)))
            )
          )
        )
      assert.strictEqual(yield* key({}), "Bearer from-file")
      assert.strictEqual(yield* key({ MODEL_GATEWAY_API_KEY: "from-environment" }), "Bearer from-environment")
    }).pipe(Effect.scoped, Effect.provide(peer))
  )

  it.live("errors name a missing key and a malformed URL", () =>
    Effect.gen(function* () {
      const failure = (env: Record<string, string>) =>
        Effect.flip(
          Effect.provide(
            rerank,
            NodeGateway.layerConfig().pipe(
              Layer.provide(NodeGateway.layerDotEnv({ path: "/nowhere/.env" })),
              Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(env)))
            )
          )
        )
      assert.include(String(yield* failure({})), "MODEL_GATEWAY_API_KEY")
      assert.include(
        String(yield* failure({ MODEL_GATEWAY_API_KEY: "k", MODEL_GATEWAY_BASE_URL: "no url" })),
        "MODEL_GATEWAY_BASE_URL"
      )
    })
  )
})
