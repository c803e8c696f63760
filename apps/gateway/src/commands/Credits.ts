/** `model-gateway credits`: adds credits to a workspace, and shows what is left and the ledger. */
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Name } from "@model-gateway/core/Identifiers"
import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import * as CreditsFlag from "../CreditsFlag.ts"
import * as Listed from "../Listed.ts"
import * as Operator from "../Operator.ts"
import * as Output from "../Output.ts"

const amount = (verb: string) =>
  CreditsFlag.make("amount", 0.000001, 1_000_000_000).pipe(
    Flag.withDescription(`Credits to ${verb}, from 0.000001 to 1000000000. 1 credit is 1 USD`)
  )

const note = (isRequired: boolean) =>
  Flag.String("note").pipe(
    Flag.withMetavar("text"),
    Flag.withDescription(
      `Note for the ledger entry, such as the number of an invoice: 1 to 256 characters${isRequired ? "" : ". Default: none"}`
    ),
    Flag.filter(Schema.is(Name), () => "Expected 1 to 256 characters")
  )

const add = Operator.command(
  "add",
  {
    amount: amount("add"),
    note: note(false).pipe(Flag.optional),
    workspace: Operator.workspaceOption
  },
  Effect.fn("credits add")(function* ({ amount, note, workspace }) {
    const { gateway } = yield* Operator.Target
    const { id, slug } = yield* Operator.workspaceOf(workspace)
    const request = { amount: MicroCredits.toCredits(amount), ...(Option.isSome(note) ? { note: note.value } : {}) }
    const data = yield* gateway.addCredits(id, request)
    return {
      json: { data },
      text: `Added ${MicroCredits.format(amount)} credits to workspace ${slug}. Its balance is ${data.credits}.`
    }
  })
).pipe(
  Command.withDescription("Add credits to a workspace"),
  Command.withExamples([
    { command: "model-gateway credits add --amount 25", description: "Add 25 credits to the default workspace" },
    {
      command: 'model-gateway credits add --amount 25 --workspace search-team --note "invoice 1017"',
      description: "To another one"
    }
  ])
)

const correct = Operator.command(
  "correct",
  { amount: amount("take away"), note: note(true), workspace: Operator.workspaceOption },
  Effect.fn("credits correct")(function* ({ amount, note, workspace }) {
    const { gateway } = yield* Operator.Target
    const { id, slug } = yield* Operator.workspaceOf(workspace)
    const data = yield* gateway.addCredits(id, { amount: -MicroCredits.toCredits(amount), note })
    return {
      json: { data },
      text: `Took ${MicroCredits.format(amount)} credits from workspace ${slug}. Its balance is ${data.credits}.`
    }
  })
).pipe(
  Command.withDescription("Take away credits that were added by mistake. The balance may go below 0"),
  Command.withExamples([
    {
      command: 'model-gateway credits correct --amount 5 --note "invoice 1017 was for 20"',
      description: "Take 5 credits from the default workspace"
    }
  ])
)

const ledger = Operator.command(
  "ledger",
  { limit: Operator.limitFlag("entries", 50), workspace: Operator.workspaceOption },
  Effect.fn("credits ledger")(function* ({ limit, workspace }) {
    const { gateway } = yield* Operator.Target
    const { id } = yield* Operator.workspaceOf(workspace)
    const data = yield* Listed.newest(limit, 1000, (page) => gateway.listCreditLedger({ workspace_id: id, ...page }))
    return Listed.answer(data, "There are no entries.", {
      TIME: ({ created_at }) => created_at,
      KIND: ({ kind }) => kind,
      AMOUNT: ({ amount }) => String(amount),
      BALANCE: ({ balance }) => String(balance),
      BY: ({ actor }) => actor?.slice(0, 12) ?? "",
      NOTE: ({ note }) => note ?? ""
    })
  })
).pipe(
  Command.withDescription(
    "List what was added to and taken from the credits of a workspace, newest first. BALANCE is what it had after that, BY the hash of the management key"
  ),
  Command.withShortDescription("List what was added and corrected")
)

const show = Operator.command(
  "show",
  {
    workspace: Operator.workspaceFlag.pipe(
      Flag.withDescription("Show only this workspace: its slug or id. Default: the sums of all workspaces"),
      Flag.optional
    )
  },
  Effect.fn("credits show")(function* ({ workspace }) {
    const { gateway } = yield* Operator.Target
    const data = yield* gateway.getCredits({ workspace_id: yield* Operator.optionalWorkspaceId(workspace) })
    const { total_credits, total_usage } = data
    return {
      json: { data },
      text: Output.fields([
        ["workspace", Option.getOrElse(workspace, () => "all")],
        ["added", String(total_credits)],
        ["used", String(total_usage)],
        // Without the digits that a difference of two floats adds.
        ["left", String(Number((total_credits - total_usage).toFixed(6)))]
      ])
    }
  })
).pipe(Command.withDescription("Show the credits that were added, used and left. 1 credit is 1 USD"))

/** The `credits` command. */
export const command = Command.make("credits").pipe(
  Command.withDescription("Manage credits"),
  Command.withSubcommands([add, correct, ledger, show])
)
