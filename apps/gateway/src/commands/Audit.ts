/** `model-gateway audit`: who changed what. */
import type { AuditEntry } from "@model-gateway/core/AuditLog"
import { Name } from "@model-gateway/core/Identifiers"
import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import * as Listed from "../Listed.ts"
import * as Operator from "../Operator.ts"
import * as TimeFlag from "../TimeFlag.ts"

const text = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar(metavar),
    Flag.withDescription(description),
    Flag.filter(Schema.is(Name), () => "Expected 1 to 256 characters"),
    Flag.optional
  )

/** The fields that differ, with their values before and after. */
const changeText = ({ after, before }: AuditEntry): string => {
  const shown = (value: unknown): string => (value === undefined ? "" : JSON.stringify(value))
  if (before === null || after === null) return ""
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .map((name) => `${name}: ${shown(before[name])} → ${shown(after[name])}`)
    .join(", ")
}

const list = Operator.command(
  "list",
  {
    limit: Operator.limitFlag("changes", 50),
    actor: text("actor", "hash", "Only changes by the management key with this hash, or by operator. Default: all"),
    action: text("action", "operation", "Only changes by this operation, such as updateKey. Default: all"),
    target: text(
      "target",
      "hash-or-id",
      "Only changes of the key with this hash, or of what has this id. Default: all"
    ),
    from: TimeFlag.makeWithDay("from").pipe(
      Flag.withDescription("Only changes at this time or later, in ISO 8601: 2027-01-31T10:00:00Z. Default: all"),
      Flag.optional
    ),
    to: TimeFlag.makeWithDay("to").pipe(
      Flag.withDescription("Only changes before this time. Default: all"),
      Flag.optional
    )
  },
  Effect.fn("audit list")(function* (input) {
    const { gateway } = yield* Operator.Target
    const filter = {
      actor: Option.getOrUndefined(input.actor),
      action: Option.getOrUndefined(input.action),
      target: Option.getOrUndefined(input.target),
      from: Option.getOrUndefined(Option.map(input.from, TimeFlag.format)),
      to: Option.getOrUndefined(Option.map(input.to, TimeFlag.format))
    }
    const data = yield* Operator.pages(input.limit, (after, limit) =>
      gateway.listAudit({ ...filter, after, limit: Math.min(limit, 1000) })
    )
    return Listed.answer(data, "There are no such changes.", {
      TIME: ({ created_at }) => created_at,
      ACTOR: ({ actor_label }) => actor_label,
      ADDRESS: ({ address }) => address ?? "",
      ACTION: ({ action }) => action,
      TARGET: ({ target_id, target_kind }) => `${target_kind.replaceAll("_", " ")} ${target_id.slice(0, 16)}`,
      CHANGE: changeText
    })
  })
).pipe(
  Command.withDescription(
    "List the changes that management keys and commands have made, newest first. --json has all fields before and after each, without secrets"
  ),
  Command.withShortDescription("List who changed what"),
  Command.withExamples([
    { command: "model-gateway audit list --from 2027-01-31", description: "What was changed since that day" },
    { command: "model-gateway audit list --action deleteKey --json", description: "Who deleted keys, for a script" }
  ])
)

/** The `audit` command. */
export const command = Command.make("audit").pipe(
  Command.withDescription("Show who changed what"),
  Command.withSubcommands([list])
)
