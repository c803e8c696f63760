/**
 * Records a change in the audit log, in the transaction that makes it: a change that cannot be
 * recorded is not made.
 *
 * Who, which operation and which request are those of the current request. A handler says what it
 * changes, and how that is read before the change.
 */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { currentCaller } from "../access/Caller.ts"
import { inTransaction } from "../http/InTransaction.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as RequestContext from "../http/RequestContext.ts"
import * as AuditLog from "./AuditLog.ts"

/** What is changed, by its name in the contract. */
export type TargetKind =
  | "key"
  | "guardrail"
  | "workspace"
  | "provider_key"
  | "destination"
  | "alert"
  | "webhook_secret"
  | "webhook_delivery"
  | "reservation"
  | "console_session"

/** Fields of what is changed. */
type Fields = Readonly<Record<string, unknown>>

/** Options of a change. */
export interface Change<A, E, R> {
  readonly kind: TargetKind
  /** The identifier of what is changed, as the request has it. Default: that of the result. */
  readonly id?: string | undefined
  /** Reads it before the change. Default: there is nothing yet. */
  readonly before?: Effect.Effect<{ readonly data: object }, E, R> | undefined
  /** Fields after the change, without secrets. Default: `data` of the result, if it has it. */
  readonly after?: ((result: A) => object) | undefined
}

/** The longest value of a field that is recorded as it is, in characters of its JSON. */
const maxValue = 4096

const isTooLong = (value: unknown): boolean => (JSON.stringify(value) ?? "").length > maxValue

/** The fields as JSON. Long values, such as lists of models, are left out. */
const recorded = (fields: Fields): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, isTooLong(value) ? `more than ${maxValue} characters` : value]]
    )
  )

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** The fields of `fields` that differ from those of `others`. */
const differing = (fields: Fields, others: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => name !== "updated_at" && !isSame(value, others[name]))
  )

const fieldsOf = (value: object | undefined): Fields | undefined => (value === undefined ? undefined : { ...value })

const dataOf = (result: unknown): object | undefined =>
  typeof result === "object" && result !== null && "data" in result && typeof result.data === "object"
    ? (result.data ?? undefined)
    : undefined

const idOf = (fields: Fields | undefined): string | undefined => {
  const id = fields?.["hash"] ?? fields?.["id"]
  return typeof id === "string" ? id : undefined
}

const decode = Schema.decodeUnknownSync(AuditLog.Fields)

/** As JSON, without values that JSON does not have. */
const toJson = (fields: Fields | undefined) => (fields === undefined ? null : decode(JSON.stringify(recorded(fields))))

/** Makes the function that makes a change and records it. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const log = yield* AuditLog.AuditLog

  return <A, E, R, E2 = never, R2 = never>(
    { after: afterOf, before: read, id, kind }: Change<A, E2, R2>,
    change: Effect.Effect<A, E, R>
  ) =>
    inTransaction(
      sql,
      "Audited.change",
      Effect.gen(function* () {
        const before = read === undefined ? undefined : fieldsOf((yield* read).data)
        const result = yield* change
        const after = fieldsOf(afterOf === undefined ? dataOf(result) : afterOf(result))
        const { key } = yield* currentCaller
        const request = yield* RequestContext.current
        const isBoth = before !== undefined && after !== undefined
        yield* orUnavailable(
          log.write({
            organizationId: key.organizationId,
            actor: key.hash,
            actorLabel: key.label,
            actorRole: key.role,
            address: request?.address ?? null,
            action: request?.endpoint?.identifier ?? "",
            targetKind: kind,
            targetId: idOf(before) ?? idOf(after) ?? id ?? "",
            before: toJson(isBoth ? differing(before, after) : before),
            after: toJson(isBoth ? differing(after, before) : after),
            requestId: request?.id ?? ""
          })
        )
        return result
      })
    )
})
