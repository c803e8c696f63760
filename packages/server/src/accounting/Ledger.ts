/**
 * The tables of paid requests, declared once: `reservations` has a reservation for each request in
 * progress, `usage_ledger` an entry for each one that has ended.
 *
 * The statements of both databases, the types of requests and results, and what is copied from a
 * reservation to its entry follow from the declarations. A new column is one line here and a
 * migration.
 */
import { Status } from "@model-gateway/core/Generations"
import * as Trace from "@model-gateway/core/Trace"
import { maxCount } from "@model-gateway/offers/Pricing"
import { identity, Option, Schema, Struct } from "effect"
import { Model } from "effect/schema"
import * as Table from "../storage/sql/Table.ts"
import * as ProviderAttempt from "./ProviderAttempt.ts"

/** The columns that an entry has from its reservation. Times are epoch milliseconds. */
const origin = {
  /**
   * A unique id: the generation id. Ids that grow with time (UUID v7) keep ledger writes fast.
   * Reserving an id twice returns the first reservation and reserves nothing more.
   */
  id: Table.constant(Schema.String),
  keyHash: Table.constant(Schema.String),
  workspaceId: Table.constant(Schema.String),
  guardrailId: Table.constantOrNull(Schema.String),
  /** The ephemeral key that was sent. A key may see only its own requests. */
  ephemeralHash: Table.constantOrNull(Schema.String),
  /** The id of the HTTP request. Null: not known. */
  requestId: Table.constantOrNull(Schema.String),
  /** The end user whom the request names. */
  externalUser: Table.constantOrNull(Schema.String),
  /** The job that the request belongs to, so that it survives a restart. Null: none. */
  jobId: Table.constantOrNull(Schema.String),
  /** For example `rerank`, `transcription` or `video`. */
  operation: Table.constant(Schema.String),
  model: Table.constant(Schema.String),
  /** When the request was admitted. */
  reservedAt: Table.constant(Table.Whole)
}

/** A reservation that is open or abandoned. Amounts are micro-credits. */
export class Reservation extends Model.Class<Reservation>("Reservation")({
  ...origin,
  state: Schema.Literals(["open", "abandoned"]),
  /** The process that owns it, or null for a job's. */
  owner: Table.constantOrNull(Schema.String),
  /** The worst-case cost. */
  amount: Table.constant(Table.MicroCredits),
  /** Whether the upstream is called with the caller's provider key. */
  isByok: Table.constant(Table.Bit),
  /** Reserved as BYOK usage besides the amount, if the caller's provider key may cost more. */
  byokExtra: Table.constant(Table.MicroCredits),
  /** The start of the day in which it counts. */
  dayStart: Table.constant(Table.Whole),
  abandonedAt: Model.Field({ select: Schema.NullOr(Table.Whole) })
}) {}

/** A text that is empty instead of null. */
const EmptyAsNull = Table.stored(Schema.String, Schema.NullOr(Schema.String), {
  read: (text) => text || null,
  write: (text) => text ?? ""
})

const decodeCounts = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))

/**
 * The counts of a request. One that cannot be read is left out, so that the request stays readable.
 */
const countsOf = (json: string): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const [name, count] of Object.entries(Option.getOrElse(decodeCounts(json), () => ({})))) {
    if (typeof count === "number" && count >= 0 && count <= maxCount) counts[name] = count
  }
  return counts
}

const Counts = Table.stored(Schema.NullOr(Schema.String), Schema.NullOr(Schema.Record(Schema.String, Schema.Number)), {
  read: (json) => (json === null ? null : countsOf(json)),
  write: (counts) => (counts === null ? null : JSON.stringify(counts))
})

/** The longest message that is stored. */
const maxMessage = 500

const Message = Table.stored(Schema.NullOr(Schema.String), Schema.NullOr(Schema.String), {
  read: identity,
  write: (text) => (text === null ? null : storable(text.slice(0, maxMessage)))
})

/** The longest value of a request's trace that is stored. */
const maxTraceValue = 256

const decodeTrace = Schema.decodeUnknownOption(Schema.fromJsonString(Trace.Known))

/** What is stored of a request's trace, as JSON. Null if there is nothing. */
const traceJson = (trace: Trace.Known): string | null => {
  const names = Struct.keys(Trace.Known.fields).filter((name) => (trace[name]?.length ?? Infinity) <= maxTraceValue)
  return names.length === 0 ? null : JSON.stringify(Struct.pick(trace, names))
}

/** Keys without a meaning are not stored: callers may put anything there. */
const StoredTrace = Table.stored(Schema.NullOr(Schema.String), Schema.NullOr(Schema.toType(Trace.Known)), {
  read: (json) => (json === null ? null : Option.getOrNull(decodeTrace(json))),
  write: (trace) => (trace === null ? null : traceJson(trace))
})

/** A column that a new row may leave out. */
const optional = <S extends Schema.Top>(schema: S) => Model.Field({ select: schema, insert: Schema.optional(schema) })

/** The columns that the result of a request says. */
const result = {
  status: Table.oneOf(Status, "failed"),
  /** The HTTP status of the error that the caller got, if it got one. */
  errorStatus: Table.constantOrNull(Table.Whole),
  /** The message of that error, or of the job's, without what may quote the request. */
  errorMessage: optional(Message),
  /** What the request says for tracing. */
  trace: optional(StoredTrace),
  /** The provider that served it, or the last one that was tried. Null if none was. */
  provider: optional(EmptyAsNull),
  upstreamModel: optional(EmptyAsNull),
  /** The attempts at providers. */
  attempts: optional(ProviderAttempt.Column),
  /** Whether the last attempt used the caller's provider key. */
  isByok: Table.Bit,
  /** What was charged, also above the reserved amount. */
  cost: Table.MicroCredits,
  /** Counts such as `search_units`, `total_tokens` or `seconds`. */
  usage: optional(Counts)
}

/**
 * An entry: a request that has ended. Only a completed one is charged. Amounts are micro-credits.
 */
export class Entry extends Model.Class<Entry>("Entry")({
  ...origin,
  ...result,
  /** Settled after the reaper had released it. */
  isLate: Table.Bit,
  reserved: Table.MicroCredits,
  settledAt: Table.Whole
}) {}

/** The fields of an entry that the contract has, by their names there. */
export const toContract = (entry: Entry) => ({
  id: entry.id,
  workspace_id: entry.workspaceId,
  key_hash: entry.keyHash,
  request_id: entry.requestId,
  external_user: entry.externalUser,
  operation: entry.operation,
  model: entry.model,
  status: entry.status,
  error_status: entry.errorStatus,
  error_message: entry.errorMessage,
  trace: entry.trace,
  provider: entry.provider,
  upstream_model: entry.upstreamModel,
  is_byok: entry.isByok
})

/** The table of reservations. */
export const reservations = Table.make(Reservation, { amount: "amount_micro", byokExtra: "byok_extra_micro" })

/** The table of entries. */
export const entries = Table.make(Entry, { reserved: "reserved_micro", cost: "cost_micro" })

/** A reservation to write. */
export type NewReservation = typeof Reservation.insert.Type

/** What the result of a request says of its entry. */
export interface Result extends Omit<Pick<typeof Entry.insert.Type, keyof typeof result>, "isByok"> {
  /** Default: as reserved. */
  readonly isByok?: boolean | undefined
}

/** The names of the columns that an entry has from its reservation. */
export const originColumns = entries.insertColumns.filter(({ field }) => field in origin).map(({ name }) => name)

/** The columns that a {@link Result} has. */
export const resultColumns = entries.insertColumns.filter(({ field }) => field in result)

const nulls = (columns: ReadonlyArray<Table.Column>) => Object.fromEntries(columns.map(({ name }) => [name, null]))

const noReservation = nulls(reservations.insertColumns)
const noResult = { ...nulls(resultColumns), ...entries.insertSome({ provider: null, upstreamModel: null }) }

/** Micro-credits of a workspace's credits, and of BYOK usage. */
export interface Amounts {
  readonly credits: number
  readonly byok: number
}

/** What a reservation takes of credits, and what it counts as BYOK usage. */
export const amountsOf = ({
  amount,
  byokExtra,
  isByok
}: Pick<Reservation, "amount" | "byokExtra" | "isByok">): Amounts =>
  isByok ? { credits: 0, byok: amount } : { credits: amount, byok: byokExtra }

/** All columns of a new reservation. */
export const reservationRow = (reservation: NewReservation): Record<string, unknown> => ({
  ...noReservation,
  ...reservations.insert(reservation)
})

/** All of {@link resultColumns}. */
export const resultRow = (result: Result): Record<string, unknown> => ({ ...noResult, ...entries.insertSome(result) })

/**
 * A text of a request as it is stored and searched. Postgres stores neither U+0000 nor half a
 * character pair, and no request fails because of the name of its end user.
 */
export const storable = (text: string): string => text.toWellFormed().replaceAll("\u0000", "\ufffd")

/** The maximum number of rows of a list for an operator. */
export const maxListed = 1000
