/** `model-gateway console`: signs in to the console without a key, lists and ends its sessions. */
import { Role } from "@model-gateway/core/Identifiers"
import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as ConsoleAddress from "../ConsoleAddress.ts"
import { UsageError } from "../Failure.ts"
import * as Listed from "../Listed.ts"
import * as LoadSettings from "../LoadSettings.ts"
import * as Operator from "../Operator.ts"
import * as Output from "../Output.ts"
import * as Settings from "../Settings.ts"
import * as Storage from "../Storage.ts"
import * as TimeFlag from "../TimeFlag.ts"

const units = { s: 1000, m: 60_000, h: 3_600_000 }

/** Milliseconds of a text such as `5m`. */
const lifetimeOf = (text: string): Option.Option<number> => {
  const [, count = "", unit] = /^(\d{1,5})([smh])$/.exec(text) ?? []
  const millis = unit === "s" || unit === "m" || unit === "h" ? Number(count) * units[unit] : 0
  return millis > 0 ? Option.some(millis) : Option.none()
}

const link = Command.make(
  "link",
  {
    role: Flag.Literals("role", Role.literals).pipe(
      Flag.withDescription(
        "What the session may do: viewer reads, operator also changes keys, guardrails and credits, admin everything. Default: viewer"
      ),
      Flag.withDefault<Role>("viewer")
    ),
    workspaces: Flag.String("workspace").pipe(
      Flag.withMetavar("slug-or-id"),
      Flag.between(0, 100),
      Flag.withDefault<ReadonlyArray<string>>([]),
      Flag.withDescription(
        "Slug or id of a workspace that the session is restricted to, with the role viewer or operator. Repeat the flag for several. Default: all"
      )
    ),
    lifetime: Flag.String("expires").pipe(
      Flag.withMetavar("time"),
      Flag.filterMap(lifetimeOf, () => "Expected a time such as 30s, 5m or 1h"),
      Flag.withDescription("How long the link can be used, such as 30s, 5m or 1h, up to 24 hours. Default: 5m"),
      Flag.optional
    ),
    config: Settings.configFlag,
    settings: Settings.flagsOf({
      dataDir: Settings.declarations.dataDir,
      host: Settings.declarations.host,
      port: Settings.declarations.port,
      publicUrl: Settings.declarations.console.publicUrl
    }),
    json: Output.jsonFlag
  },
  Effect.fn("console link")(function* (input) {
    const { role } = input
    if (role === "admin" && input.workspaces.length > 0) {
      return yield* new UsageError({ message: "--workspace needs --role viewer or operator: an admin manages all." })
    }
    const ConsoleLinks = yield* Effect.promise(() => import("@model-gateway/server/ConsoleLinks"))
    const lifetime = Option.getOrElse(input.lifetime, () => ConsoleLinks.defaultLifetime)
    if (lifetime > ConsoleLinks.maxLifetime) {
      return yield* new UsageError({ message: `--expires is at most ${ConsoleLinks.maxLifetime / units.h} hours.` })
    }
    const loaded = yield* LoadSettings.load(input.settings, input.config)
    const settings = yield* LoadSettings.read(loaded)
    const { basePath } = yield* loaded.read(GatewayServerConfig.config)
    const base = ConsoleAddress.publicUrl(settings, settings.port, basePath)
    const { expiresAt, plain } = yield* Storage.withStores(
      input,
      Effect.gen(function* () {
        const { WorkspaceStore } = yield* Effect.promise(() => import("@model-gateway/server/WorkspaceStore"))
        const workspaces = yield* WorkspaceStore
        const { id, organizationId } = yield* workspaces.ensureDefault({ credits: settings.initialCredits })
        const restrictedTo = yield* Effect.forEach(input.workspaces, (ref) => workspaces.get(organizationId, ref)).pipe(
          Effect.catchTag("WorkspaceNotFound", ({ id }) =>
            Effect.fail(new UsageError({ message: `There is no workspace "${Output.shortened(id)}".` }))
          )
        )
        const links = yield* ConsoleLinks.ConsoleLinks
        const { link, plain } = yield* links.create({
          organizationId,
          workspaceId: restrictedTo[0]?.id ?? id,
          role,
          workspaceIds: restrictedTo.length === 0 ? null : restrictedTo.map((workspace) => workspace.id),
          lifetime,
          by: "operator"
        })
        return { plain, expiresAt: link.expiresAt }
      })
    )
    const url = ConsoleAddress.ofToken(base, plain)
    if (input.json) return yield* Output.json({ url, role, expires_at: TimeFlag.format(expiresAt) })
    const off = settings.hasConsole
      ? ""
      : " By these settings the console is switched off: start the gateway with --console on."
    yield* Console.log(url)
    yield* Console.error(`It signs in once, with the role ${role}, until ${TimeFlag.format(expiresAt)}.${off}`)
  })
).pipe(
  Command.withDescription(
    "Print an address that signs in to the console once. Whoever has it gets the role, so send it as you would send a key. " +
      "The address is that of console-public-url or, without it, of host and port"
  ),
  Command.withShortDescription("Print an address that signs in once")
)

const sessions = Operator.command(
  "sessions",
  {},
  Effect.fn("console sessions")(function* () {
    const { gateway } = yield* Operator.Target
    const { data } = yield* gateway.listConsoleSessions
    return Listed.answer(data, "Nobody is signed in to the console.", {
      WHO: ({ label }) => label,
      WAY: ({ kind }) => kind,
      ROLE: ({ role }) => role,
      ADDRESS: ({ address }) => address,
      BEGAN: ({ created_at }) => created_at,
      LAST_USED: ({ last_used_at }) => last_used_at,
      SESSION: ({ id }) => id
    })
  })
).pipe(Command.withDescription("List the sessions of the console, the most recently used first, at most 1,000"))

const end = Operator.command(
  "end",
  {
    id: Argument.String("session").pipe(
      Argument.withDescription("Id of the session, as console sessions shows it"),
      Argument.optional
    ),
    all: Flag.Boolean("all").pipe(Flag.withDescription("End all sessions"), Flag.withDefault(false))
  },
  Effect.fn("console end")(function* ({ id }) {
    const { gateway } = yield* Operator.Target
    const json = Option.isSome(id)
      ? yield* Listed.orMissing("session")(gateway.endConsoleSession(id.value))
      : yield* gateway.endConsoleSessions
    const { ended_count: count } = json
    return { json, text: `Ended ${count} ${count === 1 ? "session" : "sessions"}.` }
  }),
  ({ all, id }) =>
    Option.isSome(id) === all
      ? Effect.fail(new UsageError({ message: "Name either a session or --all." }))
      : Effect.void
).pipe(
  Command.withDescription(
    "End one session of the console, or all of them. The person can sign in again: to prevent that, disable or delete the key"
  ),
  Command.withShortDescription("End sessions of the console")
)

/** The `console` command. */
export const command = Command.make("console").pipe(
  Command.withDescription("The console at /console: sign in without a key, and see and end who is signed in"),
  Command.withSubcommands([link, sessions, end]),
  Command.withExamples([
    { command: "model-gateway console link", description: "To look, for 5 minutes" },
    { command: "model-gateway console link --role admin --expires 30s", description: "To change everything" },
    {
      command: "model-gateway console link --role operator --workspace acme --expires 1h",
      description: "For who manages one workspace"
    }
  ])
)
