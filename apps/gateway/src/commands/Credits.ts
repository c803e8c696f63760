/** `model-gateway credits`: manages credits in the database, without the HTTP API. */
import { Accounting } from "@model-gateway/server/Accounting"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as CreditsFlag from "../CreditsFlag.ts"
import * as Output from "../Output.ts"
import * as Storage from "../Storage.ts"

/** A positive number of credits, of whole micro-credits. */
const amount = CreditsFlag.make("amount", 0.000001).pipe(
  Flag.withDescription("Credits to add, at least 0.000001. 1 credit is 1 USD")
)

const add = Command.make(
  "add",
  {
    amount,
    note: Flag.String("note").pipe(
      Flag.withMetavar("text"),
      Flag.withDescription("Note for the ledger entry"),
      Flag.optional
    ),
    ...Storage.flags
  },
  Effect.fn("credits add")(function* (input) {
    yield* Storage.withWorkspace(
      input,
      "create",
      Effect.fnUntraced(function* (workspace) {
        const accounting = yield* Accounting
        const balance = yield* accounting.addCredits(workspace.id, input.amount, Option.getOrUndefined(input.note))
        if (balance === null) return yield* Storage.deleted(workspace.id)
        const credits = MicroCredits.toCredits
        if (input.json) {
          return yield* Output.json({
            workspace_id: workspace.id,
            added: credits(input.amount),
            balance: credits(balance.balance),
            available: credits(balance.available)
          })
        }
        yield* Console.log(
          `Added ${MicroCredits.format(input.amount)} credits to workspace ${workspace.id}. Its balance is ${MicroCredits.format(balance.balance)}.`
        )
      })
    )
  })
).pipe(
  Command.withDescription("Add credits to a workspace"),
  Command.withExamples([
    { command: "model-gateway credits add --amount 25", description: "Add 25 credits to the default workspace" }
  ])
)

const show = Command.make(
  "show",
  Storage.flags,
  Effect.fn("credits show")(function* (input) {
    yield* Storage.withWorkspace(
      input,
      "existing",
      Effect.fnUntraced(function* ({ id: workspaceId }) {
        const { added, used } = yield* (yield* Accounting).creditsOf({ workspaceId })
        const left = MicroCredits.toCredits(MicroCredits.subtract(added, used))
        const [total_credits, total_usage] = [MicroCredits.toCredits(added), MicroCredits.toCredits(used)]
        if (input.json) return yield* Output.json({ data: { total_credits, total_usage } })
        yield* Console.log(
          Output.fields([
            ["workspace", workspaceId],
            ["added", String(total_credits)],
            ["used", String(total_usage)],
            ["left", String(left)]
          ])
        )
      })
    )
  })
).pipe(Command.withDescription("Show the credits that were added to a workspace, used and left"))

/** The `credits` command. */
export const command = Command.make("credits").pipe(
  Command.withDescription("Manage the credits of a workspace in the database"),
  Command.withSubcommands([add, show])
)
