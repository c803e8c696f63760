/**
 * The ledger as a model: it keeps all requests and sums them each time, so that it has no sums
 * to keep right. `Ledger.test.ts` compares the databases with it.
 */
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { Budget } from "../../src/accounting/Budgets.ts"
import type { Entry, Reservation } from "../../src/accounting/Ledger.ts"
import { startOfDay, startsOf } from "../../src/internal/Periods.ts"

/** What people set of a budget. */
export type Limit = Pick<Budget, "limit" | "limitReset" | "includeByok">

/** What may be reserved. */
export type Request = Pick<
  Reservation,
  "id" | "keyHash" | "workspaceId" | "guardrailId" | "jobId" | "amount" | "byokExtra" | "isByok"
>

type Reserved = Request & Pick<Reservation, "state" | "dayStart" | "reservedAt" | "abandonedAt">

/** How a request ends. Default of `isByok`: as reserved. */
export type Result = Pick<Entry, "status" | "cost"> & Partial<Pick<Entry, "isByok">>

type Ended = Pick<Reserved, "id" | "keyHash" | "workspaceId" | "guardrailId" | "jobId" | "reservedAt"> &
  Pick<Entry, "status" | "cost" | "isByok" | "isLate" | "reserved" | "settledAt">

/** A part of a sum, with the day in which it counts. */
interface Part {
  readonly day: number
  readonly amount: number
}

/** The state of the model. */
export interface Model {
  /** The limits with the latest day in which something was counted: a budget never goes back. */
  readonly budgets: Map<string, Limit & { day: number }>
  /** What was added to each workspace. */
  readonly added: Map<string, number>
  readonly reservations: Map<string, Reserved>
  readonly entries: Map<string, { readonly entry: Ended; readonly day: number }>
}

/** An empty ledger. */
export const make = (): Model => ({
  budgets: new Map(),
  added: new Map(),
  reservations: new Map(),
  entries: new Map()
})

const creditsOf = ({ amount, isByok }: Request) => (isByok ? 0 : amount)
const byokOf = ({ amount, byokExtra, isByok }: Request) => (isByok ? amount : byokExtra)

const total = (parts: ReadonlyArray<Part>) => parts.reduce((sum, { amount }) => sum + amount, 0)

const limitOf = (model: Model, id: string) => {
  const budget = model.budgets.get(id)
  if (budget === undefined) throw new RangeError(`The model has no budget ${id}`)
  return budget
}

/** A budget as it reads at this time. */
export const budgetOf = (model: Model, id: string, now: number): Budget => {
  const { day, ...limit } = limitOf(model, id)
  const current = startsOf(Math.max(now, day))
  const sums = (parts: ReadonlyArray<Part>) => {
    const since = (period: keyof typeof current) =>
      total(parts.filter((part) => startsOf(part.day)[period] === current[period]))
    return { total: total(parts), daily: since("day"), weekly: since("week"), monthly: since("month") }
  }
  const open = Array.from(model.reservations.values()).filter(({ state }) => state === "open")
  const charged = Array.from(model.entries.values())
  const reserved = (amountOf: (request: Request) => number) => (request: Reserved) => ({
    day: request.dayStart,
    amount: amountOf(request)
  })
  /** A guardrail does not count BYOK usage. */
  const used = (isByok: boolean) =>
    charged
      .filter(({ entry }) => (isByok ? entry.keyHash === id : entry.keyHash === id || entry.guardrailId === id))
      .filter(({ entry }) => entry.isByok === isByok)
      .map(({ day, entry }) => ({ day, amount: entry.cost }))
  const ofKey = open.filter(({ keyHash }) => keyHash === id)
  return {
    ...limit,
    usage: sums(used(false)),
    byok: sums(used(true)),
    reserved: sums(
      open.filter(({ guardrailId, keyHash }) => keyHash === id || guardrailId === id).map(reserved(creditsOf))
    ),
    byokReserved: sums(ofKey.map(reserved(byokOf)))
  }
}

/** What counts toward the limit. */
const counted = ({ byok, byokReserved, reserved, includeByok, limitReset, usage }: Budget) => {
  const period = limitReset ?? "total"
  return usage[period] + reserved[period] + (includeByok ? byok[period] + byokReserved[period] : 0)
}

/** What a limit leaves, never below 0. Null: no limit. */
export const remaining = (budget: Budget): number | null =>
  budget.limit === null ? null : Math.max(0, budget.limit - counted(budget))

/** A workspace's money. */
export const balanceOf = ({ added, entries, reservations }: Model, workspaceId: string) => {
  const used = Array.from(entries.values(), ({ entry }) => entry)
    .filter((entry) => entry.workspaceId === workspaceId && !entry.isByok)
    .reduce((sum, { cost }) => sum + cost, 0)
  const reserved = Array.from(reservations.values())
    .filter((request) => request.workspaceId === workspaceId && request.state === "open")
    .reduce((sum, request) => sum + creditsOf(request), 0)
  const balance = (added.get(workspaceId) ?? 0) - used
  return { balance, reserved, available: balance - reserved }
}

/** Reserves, or returns the budget that does not allow it. */
export const reserve = (
  model: Model,
  request: Request,
  now: number,
  day = startOfDay(now)
):
  | { readonly amount: number; readonly reservedAt: number }
  | { readonly scope: "key" | "guardrail" | "workspace"; readonly limit: number; readonly remaining: number } => {
  const { guardrailId, id, keyHash, workspaceId } = request
  const known = model.reservations.get(id)
  if (known?.state === "open") return { amount: known.amount, reservedAt: known.reservedAt }
  const credits = creditsOf(request)
  const scopes = [
    { scope: "key", budgetId: keyHash, byok: byokOf(request) } as const,
    ...(request.isByok || guardrailId === null ? [] : [{ scope: "guardrail", budgetId: guardrailId, byok: 0 } as const])
  ]
  for (const { budgetId, byok, scope } of scopes) {
    const latest = limitOf(model, budgetId).day
    if (latest > day) return reserve(model, request, now, latest)
    const budget = budgetOf(model, budgetId, day)
    const more = credits + (budget.includeByok ? byok : 0)
    if (budget.limit !== null && more > 0 && counted(budget) + more > budget.limit) {
      return { scope, limit: budget.limit, remaining: remaining(budget) ?? 0 }
    }
  }
  const { available, balance } = balanceOf(model, workspaceId)
  if (credits > available && credits > 0) {
    return { scope: "workspace", limit: balance, remaining: Math.max(0, available) }
  }
  for (const { budgetId } of scopes) limitOf(model, budgetId).day = day
  model.reservations.set(id, { ...request, state: "open", dayStart: day, reservedAt: now, abandonedAt: null })
  return { amount: request.amount, reservedAt: now }
}

/** Ends a reservation. Without a result, no entry is written. */
export const end = (model: Model, id: string, result: Result | undefined, now: number): "done" | "late" | "already" => {
  const reservation = model.reservations.get(id)
  if (reservation === undefined) return "already"
  model.reservations.delete(id)
  const { amount, byokExtra, dayStart, guardrailId, jobId, keyHash, reservedAt, state, workspaceId } = reservation
  const isLate = state === "abandoned"
  const isCharged = result?.status === "completed"
  const isByok = result?.isByok ?? reservation.isByok
  const isFirst = !model.entries.has(id)
  if (result !== undefined && isFirst) {
    const reserved = MicroCredits.make(isCharged && isByok ? amount + byokExtra : amount)
    const origin = { id, keyHash, workspaceId, guardrailId, jobId, reservedAt }
    model.entries.set(id, {
      entry: { ...origin, ...result, isByok, isLate: isCharged && isLate, reserved, settledAt: now },
      day: dayStart
    })
    // A guardrail counts a request only from then on if it was reserved as BYOK usage.
    if (guardrailId !== null && !isByok && result.cost > 0) {
      const guardrail = limitOf(model, guardrailId)
      guardrail.day = Math.max(guardrail.day, dayStart)
    }
  }
  if (isCharged && !isFirst) return "already"
  return isLate ? "late" : "done"
}

/** Releases an open reservation that is no job's, and marks it. Returns how many were open. */
export const abandon = (model: Model, id: string, now: number): number => {
  const reservation = model.reservations.get(id)
  if (reservation?.state !== "open" || reservation.jobId !== null) return 0
  model.reservations.set(id, { ...reservation, state: "abandoned", abandonedAt: now })
  return 1
}
