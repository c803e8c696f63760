import { Gateway } from "@model-gateway/core"
import { NodeGateway } from "@model-gateway/node"
import { assert, it } from "@effect/vitest"
import { ConfigProvider, Context, Effect, Layer, Redacted } from "effect"
import { createServer, type Server } from "node:http"

class Second extends Context.Service<Second, Gateway.Gateway["Service"]>()("test/Second") {}

/** A server that records the bearer tokens it receives. Its responses are not valid. */
const bearers = Effect.acquireRelease(
  Effect.callback<{ readonly server: Server; readonly baseUrl: string; readonly seen: Array<string | undefined> }>(
    (resume) => {
      const seen: Array<string | undefined> = []
      const server = createServer((request, response) => {
        seen.push(request.headers.authorization)
        response.writeHead(200).end("{}")
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ server, baseUrl: `http://127.0.0.1:${port}/api/v1`, seen }))
      })
    }
  ),
  ({ server }) =>
    Effect.callback<void>((resume) => {
      server.closeAllConnections()
      server.close(() => resume(Effect.void))
    })
)

const callBoth = Effect.gen(function* () {
  const first = yield* Gateway.Gateway
  const second = yield* Second
  yield* Effect.exit(first.currentKey)
  yield* Effect.exit(second.currentKey)
})

it.live("two clients of one application keep their keys apart", () =>
  Effect.gen(function* () {
    const { baseUrl, seen } = yield* bearers
    const client = (key: string) => NodeGateway.layer({ baseUrl, credential: Redacted.make(key) })
    const clients = Layer.merge(
      client("ordinary"),
      Layer.effect(Second, Gateway.Gateway).pipe(Layer.provide(client("management")))
    )
    yield* callBoth.pipe(Effect.provide(clients))
    assert.deepStrictEqual(seen, ["Bearer ordinary", "Bearer management"])
  })
)

it.live("two clients that are values keep their keys apart, and need no tag", () =>
  Effect.gen(function* () {
    const { baseUrl, seen } = yield* bearers
    const [first, second] = yield* Effect.all([
      NodeGateway.make({ baseUrl, credential: Redacted.make("ordinary") }),
      NodeGateway.make({ baseUrl, credential: Redacted.make("management") })
    ])
    yield* Effect.exit(first.currentKey)
    yield* Effect.exit(second.currentKey)
    assert.deepStrictEqual(seen, ["Bearer ordinary", "Bearer management"])
  })
)

it.live("two clients from two configurations keep their keys apart", () =>
  Effect.gen(function* () {
    const { baseUrl, seen } = yield* bearers
    const client = (key: string) =>
      NodeGateway.layerConfig().pipe(
        Layer.provide(
          ConfigProvider.layer(
            ConfigProvider.fromUnknown({ MODEL_GATEWAY_BASE_URL: baseUrl, MODEL_GATEWAY_API_KEY: key })
          )
        )
      )
    const clients = Layer.merge(
      client("ordinary"),
      Layer.effect(Second, Gateway.Gateway).pipe(Layer.provide(client("management")))
    )
    yield* callBoth.pipe(Effect.provide(clients))
    assert.deepStrictEqual(seen, ["Bearer ordinary", "Bearer management"])
  })
)
