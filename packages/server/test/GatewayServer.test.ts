import type { Lifecycle } from "../src/http/Lifecycle.ts"
import type { Reload } from "../src/Reload.ts"
import type { ObjectStoreError } from "../src/objects/ObjectStore.ts"
import type { StorageError } from "../src/storage/sql/StorageError.ts"
import { describe, expect, expectTypeOf, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Latch, Layer, type PlatformError, Redacted, Scope } from "effect"
import type { FileSystem } from "effect/FileSystem"
import type { Path } from "effect/Path"
import type { Etag, HttpPlatform, HttpServer } from "effect/http"
import { Agent, request as httpRequest } from "node:http"
import { NodeServices } from "@effect/platform-node"
import { ProviderKeys } from "../src/access/ProviderKeys.ts"
import { WorkspaceStore } from "../src/access/WorkspaceStore.ts"
import * as Composition from "../src/Composition.ts"
import type * as GatewayServer from "../src/GatewayServer.ts"
import * as GatewayServerConfig from "../src/GatewayServerConfig.ts"
import * as TestPostgres from "./TestPostgres.ts"
import { layer, layerAt, TestGateway } from "./TestGateway.ts"
import { post } from "./TestEnvelope.ts"
import { temporaryFolder } from "./TestStorage.ts"
import { asTheyCame, scripted } from "./TestProvider.ts"

type ErrorOf<L> = L extends Layer.Layer<infer _A, infer E, infer _R> ? E : never
type ProvidesOf<L> = L extends Layer.Layer<infer A, infer _E, infer _R> ? A : never
type NeedsOf<L> = L extends Layer.Layer<infer _A, infer _E, infer R> ? R : never

/** Statuses and ports of several requests over one kept connection. */
const overOne = (port: number, key: string, times: number) =>
  Effect.callback<ReadonlyArray<readonly [status: number, localPort: number]>>((resume) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const seen: Array<readonly [number, number]> = []
    const next = () => {
      if (seen.length === times) {
        agent.destroy()
        return resume(Effect.succeed(seen))
      }
      httpRequest(
        { agent, host: "127.0.0.1", port, path: "/api/v1/key", headers: { authorization: `Bearer ${key}` } },
        (response) => {
          const localPort = response.socket.localPort ?? 0
          response.resume()
          response.on("end", () => {
            seen.push([response.statusCode ?? 0, localPort])
            setImmediate(next)
          })
        }
      ).end()
    }
    next()
  })

describe("GatewayServer", () => {
  it("asks for an HTTP server and what goes with it, and for nothing else", () => {
    type Service = ReturnType<typeof GatewayServer.layer>
    expectTypeOf<NeedsOf<Service>>().toEqualTypeOf<
      HttpServer.HttpServer | HttpPlatform.HttpPlatform | Etag.Generator | FileSystem | Path
    >()
    expectTypeOf<ErrorOf<Service>>().toEqualTypeOf<StorageError | ObjectStoreError | PlatformError.PlatformError>()
    // The composition needs and fails with exactly what the public layers declare.
    type Composed = ReturnType<typeof Composition.layer>
    expectTypeOf<NeedsOf<Composed>>().toEqualTypeOf<NeedsOf<Service>>()
    expectTypeOf<ErrorOf<Composed>>().toEqualTypeOf<ErrorOf<Service>>()
    type Stores = ReturnType<typeof GatewayServer.layerStores>
    type ComposedStores = ReturnType<typeof Composition.layerStores>
    expectTypeOf<NeedsOf<ComposedStores>>().toEqualTypeOf<NeedsOf<Stores>>()
    expectTypeOf<ErrorOf<ComposedStores>>().toEqualTypeOf<ErrorOf<Stores>>()
  })

  it("provides the stores that a program may use beside the service and its lifecycle, and no other service", () => {
    expectTypeOf<ProvidesOf<ReturnType<typeof GatewayServer.layer>>>().toEqualTypeOf<
      GatewayServer.Stores | Lifecycle | Reload
    >()
  })

  it.live("keeps connections open, after refusals too", () =>
    Effect.gen(function* () {
      const { ordinaryKey, port } = yield* TestGateway
      const good = yield* overOne(port, ordinaryKey, 3)
      expect(good.map(([status]) => status)).toEqual([200, 200, 200])
      expect(new Set(good.map(([, local]) => local)).size).toBe(1)
      const bad = yield* overOne(port, "nonsense", 3)
      expect(bad.map(([status]) => status)).toEqual([401, 401, 401])
      expect(new Set(bad.map(([, local]) => local)).size).toBe(1)
    }).pipe(Effect.provide(layer()))
  )

  it.live("lets requests in flight finish when it stops, and keeps what they cost", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const asked = yield* Latch.make()
      const answer = yield* Latch.make()
      const provider = scripted({
        name: "slow",
        rerank: (request) => asked.open.pipe(Effect.andThen(answer.await), Effect.as(asTheyCame(request)))
      })
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(layerAt(folder, {}, [provider]), scope)
      const gateway = Context.get(context, TestGateway)
      const inFlight = yield* Effect.forkChild(
        post("/api/v1/rerank", { model: "test/rank", query: "a", documents: ["b"] }).pipe(
          Effect.provideService(TestGateway, gateway)
        )
      )
      yield* asked.await
      const stopped = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* Effect.yieldNow
      yield* answer.open
      const finished = yield* Fiber.join(inFlight)
      expect([finished.status, finished.headers["connection"]]).toEqual([200, "close"])
      yield* Fiber.join(stopped)
      const refused = yield* Effect.exit(gateway.ask("/healthz"))
      expect(Exit.isFailure(refused)).toBe(true)
    }).pipe(Effect.scoped)
  )
})

describe.skipIf(!TestPostgres.isInstalled)("two processes on one Postgres", () => {
  it.effect("decrypt the secrets of each other, without a master key in their settings", () =>
    Effect.gen(function* () {
      const databaseUrl = Redacted.make(yield* TestPostgres.create)
      /** Each has a data folder of its own. */
      const inProcess = <A, E>(effect: Effect.Effect<A, E, GatewayServer.Stores>) =>
        Effect.flatMap(temporaryFolder, (dataDir) =>
          Effect.provide(effect, Layer.fresh(Composition.layerStores({ dataDir, databaseUrl })))
        ).pipe(Effect.provide([GatewayServerConfig.layer(), NodeServices.layer]))
      const workspace = yield* inProcess(
        Effect.gen(function* () {
          const workspace = yield* (yield* WorkspaceStore).ensureDefault()
          yield* (yield* ProviderKeys).create({
            organizationId: workspace.organizationId,
            workspaceId: workspace.id,
            provider: "cohere",
            secret: Redacted.make("co-0123456789abcdef")
          })
          return workspace
        })
      )
      const usable = yield* inProcess(Effect.flatMap(ProviderKeys, ({ usable }) => usable(workspace.id)))
      expect(usable.map(({ credential }) => credential?.secret && Redacted.value(credential.secret))).toEqual([
        "co-0123456789abcdef"
      ])
    })
  )
})
