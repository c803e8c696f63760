/**
 * Writes paid requests to Postgres: one round trip for each reservation and for each end, with its
 * answer and its event, and often one for several of them ({@link Lanes}).
 */
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import { isSqlError, SqlError, UnknownError } from "effect/sql/SqlError"
import * as Conflicts from "../storage/postgres/conflicts.ts"
import * as PostgresFunction from "../storage/postgres/PostgresFunction.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import {
  type AnswerRow,
  claimLost,
  type End,
  type Ended,
  type Held,
  heldBy,
  type Hold,
  HoldRefused,
  LedgerStore,
  Refusal
} from "./LedgerStore.ts"
import * as Lanes from "./Lanes.ts"
import * as ledgerFunction from "./ledgerFunction.ts"

/** Lanes of a process. Each uses one connection while it has a batch under way. */
const laneCount = 4

/** Enough that a batch is seldom full, and few enough that its first request does not wait long. */
const maxBatchSize = 100

const answerFields = (answer: AnswerRow | undefined) =>
  answer === undefined
    ? {}
    : {
        scope: answer.scope,
        idempotency_key: answer.key,
        answer_owner: answer.owner,
        answer_key_hash: answer.keyHash,
        answer_status: answer.status,
        headers: answer.headers,
        body: answer.body,
        packed: answer.packed === null ? null : Buffer.from(answer.packed).toString("base64"),
        bytes: answer.bytes
      }

const holdItem = (hold: Hold) => {
  const { byok, credits } = heldBy(hold)
  return {
    kind: "hold",
    id: hold.id,
    owner: hold.owner,
    job_id: hold.jobId,
    key_hash: hold.keyHash,
    workspace_id: hold.workspaceId,
    guardrail_id: hold.guardrailId,
    ephemeral_hash: hold.ephemeralHash,
    external_user: hold.externalUser,
    request_id: hold.requestId,
    operation: hold.operation,
    model: hold.model,
    amount: hold.amount,
    is_byok: Dialect.fromBool(hold.isByok),
    byok_extra: hold.byokExtra,
    now: hold.now,
    ...hold.starts,
    credits,
    byok
  }
}

const endItem = ({ answer, entry, event, id, isCharged, now }: End) => ({
  kind: "end",
  id,
  now,
  is_charged: isCharged,
  has_entry: entry !== undefined,
  status: entry?.status,
  error_status: entry?.errorStatus,
  provider: entry?.provider,
  upstream_model: entry?.upstreamModel,
  is_byok: entry?.isByok === undefined ? null : Dialect.fromBool(entry.isByok),
  cost: entry?.cost,
  usage: entry?.usage,
  attempts: entry?.attempts,
  event_at: event?.createdAt,
  event: event?.body,
  ...answerFields(answer)
})

type Item =
  | ReturnType<typeof holdItem>
  | ReturnType<typeof endItem>
  | ({ readonly kind: "keep" } & ReturnType<typeof answerFields>)
  | { readonly kind: "abandon"; readonly id: string; readonly owner: string; readonly now: number }

/** A reservation, an end or an answer. */
interface Request {
  readonly item: Item
  readonly answer: AnswerRow | undefined
}

const Results = Schema.Array(Schema.Struct({ result: Schema.Record(Schema.String, Schema.Unknown) }))
const decodeResults = Schema.decodeUnknownEffect(Results)

const malformed = (cause: unknown) =>
  new SqlError({
    reason: new UnknownError({ cause, message: "The result of a batch cannot be read", operation: "execute" })
  })

/** Makes the store over the database in the context. Creates the function that it calls. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* mapSqlError("PostgresLedger.make")(PostgresFunction.ensure([ledgerFunction.apply]))
  const apply = Dialect.fixed(sql, `SELECT result FROM ${ledgerFunction.apply.name}(?1) AS result`)

  /** Writes the requests, in one transaction. Returns a result for each. */
  const run = Effect.fnUntraced(function* (requests: ReadonlyArray<Request>) {
    const rows = yield* apply(JSON.stringify(requests.map(({ item }) => item)))
    const results = yield* Effect.mapError(decodeResults(rows), malformed)
    const ofRequests = results.slice(0, requests.length).map(({ result }) => result)
    const counted = new Map(
      results
        .slice(requests.length)
        .map(({ result }) => [Dialect.text(result, "key_hash"), Dialect.int(result, "bytes")])
    )
    yield* Effect.forEach(
      requests,
      ({ answer }, at) =>
        answer === undefined || ofRequests[at]?.["lost"] === true
          ? Effect.void
          : sql.afterCommit(answer.stored(counted.get(answer.keyHash))),
      { discard: true }
    )
    return ofRequests
  })

  const inLane = yield* Lanes.make<Request, Row, SqlError>({
    count: laneCount,
    maxBatchSize,
    run: (requests) => Conflicts.retry(run(requests)),
    isOfOneRequest: (error) => isSqlError(error) && !error.isRetryable
  })

  /** Inside the caller's transaction it is part of that, on its connection. */
  const write = (lane: string, request: Request): Effect.Effect<Row, SqlError> =>
    Effect.withFiber((fiber) =>
      Context.getOrUndefined(fiber.context, sql.transactionService) === undefined
        ? inLane(lane, request)
        : Effect.flatMap(run([request]), ([row]) =>
            row === undefined ? Effect.fail(malformed(new Error("A result is missing"))) : Effect.succeed(row)
          )
    )

  const unlessLost = (row: Row) => (row["lost"] === true ? Effect.fail(claimLost) : Effect.succeed(row))

  return LedgerStore.of({
    hold: (hold) =>
      write(hold.workspaceId, { item: holdItem(hold), answer: undefined }).pipe(
        Effect.flatMap((row) => {
          const reason = refusalOf(row)
          return reason === undefined ? Effect.succeed(heldOf(row)) : Effect.fail(new HoldRefused({ reason }))
        })
      ),
    end: (end) =>
      write(end.workspaceId ?? end.id, { item: endItem(end), answer: end.answer }).pipe(
        Effect.flatMap(unlessLost),
        Effect.map(endedOf)
      ),
    abandon: (intents, now) =>
      Effect.map(
        Conflicts.retry(
          run(intents.map(({ id, owner }) => ({ item: { kind: "abandon", id, owner, now }, answer: undefined })))
        ),
        (results) => results.reduce((sum, row) => sum + Dialect.int(row, "freed"), 0)
      ),
    keep: (answer) =>
      write(answer.scope, { item: { kind: "keep", ...answerFields(answer) }, answer }).pipe(
        Effect.flatMap(unlessLost),
        Effect.asVoid
      )
  })
})

const heldOf = (row: Row): Held => ({
  amount: Dialect.int(row, "amount"),
  reservedAt: Dialect.int(row, "reserved_at")
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
        }
})

/** The store over the database in the context. */
export const layer: Layer.Layer<LedgerStore, StorageError, SqlClient> = Layer.effect(LedgerStore, make)
