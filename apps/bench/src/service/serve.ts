/**
 * Runs the gateway as `npm start` does, on its own database, for a benchmark. Rate limits are off:
 * the benchmark measures the service.
 */
import { NodeHttpServer, NodeRuntime, NodeServices } from "@effect/platform-node"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { Offers } from "@model-gateway/offers/Offer"
import * as GatewayServer from "@model-gateway/server/GatewayServer"
import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import { WorkspaceStore } from "@model-gateway/server/WorkspaceStore"
import { Clock, Duration, Effect, FileSystem, Layer, Redacted, References, type Scope } from "effect"
import { HttpServer } from "effect/http"
import { createServer } from "node:http"
import { listening } from "../child.ts"

/** Options of the gateway. */
export interface Options {
  /** The URL of Postgres. Default: SQLite. */
  readonly databaseUrl?: string | undefined
  /** The URL of an object store. Default: a local folder. */
  readonly objectStoreUrl?: string | undefined
  /** An API key that the database has already. Default: the database is new and gets one. */
  readonly apiKey?: string | undefined
  /** What to do with the new database before the gateway is measured. Default: nothing. */
  readonly prepare?: ((database: NewDatabase) => Effect.Effect<void>) | undefined
}

/** A database that has only its first workspace and keys. */
export interface NewDatabase {
  readonly dataDir: string
  readonly workspaceId: string
  /** Epoch milliseconds. */
  readonly now: number
}

/** Serves the offers until the parent process ends this one. */
export const serve = <E>(offers: Effect.Effect<Offers, E, Scope.Scope>, options: Options = {}): void => {
  const main = Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const dataDir = yield* fs.makeTempDirectoryScoped({ prefix: "model-gateway-bench-" })
    const databaseUrl = options.databaseUrl === undefined ? undefined : Redacted.make(options.databaseUrl)
    const gateway = GatewayServer.layer({
      dataDir,
      databaseUrl,
      objectStoreUrl: options.objectStoreUrl,
      offers: yield* offers
    }).pipe(
      Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })),
      Layer.provide(GatewayServerConfig.layer({ rateLimit: { requests: 1e9, window: Duration.seconds(1) } }))
    )
    const context = yield* Layer.build(gateway)
    yield* Effect.gen(function* () {
      const store = yield* WorkspaceStore
      const keys = yield* store.bootstrap({ credits: MicroCredits.make(1_000_000 * MicroCredits.perCredit) })
      const { address } = yield* HttpServer.HttpServer
      const apiKey = keys === null ? options.apiKey : Redacted.value(keys.ordinaryKey)
      if (apiKey === undefined || address._tag !== "InetAddressV4") return yield* Effect.die("the database is not new")
      if (keys !== null && options.prepare !== undefined) {
        const now = yield* Clock.currentTimeMillis
        yield* options.prepare({ dataDir, workspaceId: keys.workspace.id, now })
      }
      const managementKey = keys === null ? undefined : Redacted.value(keys.managementKey)
      const stopped = Effect.callback<void>((resume) => {
        listening({ port: address.port, apiKey, managementKey }, () => resume(Effect.void))
      })
      yield* stopped
    }).pipe(Effect.provideContext(context))
  }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "Error"), Effect.provide(NodeServices.layer))
  NodeRuntime.runMain(main)
}
