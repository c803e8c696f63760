/**
 * The database for the commands that the API does not have. They use the same stores as `serve`,
 * and work while it runs.
 */
import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import { Effect, Layer, type Option } from "effect"
import * as Database from "./Database.ts"
import * as LoadSettings from "./LoadSettings.ts"
import * as Output from "./Output.ts"
import * as Settings from "./Settings.ts"

/** The flags that every command on the database has. */
export const flags = {
  config: Settings.configFlag,
  settings: Settings.flagsOf({ dataDir: Settings.declarations.dataDir }),
  json: Output.jsonFlag
} as const

/** What says where the database is. */
export interface Input {
  readonly config: Option.Option<string>
  readonly settings: Readonly<Record<string, Option.Option<string>>>
}

/** Runs a command on the database that its flags name. It must exist and have today's schema. */
export const withStores = Effect.fnUntraced(function* <A, E, R>(input: Input, use: Effect.Effect<A, E, R>) {
  const loaded = yield* LoadSettings.load(input.settings, input.config)
  const settings = yield* LoadSettings.read(loaded)
  const limits = yield* loaded.read(GatewayServerConfig.config)
  yield* Database.required(settings)
  // Imported here so that help and error messages do not wait for it.
  const GatewayServer = yield* Effect.promise(() => import("@model-gateway/server/GatewayServer"))
  const { databaseConnections, databaseUrl, dataDir } = settings
  const stores = GatewayServer.layerStores({ databaseConnections, databaseUrl, dataDir, migrate: "never" }).pipe(
    Layer.catchTag("StorageError", (error) => Layer.effectContext(Effect.fail(Database.openFailure(settings, error))))
  )
  return yield* Effect.provide(use, Layer.provide(stores, GatewayServerConfig.layer(limits)))
})
