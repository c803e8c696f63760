/** `model-gateway keys`: manages API keys in the database, without the HTTP API. */
import { LimitReset } from "@model-gateway/core/CurrentKey"
import { Name } from "@model-gateway/core/Identifiers"
import type * as Wire from "@model-gateway/core/Keys"
import * as KeyFormat from "@model-gateway/server/KeyFormat"
import * as KeyResponses from "@model-gateway/server/KeyResponses"
import { type Key, KeyStore } from "@model-gateway/server/KeyStore"
import type { Workspace } from "@model-gateway/server/WorkspaceStore"
import { Clock, Console, DateTime, Effect, Option, Redacted, Result, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as CreditsFlag from "../CreditsFlag.ts"
import { Failure } from "../Failure.ts"
import * as OperatorName from "../OperatorName.ts"
import * as Output from "../Output.ts"
import * as Storage from "../Storage.ts"

/** A key as GET `/keys` answers it. */
const wire = (key: Key) =>
  Effect.flatMap(KeyResponses.KeyResponses, ({ of }) =>
    Effect.map(of(key), (record) => KeyResponses.listed(key, record))
  )

const kindText = ({ is_free_tier, is_management_key }: Wire.Key): string =>
  is_management_key ? "management" : is_free_tier ? "free tier" : "ordinary"

const limitText = ({ limit, limit_remaining, limit_reset }: Wire.Key): string =>
  limit === null ? "none" : `${limit_remaining} of ${limit} left${limit_reset === null ? "" : `, ${limit_reset}`}`

const create = Command.make(
  "create",
  {
    name: Flag.String("name").pipe(
      Flag.withMetavar("text"),
      Flag.withDescription('Name of the key, at most 256 characters. Default: "Key"'),
      Flag.filter(Schema.is(Name), () => "Expected 1 to 256 characters"),
      Flag.withDefault("Key")
    ),
    management: Flag.Boolean("management").pipe(
      Flag.withDescription("Create a management key. It manages keys, guardrails and credits, and cannot spend"),
      Flag.withDefault(false)
    ),
    freeTier: Flag.Boolean("free-tier").pipe(
      Flag.withDescription("Create a key of the free tier. It uses only models at a price of 0, and spends no credits"),
      Flag.withDefault(false)
    ),
    limit: CreditsFlag.make("limit", 0).pipe(
      Flag.withDescription("Maximum credits that the key may spend. Default: no limit"),
      Flag.optional
    ),
    limitReset: Flag.Literals("limit-reset", LimitReset.literals).pipe(
      Flag.withDescription("When the limit resets: each UTC day, ISO week or month. Default: never"),
      Flag.optional
    ),
    expiresAt: Flag.String("expires-at").pipe(
      Flag.withMetavar("time"),
      Flag.withDescription("When the key expires, in ISO 8601: 2027-01-01T00:00:00Z. Default: never"),
      Flag.filterMap(
        (text) =>
          isoTime.test(text) && hasDay(text) ? Option.map(DateTime.make(text), DateTime.toEpochMillis) : Option.none(),
        () => "Expected a time in ISO 8601 with its zone, such as 2027-01-01T00:00:00Z"
      ),
      Flag.optional
    ),
    user: Flag.String("user").pipe(
      Flag.withMetavar("name"),
      Flag.withDescription(
        'The user who creates the key, at most 256 characters. Default: your login name. "" for none: a management key without a user may name the user of each key that it creates'
      ),
      Flag.filter(
        (name) => name === "" || OperatorName.isUserId(name),
        () => "Expected at most 256 characters"
      ),
      Flag.optional
    ),
    ...Storage.flags
  },
  Effect.fn("keys create")(function* (input) {
    if (input.management && input.freeTier) {
      return yield* new Failure({ message: "--free-tier and --management exclude each other." })
    }
    if (Option.isSome(input.limitReset) && Option.isNone(input.limit)) {
      return yield* new Failure({ message: "--limit-reset needs a --limit to reset." })
    }
    if (Option.isSome(input.expiresAt) && input.expiresAt.value <= (yield* Clock.currentTimeMillis)) {
      return yield* new Failure({
        message: `--expires-at ${DateTime.formatIso(DateTime.makeUnsafe(input.expiresAt.value))} has already passed.`
      })
    }
    const creatorUserId = Option.isNone(input.user)
      ? yield* OperatorName.loginName()
      : input.user.value === ""
        ? null
        : input.user.value
    yield* Storage.withWorkspace(
      input,
      "create",
      Effect.fnUntraced(function* ({ id: workspaceId, organizationId }) {
        const keys = yield* KeyStore
        const { key, plain } = yield* keys
          .create({
            organizationId,
            workspaceId,
            name: input.name,
            isManagement: input.management,
            isFreeTier: input.freeTier,
            creatorUserId,
            limit: Option.getOrNull(input.limit),
            limitReset: Option.getOrNull(input.limitReset),
            expiresAt: Option.getOrNull(input.expiresAt)
          })
          .pipe(
            Effect.catchTags({
              ManagementKeyOfFreeTier: Effect.die,
              WorkspaceNotFound: () => Storage.deleted(workspaceId)
            })
          )
        const shown = yield* wire(key)
        if (input.json) return yield* Output.json({ data: shown, key: Redacted.value(plain) })
        yield* Console.log(
          [
            "The key is shown only once:",
            "",
            `  ${Redacted.value(plain)}`,
            "",
            Output.fields([
              ["name", shown.name],
              ["kind", kindText(shown)],
              ["user", shown.creator_user_id ?? "none"],
              ["workspace", shown.workspace_id],
              ["limit", limitText(shown)],
              ["expires", shown.expires_at ?? "never"],
              ["hash", shown.hash]
            ])
          ].join("\n")
        )
      })
    )
  })
).pipe(
  Command.withDescription("Create a key and print it, once"),
  Command.withExamples([
    { command: "model-gateway keys create --name laptop", description: "A key without a limit" },
    {
      command: "model-gateway keys create --name ci --limit 5 --limit-reset daily --expires-at 2027-01-01T00:00:00Z",
      description: "A key with 5 credits a day that expires at the new year"
    },
    { command: "model-gateway keys create --management --json", description: "A management key, for a script" }
  ])
)

const isoTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/

/** JavaScript takes the 31st of February for the 3rd of March. */
const hasDay = (text: string): boolean => {
  const day = text.slice(0, 10)
  return Option.exists(DateTime.make(`${day}T00:00:00Z`), (time) => DateTime.formatIso(time).startsWith(day))
}

/** All keys of the workspace, newest first. */
const allOf = Effect.fnUntraced(function* ({ id: workspaceId, organizationId }: Workspace) {
  const filter = { organizationId, workspaceId, includeDisabled: true }
  const { items } = yield* (yield* KeyStore).list(filter, { limit: everything })
  return items
})

/** More keys than a database holds. */
const everything = 1_000_000_000

const list = Command.make(
  "list",
  Storage.flags,
  Effect.fn("keys list")(function* (input) {
    yield* Storage.withWorkspace(
      input,
      "existing",
      Effect.fnUntraced(function* (workspace) {
        const keys = (yield* allOf(workspace)).map((key) => KeyResponses.listedWith(key, key.budget))
        if (input.json) return yield* Output.json({ data: keys })
        if (keys.length === 0) {
          return yield* Console.log("This workspace has no keys. Create one with model-gateway keys create.")
        }
        const now = yield* Clock.currentTimeMillis
        yield* Console.log(
          Output.table(
            ["KEY", "NAME", "KIND", "STATE", "USED", "LIMIT", "EXPIRES", "HASH"],
            keys.map((key) => [
              key.label,
              key.name,
              kindText(key),
              key.disabled
                ? "disabled"
                : key.expires_at !== null && Date.parse(key.expires_at) <= now
                  ? "expired"
                  : "active",
              String(key.usage),
              limitText(key),
              key.expires_at ?? "never",
              key.hash.slice(0, 16)
            ])
          )
        )
      })
    )
  })
).pipe(Command.withDescription("List the keys of a workspace, newest first"))

/** The keys that the text may stand for: a hash, the beginning of one, or a key itself. */
const matching = (text: string, keys: ReadonlyArray<Key>): ReadonlyArray<Key> => {
  const hash = Result.match(KeyFormat.parse(text), { onFailure: () => text, onSuccess: (parsed) => parsed.hash })
  return keys.filter((key) => key.hash.startsWith(hash))
}

const revoke = Command.make(
  "revoke",
  {
    key: Argument.String("key").pipe(
      Argument.withDescription(
        "The key's hash, as keys list shows it (its first 8 characters or more), or the key itself"
      ),
      Argument.filter(
        (text) => /^[0-9a-f]{8,64}$/.test(text) || Result.isSuccess(KeyFormat.parse(text)),
        () => "Expected 8 to 64 hex digits of the key's hash, or the key itself"
      )
    ),
    ...Storage.flags
  },
  Effect.fn("keys revoke")(function* (input) {
    yield* Storage.withWorkspace(
      input,
      "existing",
      Effect.fnUntraced(function* (workspace) {
        const keys = yield* KeyStore
        const [key, another] = matching(input.key, yield* allOf(workspace))
        const missing = new Failure({ message: `The workspace ${workspace.id} has no such key.` })
        if (key === undefined) return yield* missing
        if (another !== undefined) {
          return yield* new Failure({
            message: `Several keys begin with ${input.key}. Give more characters of the hash.`
          })
        }
        yield* keys
          .remove(key.organizationId, key.hash)
          .pipe(Effect.catchTag("KeyNotFound", () => Effect.fail(missing)))
        if (input.json) return yield* Output.json({ deleted: true, hash: key.hash })
        yield* Console.log(
          `Revoked ${key.label} (${Output.printable(key.name)}). A running gateway refuses it within 3 seconds.`
        )
      })
    )
  })
).pipe(
  Command.withDescription("Revoke a key permanently. Its usage is kept"),
  Command.withExamples([{ command: "model-gateway keys revoke 3f9a1c0e", description: "By the beginning of its hash" }])
)

/** The `keys` command. */
export const command = Command.make("keys").pipe(
  Command.withDescription("Manage API keys in the database, with or without a running gateway"),
  Command.withSubcommands([create, list, revoke])
)
