/** `model-gateway guardrails`: limits on models, providers and spending, for the keys assigned. */
import { LimitReset } from "@model-gateway/core/CurrentKey"
import type { Guardrail } from "@model-gateway/core/Guardrails"
import { Name } from "@model-gateway/core/Identifiers"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Change from "../Change.ts"
import * as CreditsFlag from "../CreditsFlag.ts"
import { UsageError } from "../Failure.ts"
import * as Listed from "../Listed.ts"
import * as Operator from "../Operator.ts"
import * as Output from "../Output.ts"
import * as Keys from "./Keys.ts"

const id = Argument.String("guardrail").pipe(
  Argument.withDescription("Id of the guardrail, as guardrails list shows it")
)

const orMissing = Listed.orMissing("guardrail")

const limitText = ({ limit_usd, reset_interval }: Guardrail): string =>
  limit_usd === null ? "none" : `${limit_usd}${reset_interval === null ? "" : ` ${reset_interval}`}`

const namesText = (names: ReadonlyArray<string> | null, ifNull: string): string =>
  names === null ? ifNull : names.length === 0 ? "none" : names.join(", ")

const modelsText = ({ allowed_models, ignored_models }: Guardrail): string =>
  `${namesText(allowed_models, "all")}${ignored_models === null ? "" : ` except ${namesText(ignored_models, "")}`}`

const providersText = ({ allowed_providers, ignored_providers }: Guardrail): string =>
  `${namesText(allowed_providers, "all")}${ignored_providers === null ? "" : ` except ${namesText(ignored_providers, "")}`}`

const fields = (guardrail: Guardrail): string =>
  Output.fields([
    ["name", guardrail.name],
    ["id", guardrail.id],
    ["description", guardrail.description ?? "none"],
    ["limit", limitText(guardrail)],
    ["left", guardrail.limit_remaining === null ? "no limit" : String(guardrail.limit_remaining)],
    ["resets", guardrail.resets_at ?? "never"],
    ["used", String(guardrail.usage)],
    ["models", modelsText(guardrail)],
    ["providers", providersText(guardrail)],
    ["created", guardrail.created_at]
  ])

const list = Operator.command(
  "list",
  {
    workspace: Operator.workspaceFlag.pipe(
      Flag.withDescription("List only those of this workspace: its slug or id. Default: those of all workspaces"),
      Flag.optional
    )
  },
  Effect.fn("guardrails list")(function* ({ workspace }) {
    const { gateway } = yield* Operator.Target
    const workspaceId = yield* Operator.optionalWorkspaceId(workspace)
    const data = yield* Operator.all((page) =>
      gateway.listGuardrails({
        ...page,
        limit: 100,
        ...(workspaceId === undefined ? {} : { workspace_id: workspaceId })
      })
    )
    return Listed.answer(data, "There are no guardrails. Create one with model-gateway guardrails create.", {
      NAME: ({ name }) => name,
      LIMIT: limitText,
      MODELS: modelsText,
      PROVIDERS: providersText,
      ID: ({ id }) => id
    })
  })
).pipe(Command.withDescription("List the guardrails, newest first. LIMIT is in credits. 1 credit is 1 USD"))

const show = Operator.command(
  "show",
  { id },
  Effect.fn("guardrails show")(function* ({ id }) {
    const { gateway } = yield* Operator.Target
    const data = yield* orMissing(gateway.getGuardrail(id))
    const keys = yield* Operator.all((page) => gateway.listAssignments(id, { ...page, limit: 100 }))
    return {
      json: { data, keys },
      text: [
        fields(data),
        "",
        keys.length === 0
          ? "No keys are assigned to it."
          : Listed.table(keys, {
              KEY: ({ key_label }) => key_label,
              NAME: ({ key_name }) => key_name,
              ASSIGNED: ({ created_at }) => created_at,
              HASH: ({ key_hash }) => key_hash.slice(0, 16)
            })
      ].join("\n")
    }
  })
).pipe(Command.withDescription("Show a guardrail and the keys that are assigned to it"))

/** A flag with a list of names, separated by commas. */
const namesFlag = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar("names"),
    Flag.withDescription(`${description}. Separated by commas`),
    Flag.map((text) =>
      text
        .split(",")
        .map((each) => each.trim())
        .filter((each) => each !== "")
    ),
    Flag.optional
  )

/** The flags of what a guardrail has. `byDefault` says what it has without the flag. */
const optionFlags = (byDefault: Record<"description" | "limit" | "reset" | "allowed" | "ignored", string>) => ({
  description: Flag.String("description").pipe(
    Flag.withMetavar("text"),
    Flag.withDescription(`What it is for: at most 2048 characters. Default: ${byDefault.description}`),
    Flag.optional
  ),
  limit: CreditsFlag.make("limit", 0, 1_000_000_000).pipe(
    Flag.withDescription(
      `Maximum credits that all its keys together may spend. 1 credit is 1 USD. Default: ${byDefault.limit}`
    ),
    Flag.optional
  ),
  "limit-reset": Flag.Literals("limit-reset", LimitReset.literals).pipe(
    Flag.withDescription(`When the limit resets: each UTC day, ISO week or month. Default: ${byDefault.reset}`),
    Flag.optional
  ),
  "allow-models": namesFlag(
    "allow-models",
    `The only models that its keys may use, such as cohere/*. Default: ${byDefault.allowed}`
  ),
  "ignore-models": namesFlag("ignore-models", `Models that its keys may not use. Default: ${byDefault.ignored}`),
  "allow-providers": namesFlag(
    "allow-providers",
    `The only providers that may serve its keys. Default: ${byDefault.allowed}`
  ),
  "ignore-providers": namesFlag(
    "ignore-providers",
    `Providers that may not serve its keys. Default: ${byDefault.ignored}`
  )
})

const nameFlag = Flag.String("name").pipe(
  Flag.withMetavar("text"),
  Flag.filter(Schema.is(Name), () => "Expected 1 to 256 characters")
)

const create = Operator.command(
  "create",
  {
    name: nameFlag.pipe(Flag.withDescription("Its name: 1 to 256 characters")),
    options: optionFlags({
      description: "none",
      limit: "no limit",
      reset: "never",
      allowed: "all",
      ignored: "none"
    }),
    workspace: Operator.workspaceFlag.pipe(
      Flag.withDescription(
        "Workspace to list it in: its slug or id. Keys of all workspaces can be assigned to it. Default: the default workspace"
      ),
      Flag.optional
    )
  },
  Effect.fn("guardrails create")(function* ({ name, options, workspace }) {
    const { gateway } = yield* Operator.Target
    const workspaceId = yield* Operator.optionalWorkspaceId(workspace)
    const data = yield* gateway.createGuardrail({
      name,
      description: Option.getOrNull(options.description),
      limit_usd: Option.getOrNull(Option.map(options.limit, MicroCredits.toCredits)),
      reset_interval: Option.getOrNull(options["limit-reset"]),
      allowed_models: Option.getOrNull(options["allow-models"]),
      ignored_models: Option.getOrNull(options["ignore-models"]),
      allowed_providers: Option.getOrNull(options["allow-providers"]),
      ignored_providers: Option.getOrNull(options["ignore-providers"]),
      ...(workspaceId === undefined ? {} : { workspace_id: workspaceId })
    })
    return {
      json: { data },
      text: `${fields(data)}\n\nIt has an effect on the keys that model-gateway guardrails assign assigns to it.`
    }
  }),
  ({ options }) =>
    Option.isSome(options["limit-reset"]) && Option.isNone(options.limit)
      ? Effect.fail(new UsageError({ message: "--limit-reset needs a --limit to reset." }))
      : Effect.void
).pipe(
  Command.withDescription("Create a guardrail"),
  Command.withExamples([
    {
      command: 'model-gateway guardrails create --name Interns --limit 5 --limit-reset daily --allow-models "cohere/*"',
      description: "5 credits a day for all its keys together, and only the models of one vendor"
    }
  ])
)

const unchanged = "as it is"

const update = Operator.command(
  "update",
  {
    id,
    changes: {
      name: nameFlag.pipe(
        Flag.withDescription(`The new name: 1 to 256 characters. Default: ${unchanged}`),
        Flag.optional
      ),
      ...optionFlags({
        description: unchanged,
        limit: unchanged,
        reset: unchanged,
        allowed: unchanged,
        ignored: unchanged
      })
    },
    unset: Change.unsetFlag([
      "description",
      "limit",
      "limit-reset",
      "allow-models",
      "ignore-models",
      "allow-providers",
      "ignore-providers"
    ])
  },
  Effect.fn("guardrails update")(function* ({ changes, id, unset }) {
    const { gateway } = yield* Operator.Target
    const { limit_usd } = yield* orMissing(gateway.getGuardrail(id))
    if (Option.isSome(changes["limit-reset"]) && Option.isNone(changes.limit) && limit_usd === null) {
      return yield* new UsageError({ message: "--limit-reset needs a --limit to reset: the guardrail has none." })
    }
    const names = (flag: "allow-models" | "ignore-models" | "allow-providers" | "ignore-providers") =>
      Change.valueOf(changes[flag], unset.includes(flag))
    const data = yield* orMissing(
      gateway.updateGuardrail(id, {
        name: Option.getOrUndefined(changes.name),
        description: Change.valueOf(changes.description, unset.includes("description")),
        limit_usd: Change.valueOf(Option.map(changes.limit, MicroCredits.toCredits), unset.includes("limit")),
        reset_interval: Change.valueOf(
          changes["limit-reset"],
          unset.includes("limit-reset") || unset.includes("limit")
        ),
        allowed_models: names("allow-models"),
        ignored_models: names("ignore-models"),
        allowed_providers: names("allow-providers"),
        ignored_providers: names("ignore-providers")
      })
    )
    return { json: { data }, text: fields(data) }
  }),
  Effect.fnUntraced(function* ({ changes, unset }) {
    yield* Change.check(changes, unset)
    if (unset.includes("limit") && Option.isSome(changes["limit-reset"])) {
      return yield* new UsageError({ message: "--limit-reset and --unset limit exclude each other." })
    }
  })
).pipe(
  Command.withDescription(
    "Change a guardrail. A list of models or providers replaces the former one. --unset limit removes the limit together with its reset"
  ),
  Command.withShortDescription("Change a guardrail"),
  Command.withExamples([
    { command: "model-gateway guardrails update <id> --limit 10 --limit-reset weekly", description: "Another limit" },
    { command: "model-gateway guardrails update <id> --unset allow-models", description: "All models again" }
  ])
)

const keys = Keys.keyArgument.pipe(Argument.atLeast(1))

const hashesOf = (texts: ReadonlyArray<string>) =>
  Effect.map(Effect.forEach(texts, Keys.find), (found) => found.map(({ hash }) => hash))

const nonEmpty = Schema.is(Schema.NonEmptyArray(Schema.String))

const assign = Operator.command(
  "assign",
  { id, keys },
  Effect.fn("guardrails assign")(function* ({ id, keys }) {
    const { gateway } = yield* Operator.Target
    const hashes = yield* hashesOf(keys)
    if (!nonEmpty(hashes)) return yield* new UsageError({ message: "No key is named." })
    const answer = yield* orMissing(gateway.assignKeys(id, { key_hashes: hashes }))
    const replaced = answer.replaced?.length ?? 0
    return {
      json: answer,
      text:
        `${counted(answer.assigned_count, "key is", "keys are")} assigned to the guardrail.` +
        (replaced === 0 ? "" : ` ${counted(replaced, "of them had", "of them had")} another one before.`)
    }
  })
).pipe(
  Command.withDescription("Assign keys to a guardrail. A key has at most one: the new one replaces the former"),
  Command.withShortDescription("Assign keys to a guardrail")
)

const counted = (count: number, one: string, several: string): string => `${count} ${count === 1 ? one : several}`

const unassign = Operator.command(
  "unassign",
  { id, keys },
  Effect.fn("guardrails unassign")(function* ({ id, keys }) {
    const { gateway } = yield* Operator.Target
    const hashes = yield* hashesOf(keys)
    if (!nonEmpty(hashes)) return yield* new UsageError({ message: "No key is named." })
    const answer = yield* orMissing(gateway.unassignKeys(id, { key_hashes: hashes }))
    return { json: answer, text: `${counted(answer.unassigned_count, "key has", "keys have")} no guardrail any more.` }
  })
).pipe(Command.withDescription("Remove keys from a guardrail"))

const remove = Operator.command(
  "delete",
  { id },
  Effect.fn("guardrails delete")(function* ({ id }) {
    const { gateway } = yield* Operator.Target
    yield* orMissing(gateway.deleteGuardrail(id))
    return { json: { deleted: true, id }, text: "Deleted the guardrail. It no longer limits its keys." }
  })
).pipe(Command.withDescription("Delete a guardrail. Its keys then have none"))

/** The `guardrails` command. */
export const command = Command.make("guardrails").pipe(
  Command.withDescription("Manage guardrails: limits on models, providers and spending of the keys assigned to them"),
  Command.withShortDescription("Manage limits on models, providers and spending"),
  Command.withSubcommands([list, show, create, update, assign, unassign, remove])
)
