/** `model-gateway reconcile`: what an operator checks after a crash, and how it is closed. */
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { Entry, Reservation } from "@model-gateway/server/Accounting"
import { type OpenReservation, Reconcile, type Report } from "@model-gateway/server/Reconcile"
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as CreditsFlag from "../CreditsFlag.ts"
import { ExitCode, somethingToDo } from "../Failure.ts"
import * as Output from "../Output.ts"
import * as Storage from "../Storage.ts"
import * as TimeFlag from "../TimeFlag.ts"

const credits = MicroCredits.toCredits

const time = TimeFlag.format

/** A reservation as JSON. */
const reservationJson = (reservation: Reservation) => ({
  id: reservation.id,
  operation: reservation.operation,
  model: reservation.model,
  workspace_id: reservation.workspaceId,
  key_hash: reservation.keyHash,
  job_id: reservation.jobId,
  amount: credits(reservation.amount),
  is_byok: reservation.isByok,
  reserved_at: time(reservation.reservedAt),
  abandoned_at: reservation.abandonedAt === null ? null : time(reservation.abandonedAt)
})

const openJson = (reservation: OpenReservation) => {
  const { abandoned_at: _, ...fields } = reservationJson(reservation)
  return { ...fields, process_id: reservation.owner, holder: reservation.holder }
}

const usageJson = (row: Entry) => ({
  id: row.id,
  operation: row.operation,
  model: row.model,
  workspace_id: row.workspaceId,
  key_hash: row.keyHash,
  job_id: row.jobId,
  provider: row.provider,
  upstream_model: row.upstreamModel,
  is_byok: row.isByok,
  reserved: credits(row.reserved),
  cost: credits(row.cost),
  reserved_at: time(row.reservedAt),
  settled_at: time(row.settledAt)
})

const reservationColumns = ["ID", "OPERATION", "MODEL", "WORKSPACE", "KEY HASH", "CREDITS", "RESERVED AT"]

const reservationCells = (reservation: Reservation): ReadonlyArray<string> => [
  reservation.id,
  reservation.operation,
  reservation.model,
  reservation.workspaceId,
  reservation.keyHash.slice(0, 12),
  MicroCredits.format(reservation.amount),
  time(reservation.reservedAt)
]

const usageColumns = ["ID", "OPERATION", "MODEL", "PROVIDER", "WORKSPACE", "RESERVED", "CHARGED", "SETTLED AT"]

const usageCells = (row: Entry): ReadonlyArray<string> => [
  row.id,
  row.operation,
  row.model,
  row.provider ?? "",
  row.workspaceId,
  MicroCredits.format(row.reserved),
  MicroCredits.format(row.cost),
  time(row.settledAt)
]

const section = (
  title: string,
  columns: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>
): ReadonlyArray<string> => (rows.length === 0 ? [] : [`${title}\n\n${Output.table(columns, rows)}`])

const text = ({ abandoned, late, open, overruns }: Report): string =>
  [
    ...(abandoned.length === 0 ? ["There are no abandoned reservations."] : []),
    ...section(
      "Abandoned: the process died, the reservation was released, and the provider may have billed the request.\n" +
        "Look it up on the provider's bill. Then run reconcile settle or reconcile dismiss.",
      [...reservationColumns, "ABANDONED AT"],
      abandoned.map((reservation) => [...reservationCells(reservation), time(reservation.abandonedAt ?? 0)])
    ),
    ...section("Overruns: charged more than was reserved.", usageColumns, overruns.map(usageCells)),
    ...section("Late: charged after the reservation had been abandoned.", usageColumns, late.map(usageCells)),
    ...section(
      "Open now: reserved by a live process, by a job, or by a dead process and released within seconds.",
      [...reservationColumns, "HOLDER"],
      open.map((reservation) => [...reservationCells(reservation), reservation.holder])
    )
  ].join("\n\n")

const id = Argument.String("id").pipe(
  Argument.withDescription("Id of the reservation, which is also the generation id")
)

const settle = Command.make(
  "settle",
  {
    id,
    cost: CreditsFlag.make("cost", 0).pipe(
      Flag.withDescription("What the provider charged, in credits, from 0. 1 credit is 1 USD")
    ),
    provider: Flag.String("provider").pipe(
      Flag.withMetavar("name"),
      Flag.withDescription("The provider, for the request log. Default: none is named"),
      Flag.optional
    ),
    ...Storage.flags
  },
  Effect.fn("reconcile settle")(function* (input) {
    const { cost } = input
    yield* Storage.withStores(
      input,
      Effect.gen(function* () {
        const provider = Option.getOrUndefined(input.provider)
        const reservation = yield* (yield* Reconcile).settle(input.id, { cost, provider })
        if (input.json) return yield* Output.json({ id: reservation.id, settled: credits(cost) })
        yield* Console.log(
          `Charged ${MicroCredits.format(cost)} credits to workspace ${reservation.workspaceId} for ${reservation.id}.`
        )
      })
    )
  })
).pipe(Command.withDescription("Charge the caller of an abandoned reservation what the provider has billed"))

const dismiss = Command.make(
  "dismiss",
  { id, ...Storage.flags },
  Effect.fn("reconcile dismiss")(function* (input) {
    yield* Storage.withStores(
      input,
      Effect.gen(function* () {
        const reservation = yield* (yield* Reconcile).dismiss(input.id)
        if (input.json) return yield* Output.json({ id: reservation.id, dismissed: true })
        yield* Console.log(`Dismissed ${reservation.id}. Nothing was charged.`)
      })
    )
  })
).pipe(Command.withDescription("Close an abandoned reservation without a charge"))

/** The `reconcile` command. */
export const command = Command.make(
  "reconcile",
  {
    since: TimeFlag.makeWithDay("since").pipe(
      Flag.withDescription(
        "Leave out what was abandoned or charged before this time, in ISO 8601: 2027-01-31 or 2027-01-31T10:00:00Z. " +
          "Default: everything is listed"
      ),
      Flag.optional
    ),
    ...Storage.flags
  },
  Effect.fn("reconcile")(function* (input) {
    const report = yield* Storage.withStores(
      input,
      Effect.gen(function* () {
        return yield* (yield* Reconcile).report(Option.getOrUndefined(input.since))
      })
    )
    yield* input.json
      ? Output.json({
          abandoned: report.abandoned.map(reservationJson),
          overruns: report.overruns.map(usageJson),
          late: report.late.map(usageJson),
          open: report.open.map(openJson)
        })
      : Console.log(text(report))
    if (report.abandoned.length > 0) return yield* new ExitCode({ code: somethingToDo })
  })
).pipe(
  Command.withDescription(
    "List what to check after a crash: abandoned reservations, overruns, late charges, and what is reserved now. " +
      `The exit code is ${somethingToDo} if there are abandoned reservations, 0 if not, 1 after an error, and 2 if the command is not called correctly. ` +
      "It runs beside a running gateway"
  ),
  Command.withShortDescription("Check and close what dead processes have left"),
  Command.withSubcommands([settle, dismiss]),
  Command.withExamples([
    { command: "model-gateway reconcile --since 2027-01-31", description: "What was abandoned or charged since a day" },
    { command: "model-gateway reconcile settle <id> --cost 0.002", description: "Charge what the provider has billed" },
    { command: "model-gateway reconcile dismiss <id>", description: "The provider has not billed it" }
  ])
)
