/** `model-gateway credits`: adds credits to a workspace, and shows what is left. */
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Name } from "@model-gateway/core/Identifiers"
import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import * as CreditsFlag from "../CreditsFlag.ts"
import * as Operator from "../Operator.ts"
import * as Output from "../Output.ts"

const add = Operator.command(
  "add",
  {
    amount: CreditsFlag.make("amount", 0.000001, 1_000_000_000).pipe(
      Flag.withDescription("Credits to add, from 0.000001 to 1000000000. 1 credit is 1 USD")
    ),
    note: Flag.String("note").pipe(
      Flag.withMetavar("text"),
      Flag.withDescription(
        "Note for the ledger entry, such as the number of an invoice: 1 to 256 characters. Default: none"
      ),
      Flag.filter(Schema.is(Name), () => "Expected 1 to 256 characters"),
      Flag.optional
    ),
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
  Command.withSubcommands([add, show])
)
