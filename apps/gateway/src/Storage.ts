/**
 * The database for the administration commands. They use the same stores as `serve`, and
 * work before its first run and while it runs.
 */
import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import type * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as WorkspaceStore from "@model-gateway/server/WorkspaceStore"
import { Effect, Layer, Option } from "effect"
import { Flag } from "effect/cli"
import { existsSync } from "node:fs"
import { join } from "node:path"
import * as DataFolder from "./DataFolder.ts"
import { Failure } from "./Failure.ts"
import * as LoadSettings from "./LoadSettings.ts"
import * as Settings from "./Settings.ts"

/** The flags that every command on the database has. */
export const flags = {
  config: Settings.configFlag,
  settings: Settings.flagsOf({ dataDir: Settings.declarations.dataDir }),
  workspace: Flag.String("workspace").pipe(
    Flag.withMetavar("id"),
    Flag.withDescription("Id of the workspace. Default: the default workspace"),
    Flag.optional
  ),
  json: Flag.Boolean("json").pipe(Flag.withDescription("Print JSON, for programs"), Flag.withDefault(false))
} as const

/** The values of {@link flags}. */
export interface Input {
  readonly config: Option.Option<string>
  readonly settings: Readonly<Record<string, Option.Option<string>>>
  readonly workspace: Option.Option<string>
  readonly json: boolean
}

/**
 * Runs a command on the database that its flags name. With `create`, a missing database is made;
 * with `existing`, a missing one is an error.
 */
export const withStores = Effect.fnUntraced(function* <A, E, R>(
  input: Pick<Input, "config" | "settings">,
  database: "create" | "existing",
  use: (initialCredits: MicroCredits.MicroCredits) => Effect.Effect<A, E, R>
) {
  const loaded = yield* LoadSettings.load(input.settings, input.config)
  const settings = yield* LoadSettings.read(loaded)
  const limits = yield* loaded.read(GatewayServerConfig.config)
  // Imported here so that help and error messages do not wait for it.
  const GatewayServer = yield* Effect.promise(() => import("@model-gateway/server/GatewayServer"))
  const { databaseConnections, databaseUrl, dataDir, migrate } = settings
  // Postgres is there, or connecting to it fails.
  const file = databaseUrl === undefined ? join(dataDir, GatewayServer.databaseFile) : undefined
  if (database === "existing" && file !== undefined && !existsSync(file)) {
    return yield* new Failure({
      message:
        `There is no database in ${dataDir}. ` +
        "Run model-gateway serve or model-gateway keys create first, or choose another folder with --data-dir."
    })
  }
  yield* DataFolder.prepare(dataDir)
  return yield* use(settings.initialCredits).pipe(
    Effect.provide(
      Layer.provide(
        GatewayServer.layerStores({ databaseConnections, databaseUrl, dataDir, migrate }),
        GatewayServerConfig.layer(limits)
      )
    )
  )
})

/**
 * Runs a command in the workspace that its flags name. A missing database is made with its default
 * workspace.
 */
export const withWorkspace = <A, E, R>(
  input: Input,
  database: "create" | "existing",
  use: (workspace: WorkspaceStore.Workspace) => Effect.Effect<A, E, R>
) => withStores(input, database, (credits) => Effect.flatMap(find(input.workspace, credits), use))

/** Fails because nothing can be added to a deleted workspace. */
export const deleted = (id: string): Effect.Effect<never, Failure> =>
  Effect.fail(new Failure({ message: `The workspace ${id} was deleted.` }))

const find = Effect.fnUntraced(function* (id: Option.Option<string>, credits: MicroCredits.MicroCredits) {
  const workspaces = yield* WorkspaceStore.WorkspaceStore
  // Also if another workspace is named: every database has its default workspace.
  const standard = yield* workspaces.ensureDefault({ credits })
  if (Option.isNone(id)) return standard
  return yield* workspaces
    .find(id.value)
    .pipe(
      Effect.catchTag("WorkspaceNotFound", () =>
        Effect.fail(new Failure({ message: `There is no workspace ${id.value} in this database.` }))
      )
    )
})
