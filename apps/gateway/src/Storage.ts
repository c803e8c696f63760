/**
 * The database as the commands use it: the same stores over the same file as `serve`, before its first run or beside it.
 */
import type * as MicroCredits from "@model-gateway/server/accounting/MicroCredits"
import * as WorkspaceStore from "@model-gateway/server/workspaces/WorkspaceStore"
import { Effect, Option } from "effect"
import { Flag } from "effect/cli"
import * as DataFolder from "./DataFolder.ts"
import { Failure } from "./Failure.ts"
import * as Settings from "./Settings.ts"

/** The flags that every command on the database has. */
export const flags = {
  config: Settings.configFlag,
  settings: Settings.flagsOf([Settings.dataDir]),
  workspace: Flag.String("workspace").pipe(
    Flag.withMetavar("id"),
    Flag.withDescription("The workspace to act in, by its id. Default: the default workspace"),
    Flag.optional
  ),
  json: Flag.Boolean("json").pipe(Flag.withDescription("Print JSON, for programs"), Flag.withDefault(false))
} as const

/** What {@link flags} were given as. */
export interface Input {
  readonly config: Option.Option<string>
  readonly settings: Readonly<Record<string, Option.Option<string>>>
  readonly workspace: Option.Option<string>
  readonly json: boolean
}

/** Runs a command on the database and in the workspace that its flags name; the default workspace is made when it is the first to come. */
export const withWorkspace = Effect.fnUntraced(function* <A, E, R>(
  input: Input,
  use: (workspace: WorkspaceStore.Workspace) => Effect.Effect<A, E, R>
) {
  const settings = yield* Settings.read(yield* Settings.load(input.settings, input.config, process.env))
  yield* DataFolder.prepare(settings.dataDir)
  // Loaded only now, so that help and complaints need not wait for it.
  const GatewayServer = yield* Effect.promise(() => import("@model-gateway/server/GatewayServer"))
  return yield* Effect.gen(function* () {
    return yield* use(yield* find(input.workspace, settings.initialCredits))
  }).pipe(Effect.provide(GatewayServer.layerStoresSqlite({ dataDir: settings.dataDir })))
})

const find = Effect.fnUntraced(function* (id: Option.Option<string>, credits: MicroCredits.MicroCredits) {
  const workspaces = yield* WorkspaceStore.WorkspaceStore
  // Even where another is named: an empty database has its default workspace from the first command on.
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
