/** `model-gateway keys`: manages API keys. */
import { LimitReset } from "@model-gateway/core/CurrentKey"
import { Name, Role } from "@model-gateway/core/Identifiers"
import { type Key, KeySort, type ListOptions } from "@model-gateway/core/Keys"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as KeyFormat from "@model-gateway/server/KeyFormat"
import { Clock, Console, Effect, Option, Redacted, Result, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Change from "../Change.ts"
import * as CreditsFlag from "../CreditsFlag.ts"
import { Failure, UsageError } from "../Failure.ts"
import * as Listed from "../Listed.ts"
import * as Operator from "../Operator.ts"
import * as OperatorName from "../OperatorName.ts"
import * as Output from "../Output.ts"
import * as TimeFlag from "../TimeFlag.ts"

const kindText = ({ is_free_tier, is_management_key, role }: Key): string =>
  is_management_key
    ? role === undefined
      ? "management"
      : `management, ${role}`
    : is_free_tier
      ? "free tier"
      : "ordinary"

const limitText = ({ limit, limit_remaining, limit_reset }: Key): string =>
  limit === null ? "none" : `${limit_remaining} of ${limit} left${limit_reset === null ? "" : `, ${limit_reset}`}`

const stateText = ({ disabled, expires_at }: Key, now: number): string =>
  disabled ? "disabled" : expires_at !== null && Date.parse(expires_at) <= now ? "expired" : "active"

const nameFlag = Flag.String("name").pipe(
  Flag.withMetavar("text"),
  Flag.filter(Schema.is(Name), () => "Expected 1 to 256 characters")
)

const roleFlag = Flag.Literals("role", Role.literals)

/** The workspaces that a management key is restricted to. */
const onlyWorkspaceFlag = Flag.String("only-workspace").pipe(
  Flag.withMetavar("slug-or-id"),
  Flag.between(0, 100),
  // Without it, the help says that the flag is required.
  Flag.withDefault<ReadonlyArray<string>>([]),
  Flag.map((refs) => (refs.length === 0 ? Option.none() : Option.some(refs)))
)

const workspaceIdsOf = (refs: Option.Option<ReadonlyArray<string>>) =>
  Option.match(refs, {
    onNone: () => Effect.succeed(undefined),
    onSome: (some) => Effect.forEach(some, Operator.workspaceId)
  })

const limitFlag = CreditsFlag.make("limit", 0)

const limitResetFlag = Flag.Literals("limit-reset", LimitReset.literals)

const expiresAtFlag = TimeFlag.make("expires-at")

const checkExpiry = Effect.fnUntraced(function* (expiresAt: Option.Option<number>) {
  if (Option.isSome(expiresAt) && expiresAt.value <= (yield* Clock.currentTimeMillis)) {
    return yield* new UsageError({ message: `--expires-at ${TimeFlag.format(expiresAt.value)} has already passed.` })
  }
})

const create = Operator.command(
  "create",
  {
    name: nameFlag.pipe(
      Flag.withDescription('Name of the key, at most 256 characters. Default: "Key"'),
      Flag.withDefault("Key")
    ),
    management: Flag.Boolean("management").pipe(
      Flag.withDescription("Create a management key. It manages keys, guardrails and credits, and cannot spend"),
      Flag.withDefault(false)
    ),
    role: roleFlag.pipe(
      Flag.withDescription(
        "What a management key may do: viewer reads, operator also changes keys, guardrails and credits, admin everything. Default: admin"
      ),
      Flag.optional
    ),
    onlyWorkspaces: onlyWorkspaceFlag.pipe(
      Flag.withDescription(
        "Slug or id of a workspace that a management key with the role viewer or operator is restricted to. Repeat the flag for several. Default: all"
      )
    ),
    freeTier: Flag.Boolean("free-tier").pipe(
      Flag.withDescription("Create a key of the free tier. It uses only models at a price of 0, and spends no credits"),
      Flag.withDefault(false)
    ),
    limit: limitFlag.pipe(
      Flag.withDescription("Maximum credits that the key may spend. Default: no limit"),
      Flag.optional
    ),
    limitReset: limitResetFlag.pipe(
      Flag.withDescription("When the limit resets: each UTC day, ISO week or month. Default: never"),
      Flag.optional
    ),
    expiresAt: expiresAtFlag.pipe(
      Flag.withDescription("When the key expires, in ISO 8601: 2027-01-01T00:00:00Z. Default: never"),
      Flag.optional
    ),
    byokInLimit: Flag.Boolean("byok-in-limit").pipe(
      Flag.withDescription("Count what provider keys of the workspace pay toward the limit, too"),
      Flag.withDefault(false)
    ),
    user: Flag.String("user").pipe(
      Flag.withMetavar("name"),
      Flag.withDescription(
        'The user who creates the key, at most 256 characters. Default: your login name; with --url, the user of the management key. "" for none: a management key without a user may name the user of each key that it creates'
      ),
      Flag.filter(
        (name) => name === "" || OperatorName.isUserId(name),
        () => "Expected at most 256 characters"
      ),
      Flag.optional
    ),
    workspace: Operator.workspaceFlag.pipe(
      Flag.withDescription("Slug or id of the key's workspace. Default: the default workspace"),
      Flag.optional
    )
  },
  Effect.fn("keys create")(function* (input) {
    const { gateway, userId } = yield* Operator.Target
    const workspaceId = yield* Operator.optionalWorkspaceId(input.workspace)
    const workspaceIds = yield* workspaceIdsOf(input.onlyWorkspaces)
    const user = Option.match(input.user, { onNone: () => userId, onSome: (name) => (name === "" ? null : name) })
    const { data, key } = yield* gateway.createKey({
      name: input.name,
      is_management_key: input.management,
      is_free_tier: input.freeTier,
      limit: Option.getOrNull(Option.map(input.limit, MicroCredits.toCredits)),
      limit_reset: Option.getOrNull(input.limitReset),
      include_byok_in_limit: input.byokInLimit,
      expires_at: Option.getOrNull(Option.map(input.expiresAt, TimeFlag.format)),
      role: Option.getOrUndefined(input.role),
      workspace_ids: workspaceIds,
      ...(workspaceId === undefined ? {} : { workspace_id: workspaceId }),
      ...(user === undefined ? {} : { creator_user_id: user })
    })
    return {
      json: { data, key: Redacted.value(key) },
      text: ["The key is shown only once:", "", `  ${Redacted.value(key)}`, "", fields(data)].join("\n")
    }
  }),
  Effect.fnUntraced(function* (input) {
    if (input.management && input.freeTier) {
      return yield* new UsageError({ message: "--free-tier and --management exclude each other." })
    }
    if (!input.management && (Option.isSome(input.role) || Option.isSome(input.onlyWorkspaces))) {
      return yield* new UsageError({ message: "--role and --only-workspace are for a key with --management." })
    }
    if (Option.isSome(input.limitReset) && Option.isNone(input.limit)) {
      return yield* new UsageError({ message: "--limit-reset needs a --limit to reset." })
    }
    yield* checkExpiry(input.expiresAt)
  })
).pipe(
  Command.withDescription("Create a key and print it, once"),
  Command.withExamples([
    { command: "model-gateway keys create --name laptop", description: "A key without a limit" },
    {
      command: "model-gateway keys create --name ci --limit 5 --limit-reset daily --expires-at 2027-01-01T00:00:00Z",
      description: "A key with 5 credits a day that expires at the new year"
    },
    { command: "model-gateway keys create --management --json", description: "A management key, for a script" },
    {
      command: "model-gateway keys create --management --role operator --only-workspace search-team",
      description: "A management key for the keys, guardrails and credits of one workspace"
    },
    {
      command: "model-gateway keys create --workspace search-team --url https://gateway.example",
      description: "On a gateway that runs elsewhere"
    }
  ])
)

/** All keys that the options select, newest first by default. */
export const allOf = Effect.fnUntraced(function* (options: Pick<ListOptions, "workspace_id" | "search" | "sort">) {
  const { gateway } = yield* Operator.Target
  return yield* Operator.all((page) => gateway.listKeys({ ...page, ...options, include_disabled: true, limit: 1000 }))
})

const list = Operator.command(
  "list",
  {
    workspace: Operator.workspaceFlag.pipe(
      Flag.withDescription("List only the keys of this workspace: its slug or id. Default: those of all workspaces"),
      Flag.optional
    ),
    search: Flag.String("search").pipe(
      Flag.withMetavar("text"),
      Flag.withDescription(
        "List only keys with this text in their name or label, among the newest 10000, in upper or lower case. Default: all"
      ),
      Flag.filter(Schema.is(Name), () => "Expected 1 to 256 characters"),
      Flag.optional
    ),
    sort: Flag.Literals("sort", KeySort.literals).pipe(
      Flag.withDescription(
        "Order: the newest, by name, the one with the greatest use, or the one used last. All but created list the newest 10000 keys only. Default: created"
      ),
      Flag.withDefault("created" as const)
    )
  },
  Effect.fn("keys list")(function* ({ search, sort, workspace }) {
    const keys = yield* allOf({
      workspace_id: yield* Operator.optionalWorkspaceId(workspace),
      search: Option.getOrUndefined(search),
      sort
    })
    const slugOf = yield* Operator.slugs
    const now = yield* Clock.currentTimeMillis
    return Listed.answer(keys, "There are no keys. Create one with model-gateway keys create.", {
      KEY: ({ label }) => label,
      NAME: ({ name }) => name,
      KIND: kindText,
      STATE: (key) => stateText(key, now),
      WORKSPACE: ({ workspace_id }) => slugOf(workspace_id),
      USED: ({ usage }) => String(usage),
      LIMIT: limitText,
      EXPIRES: ({ expires_at }) => expires_at ?? "never",
      HASH: ({ hash }) => hash.slice(0, 16)
    })
  })
).pipe(
  Command.withDescription("List the keys, newest first by default. USED and LIMIT are in credits. 1 credit is 1 USD"),
  Command.withExamples([
    { command: "model-gateway keys list --workspace search-team", description: "The keys of one workspace" },
    { command: "model-gateway keys list --search intern --sort usage", description: "Which of these keys spent most" }
  ])
)

/** Whether a text may name a key. */
export const isKey = (text: string): boolean => /^[0-9a-f]{8,64}$/.test(text) || Result.isSuccess(KeyFormat.parse(text))

export const expected = "Expected 8 to 64 hex digits of the key's hash, or the key itself"

/** The argument that names a key. */
export const keyArgument = Argument.String("key").pipe(
  Argument.withDescription("The key's hash, as keys list shows it (its first 8 characters or more), or the key itself"),
  Argument.filter(isKey, () => expected)
)

const orMissing = Listed.orMissing("key")

/** The key that a {@link keyArgument} names. */
export const find = Effect.fnUntraced(function* (text: string) {
  const hash = Result.match(KeyFormat.parse(text), { onFailure: () => text, onSuccess: (parsed) => parsed.hash })
  if (hash.length === 64) {
    const { gateway } = yield* Operator.Target
    return yield* orMissing(gateway.getKey(hash))
  }
  const [key, another] = (yield* allOf({})).filter((each) => each.hash.startsWith(hash))
  if (key === undefined) return yield* new Failure({ message: "There is no such key." })
  if (another !== undefined) {
    return yield* new Failure({ message: `Several keys have a hash that begins with ${hash}. Give more of it.` })
  }
  return key
})

const fields = (key: Key): string =>
  Output.fields([
    ["name", key.name],
    ["kind", kindText(key)],
    ["user", key.creator_user_id ?? "none"],
    ["workspace", key.workspace_id],
    ...(key.workspace_ids === null ? [] : [["only workspaces", key.workspace_ids.join(", ")] as const]),
    ["limit", limitText(key)],
    ["expires", key.expires_at ?? "never"],
    ["hash", key.hash]
  ])

const show = Operator.command(
  "show",
  { key: keyArgument },
  Effect.fn("keys show")(function* ({ key: text }) {
    const key = yield* find(text)
    const now = yield* Clock.currentTimeMillis
    return {
      json: { data: key },
      text: `${fields(key)}\n${Output.fields([
        ["state", stateText(key, now)],
        ["guardrail", key.guardrail_id ?? "none"],
        ["used", `${key.usage} credits: ${key.usage_daily} today, ${key.usage_monthly} this month`],
        ["created", key.created_at]
      ])}`
    }
  })
).pipe(Command.withDescription("Show a key, its limit and what it has used. Never shows the key itself"))

const unchanged = "Default: as it is"

const update = Operator.command(
  "update",
  {
    key: keyArgument,
    changes: {
      name: nameFlag.pipe(Flag.withDescription(`The new name: 1 to 256 characters. ${unchanged}`), Flag.optional),
      disabled: Change.yesOrNo("disabled").pipe(
        Flag.withDescription(`Whether the key and its ephemeral keys are switched off. ${unchanged}`),
        Flag.optional
      ),
      role: roleFlag.pipe(Flag.withDescription(`What a management key may do. ${unchanged}`), Flag.optional),
      "only-workspace": onlyWorkspaceFlag.pipe(
        Flag.withDescription(
          `Slug or id of a workspace that a management key is restricted to. Repeat the flag for several. ${unchanged}`
        )
      ),
      "free-tier": Change.yesOrNo("free-tier").pipe(
        Flag.withDescription(`Whether the key is of the free tier. ${unchanged}`),
        Flag.optional
      ),
      limit: limitFlag.pipe(
        Flag.withDescription(`Maximum credits that the key may spend. ${unchanged}`),
        Flag.optional
      ),
      "limit-reset": limitResetFlag.pipe(
        Flag.withDescription(`When the limit resets: each UTC day, ISO week or month. ${unchanged}`),
        Flag.optional
      ),
      "byok-in-limit": Change.yesOrNo("byok-in-limit").pipe(
        Flag.withDescription(`Whether what provider keys of the workspace pay counts toward the limit. ${unchanged}`),
        Flag.optional
      ),
      "expires-at": expiresAtFlag.pipe(
        Flag.withDescription(`When the key expires, in ISO 8601: 2027-01-01T00:00:00Z. ${unchanged}`),
        Flag.optional
      )
    },
    unset: Change.unsetFlag(["only-workspace", "limit", "limit-reset", "expires-at"])
  },
  Effect.fn("keys update")(function* ({ changes, key: text, unset }) {
    const { gateway } = yield* Operator.Target
    const { hash, limit } = yield* find(text)
    if (Option.isSome(changes["limit-reset"]) && Option.isNone(changes.limit) && limit === null) {
      return yield* new UsageError({ message: "--limit-reset needs a --limit to reset: the key has none." })
    }
    const workspaceIds = yield* workspaceIdsOf(changes["only-workspace"])
    const data = yield* orMissing(
      gateway.updateKey(hash, {
        role: Option.getOrUndefined(changes.role),
        workspace_ids: unset.includes("only-workspace") ? null : workspaceIds,
        name: Option.getOrUndefined(changes.name),
        disabled: Option.getOrUndefined(changes.disabled),
        is_free_tier: Option.getOrUndefined(changes["free-tier"]),
        limit: Change.valueOf(Option.map(changes.limit, MicroCredits.toCredits), unset.includes("limit")),
        limit_reset: Change.valueOf(changes["limit-reset"], unset.includes("limit-reset") || unset.includes("limit")),
        include_byok_in_limit: Option.getOrUndefined(changes["byok-in-limit"]),
        expires_at: Change.valueOf(Option.map(changes["expires-at"], TimeFlag.format), unset.includes("expires-at"))
      })
    )
    return {
      json: { data },
      text: `${fields(data)}\n${Output.fields([["state", stateText(data, yield* Clock.currentTimeMillis)]])}`
    }
  }),
  Effect.fnUntraced(function* ({ changes, unset }) {
    yield* Change.check(changes, unset)
    if (unset.includes("limit") && Option.isSome(changes["limit-reset"])) {
      return yield* new UsageError({ message: "--limit-reset and --unset limit exclude each other." })
    }
    yield* checkExpiry(changes["expires-at"])
  })
).pipe(
  Command.withDescription(
    "Change a key. A running gateway applies it within 3 seconds. --unset limit removes the limit together with its reset"
  ),
  Command.withShortDescription("Change a key"),
  Command.withExamples([
    { command: "model-gateway keys update 3f9a1c0e --limit 50 --limit-reset monthly", description: "Another limit" },
    { command: "model-gateway keys update 3f9a1c0e --disabled yes", description: "Switch it off for now" },
    { command: "model-gateway keys update 3f9a1c0e --unset expires-at", description: "It no longer expires" }
  ])
)

const rotate = Operator.command(
  "rotate",
  {
    key: keyArgument,
    grace: Flag.Int("grace").pipe(
      Flag.withMetavar("seconds"),
      Flag.withDescription(
        "Seconds in which the present secret is accepted beside the new one, from 0 to 2592000, 30 days. Default: 86400, a day"
      ),
      Flag.filter(
        (seconds) => seconds >= 0 && seconds <= 2_592_000,
        () => "Expected a number of seconds from 0 to 2592000"
      ),
      Flag.withDefault(86_400)
    )
  },
  Effect.fn("keys rotate")(function* ({ grace, key: text }) {
    const { gateway } = yield* Operator.Target
    const { hash } = yield* find(text)
    const { data, key, previous_expires_at } = yield* orMissing(gateway.rotateKey(hash, { grace_seconds: grace }))
    return {
      json: { data, key: Redacted.value(key), previous_expires_at },
      text: [
        `The new secret of the key ${Output.printable(data.name)} is shown only once:`,
        "",
        `  ${Redacted.value(key)}`,
        "",
        previous_expires_at === null
          ? "A running gateway rejects the earlier ones within 3 seconds."
          : `The earlier one is accepted beside it until ${previous_expires_at}.`
      ].join("\n")
    }
  })
).pipe(
  Command.withDescription(
    "Replace the secret of a key, and print the new one, once. Its hash, usage, limits and files stay the same"
  ),
  Command.withShortDescription("Replace the secret of a key"),
  Command.withExamples([
    { command: "model-gateway keys rotate 3f9a1c0e", description: "Programs have a day to change over" },
    { command: "model-gateway keys rotate 3f9a1c0e --grace 0", description: "The earlier secret leaked" }
  ])
)

const revoke = Operator.command(
  "revoke",
  { key: keyArgument },
  Effect.fn("keys revoke")(function* ({ key: text }) {
    const { gateway } = yield* Operator.Target
    const { hash, label, name } = yield* find(text)
    yield* orMissing(gateway.deleteKey(hash))
    return {
      json: { deleted: true, hash },
      text: `Revoked the key ${Output.printable(name)} (${label}). A running gateway rejects it within 3 seconds.`
    }
  })
).pipe(
  Command.withDescription("Revoke a key permanently. Its usage is kept"),
  Command.withExamples([{ command: "model-gateway keys revoke 3f9a1c0e", description: "By the beginning of its hash" }])
)

const generate = Command.make(
  "generate",
  {},
  Effect.fnUntraced(function* () {
    const { key } = yield* KeyFormat.generate(yield* SecureRandom.SecureRandom, "management")
    yield* Console.log(Redacted.value(key))
  }, Effect.provide(SecureRandom.layerWebCrypto))
).pipe(
  Command.withDescription(
    "Print a new management key for serve --bootstrap-management-key-file. No gateway accepts it before its first start with that flag"
  ),
  Command.withShortDescription("Print a management key for the first start of a gateway"),
  Command.withExamples([
    {
      command: "(umask 077 && model-gateway keys generate > management-key)",
      description: "In a file that only its owner can read"
    }
  ])
)

/** The `keys` command. */
export const command = Command.make("keys").pipe(
  Command.withDescription("Manage API keys"),
  Command.withSubcommands([create, list, show, update, rotate, revoke, generate])
)
