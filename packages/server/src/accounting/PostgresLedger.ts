/**
 * Writes paid requests to Postgres: one round trip for each reservation, with its claim of an
 * idempotency key, and for each end, with its answer and its event, and often one for several of
 * them ({@link Lanes}).
 */
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import { SqlError, UnknownError } from "effect/sql/SqlError"
import * as Conflicts from "../storage/postgres/conflicts.ts"
import * as PostgresFunction from "../storage/postgres/PostgresFunction.ts"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as Periods from "../internal/Periods.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import { tokensOf } from "./DaySums.ts"
import * as daySumsFunction from "./daySumsFunction.ts"
import * as Ledger from "./Ledger.ts"
import * as Statements from "./LedgerStatements.ts"
import {
  type AnswerRow,
  claimLost,
  type ClaimRow,
  type End,
  type Ended,
  KeyTaken,
  LedgerStore,
  Refusal,
  ReservationRefused,
  type Written
} from "./LedgerStore.ts"
import * as Lanes from "./Lanes.ts"
import * as ledgerFunction from "./ledgerFunction.ts"

/** Lanes of a process. Each uses one connection while it has a batch under way. */
const laneCount = 4

/** Enough that a batch is seldom full, and few enough that its first request does not wait long. */
const maxBatchSize = 100

const answerItem = (answer: AnswerRow) => ({
  ...Statements.answerParams(answer),
  packed: answer.packed === null ? null : Buffer.from(answer.packed).toString("base64")
})

/** What the function writes: a reservation, its end, an answer, or that it is abandoned. */
type Item = Readonly<Record<string, unknown>> & { readonly kind: "reserve" | "end" | "keep" | "abandon" }

const claimItem = (claim: ClaimRow) =>
  Object.fromEntries(
    Object.entries(Statements.claimParams(claim)).map(([name, value]) => [ledgerFunction.claimField(name), value])
  )

const reserveItem = (reservation: Ledger.NewReservation, claim?: ClaimRow): Item => {
  const { month, week } = Periods.startsOf(reservation.dayStart)
  return {
    kind: "reserve",
    ...Ledger.reservationRow(reservation),
    ...Ledger.amountsOf(reservation),
    week,
    month,
    ...(claim === undefined ? {} : claimItem(claim))
  }
}

const endItem = ({ answer, event, id, now, result }: End): Item => ({
  kind: "end",
  id,
  now,
  ...(result === undefined ? {} : { ...Ledger.resultRow(result), ...tokensOf(result) }),
  event_at: event?.createdAt,
  event_workspace: event?.workspaceId,
  event: event?.body(),
  ...(answer === undefined ? {} : answerItem(answer))
})

const Results = Schema.Array(Schema.Struct({ result: Schema.Record(Schema.String, Schema.Unknown) }))
const decodeResults = Schema.decodeUnknownEffect(Results)

const malformed = (cause: unknown) =>
  new SqlError({
    reason: new UnknownError({ cause, message: "The result of a batch cannot be read", operation: "execute" })
  })

const isOfOneRequest = (error: SqlError) => !error.isRetryable

/** Makes the store over the database in the context. Creates the function that it calls. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* mapSqlError("PostgresLedger.make")(PostgresFunction.ensure([daySumsFunction.add, ledgerFunction.apply]))
  const apply = Dialect.fixed(sql, `SELECT result FROM ${ledgerFunction.apply.name}(?1) AS result`)

  /** Writes the items, in one transaction. Returns a result for each, with the bytes of its key. */
  const run = Effect.fnUntraced(function* (items: ReadonlyArray<Item>): Effect.fn.Return<ReadonlyArray<Row>, SqlError> {
    const rows = yield* apply(JSON.stringify(items))
    const results = (yield* Effect.mapError(decodeResults(rows), malformed)).map(({ result }) => result)
    const counted = new Map(
      results.slice(items.length).map((row) => [row["key_hash"], Dialect.int(row, "bytes")] as const)
    )
    return results
      .slice(0, items.length)
      .map((row, at) => ({ ...row, bytes_of_key: counted.get(items[at]?.["answer_key_hash"]) }))
  })

  // In order, so that no two processes wait for each other's keys in a circle.
  const insertClaims = Dialect.fixed(
    sql,
    `${Statements.insertClaims(
      `SELECT x.* FROM json_to_recordset(CAST(?1 AS JSON))
        AS x(${Object.entries(Statements.claimColumns)
          .map(([name, type]) => `${name} ${type}`)
          .join(", ")})
        ORDER BY scope, idempotency_key`
    )} RETURNING scope, idempotency_key`
  )

  /** Writes the claims. Returns which of them it wrote. */
  const claimAll = Effect.fnUntraced(function* (claims: ReadonlyArray<ClaimRow>) {
    const rows = yield* insertClaims(JSON.stringify(claims.map(Statements.claimParams)))
    const nameOf = (scope: string, key: string) => `${scope} ${key}`
    const written = new Set(rows.map((row) => nameOf(Dialect.text(row, "scope"), Dialect.text(row, "idempotency_key"))))
    // Of several claims of one key, the first one has it.
    return claims.map(({ key, scope }) => written.delete(nameOf(scope, key)))
  })

  const claimInLane = yield* Lanes.make<ClaimRow, boolean, SqlError>({
    count: laneCount,
    maxBatchSize,
    run: (claims) => Conflicts.retry(claimAll(claims)),
    isOfOneRequest
  })

  const inLane = yield* Lanes.make<Item, Row, SqlError>({
    count: laneCount,
    maxBatchSize,
    run: (items) => Conflicts.retry(run(items)),
    isOfOneRequest
  })

  /** Inside the caller's transaction it is part of that, on its connection. */
  const write = (lane: string, item: Item): Effect.Effect<Row, SqlError> =>
    Effect.withFiber((fiber) =>
      Context.getOrUndefined(fiber.context, sql.transactionService) === undefined
        ? inLane(lane, item)
        : Effect.flatMap(run([item]), ([row]) =>
            row === undefined ? Effect.fail(malformed(new Error("A result is missing"))) : Effect.succeed(row)
          )
    )

  const reserve = (item: Item, { workspaceId }: Ledger.NewReservation) =>
    Effect.flatMap(write(workspaceId, item), (row) => {
      const reason = refusalOf(row)
      return reason === undefined ? Effect.succeed(row) : Effect.fail(new ReservationRefused({ reason }))
    })

  const unlessLost = (row: Row) => (row["lost"] === true ? Effect.fail(claimLost) : Effect.succeed(row))

  return LedgerStore.of({
    claim: (claim) => Effect.uninterruptible(claimInLane(claim.scope, claim)),
    reserve: (reservation) => Effect.map(reserve(reserveItem(reservation), reservation), reservedOf),
    claimAndReserve: (claim, reservation) =>
      Effect.flatMap(reserve(reserveItem(reservation, claim), reservation), (row) =>
        row["taken"] === true ? Effect.fail(new KeyTaken()) : Effect.succeed(reservedOf(row))
      ),
    end: (end) => write(end.workspaceId ?? end.id, endItem(end)).pipe(Effect.flatMap(unlessLost), Effect.map(endedOf)),
    abandon: (dead, now) =>
      Effect.map(Conflicts.retry(run(dead.map(({ id, owner }) => ({ kind: "abandon", id, owner, now })))), (results) =>
        results.reduce((sum, row) => sum + Dialect.int(row, "freed"), 0)
      ),
    keep: (answer) =>
      write(answer.scope, { kind: "keep", ...answerItem(answer) }).pipe(
        Effect.flatMap(unlessLost),
        Effect.map((row) => Dialect.int(row, "bytes_of_key"))
      )
  })
})

const reservedOf = (row: Row): Written => ({
  amount: MicroCredits.make(Dialect.int(row, "amount")),
  reservedAt: Dialect.int(row, "reserved_at"),
  // The function reads the reservation in any case when it ends.
  isAsGiven: false
})

const isRow = (value: unknown): value is Row => typeof value === "object" && value !== null

const refusalOf = (row: Row): Refusal | undefined => {
  switch (Dialect.textOrNull(row, "refused")) {
    case null:
      return undefined
    case "ClockBehind":
      return Refusal.ClockBehind({ day: Dialect.int(row, "day") })
    case "OverBalance":
      return Refusal.OverBalance({ balance: Dialect.int(row, "balance"), reserved: Dialect.int(row, "reserved") })
    case "OverBudget":
      return Refusal.OverBudget({
        scope: Dialect.text(row, "scope") === "key" ? "key" : "guardrail",
        budget: isRow(row["budget"]) ? row["budget"] : {}
      })
    default:
      return Refusal.Missing({ what: Dialect.text(row, "what") === "key" ? "key" : "workspace" })
  }
}

const settlements = ["done", "late", "already"] as const

const endedOf = (row: Row): Ended => ({
  settlement: Dialect.oneOfOrNull(row, "settlement", settlements) ?? "already",
  charged:
    Dialect.textOrNull(row, "operation") === null
      ? undefined
      : {
          operation: Dialect.text(row, "operation"),
          model: Dialect.text(row, "model"),
          reserved: Dialect.int(row, "reserved")
        },
  bytesOfKey: Dialect.intOrNull(row, "bytes_of_key") ?? undefined
})

/** The store over the database in the context. */
export const layer: Layer.Layer<LedgerStore, StorageError, SqlClient> = Layer.effect(LedgerStore, make)
