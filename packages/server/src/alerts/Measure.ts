/**
 * Measures what alerts watch. Each measurement reads a bounded number of rows, by an index.
 *
 * What no longer exists has no value, and then the condition is false.
 */
import type { Kind } from "@model-gateway/core/Alerts"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Clock, Effect } from "effect"
import { type GuardrailNotFound, GuardrailStore } from "../access/GuardrailStore.ts"
import { type Key, type KeyNotFound, KeyStore, maxExpiring } from "../access/KeyStore.ts"
import { type WorkspaceNotFound, WorkspaceStore } from "../access/WorkspaceStore.ts"
import * as Budgets from "../accounting/Budgets.ts"
import * as KeyUsage from "../accounting/KeyUsage.ts"
import { Reconcile } from "../accounting/Reconcile.ts"
import { RequestLog } from "../accounting/RequestLog.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import * as Candidate from "../routing/Candidate.ts"
import { ModelCatalog } from "../routing/ModelCatalog.ts"
import { Router } from "../routing/Router.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import type { Alert, Measured } from "./Alert.ts"

const percent = (share: number): string => `${Math.round(share * 1000) / 10} %`

/** A share with at most four decimal places. */
const shareOf = (part: number, whole: number): number => Math.round((part / whole) * 10_000) / 10_000

const day = 86_400_000

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`

/** The value of a budget with a limit. */
const ofBudget = (name: string, budget: Budgets.Budget, threshold: number): Measured | undefined => {
  const remaining = Budgets.remaining(budget)
  if (budget.limit === null || remaining === null) return undefined
  const value = budget.limit === 0 ? 1 : shareOf(budget.limit - remaining, budget.limit)
  const limit = `${MicroCredits.format(budget.limit)} credits`
  return {
    value,
    isTrue: value >= threshold,
    message: `${name} has used ${percent(value)} of its limit of ${limit}. The alert is set to ${percent(threshold)}.`
  }
}

const ofExpiring = (keys: ReadonlyArray<Key>, now: number, threshold: number): Measured | undefined => {
  const [first] = keys
  if (first?.expiresAt === undefined || first.expiresAt === null) return undefined
  const value = Math.round(((first.expiresAt - now) / day) * 100) / 100
  const others = keys.length === maxExpiring ? `${maxExpiring} or more keys` : count(keys.length, "key")
  const within = count(threshold, "day")
  const when = Timestamp.fromMillis(first.expiresAt)
  return {
    value,
    isTrue: true,
    message: `${keys.length === 1 ? "A key expires" : `${others} expire`} within ${within}. The first is "${first.name}" (${first.label}), at ${when}.`
  }
}

/**
 * For how many seconds evaluations in a row have found a circuit open, at least 1: 0 says that it
 * was closed. It follows from the row of the alert alone. What a process knows may be old, because
 * another one may have closed and opened the circuit meanwhile.
 */
const openFor = ({ evaluatedAt, lastValue }: Alert, now: number): number =>
  evaluatedAt === null || lastValue === null || lastValue === 0
    ? 1
    : Math.max(1, lastValue + Math.round((now - evaluatedAt) / 1000))

type Failure = KeyNotFound | GuardrailNotFound | WorkspaceNotFound | StorageError

/** Makes the function that measures what an alert watches. Undefined: it has no value. */
export const make = Effect.gen(function* () {
  const keys = yield* KeyStore
  const guardrails = yield* GuardrailStore
  const workspaces = yield* WorkspaceStore
  const reconcile = yield* Reconcile
  const requests = yield* RequestLog
  const catalog = yield* ModelCatalog
  const router = yield* Router
  const usageOf = yield* KeyUsage.make

  const budget = Effect.fnUntraced(function* ({ guardrailId, keyHash, organizationId, threshold }: Alert) {
    if (guardrailId !== null) {
      const guardrail = yield* guardrails.get(organizationId, guardrailId)
      return ofBudget(`The guardrail "${guardrail.name}"`, guardrail.budget, threshold)
    }
    if (keyHash === null) return undefined
    const key = yield* keys.get(organizationId, keyHash)
    const usage = yield* usageOf(key.hash).pipe(mapSqlError("Measure.budget"))
    return usage === undefined ? undefined : ofBudget(`The key "${key.name}" (${key.label})`, usage.budget, threshold)
  })

  const credits = Effect.fnUntraced(function* ({ organizationId, threshold, workspaceId }: Alert) {
    if (workspaceId === null) return undefined
    const { balance, name } = yield* workspaces.get(organizationId, workspaceId)
    const value = MicroCredits.toCredits(balance)
    return {
      value,
      isTrue: value < threshold,
      message: `The workspace "${name}" has ${MicroCredits.format(balance)} credits left. The alert is set to ${threshold}.`
    }
  })

  const failures = Effect.fnUntraced(function* (alert: Alert) {
    const { minRequests, model, organizationId, threshold, windowSeconds, workspaceId } = alert
    const now = yield* Clock.currentTimeMillis
    const seconds = windowSeconds ?? 0
    const counted = yield* requests.count(organizationId, {
      from: now - seconds * 1000,
      workspaceId,
      ...(model === null ? {} : { model })
    })
    if (counted.requests === 0) return undefined
    const value = shareOf(counted.failed, counted.requests)
    const what = model === null ? "" : ` to ${model}`
    return {
      value,
      isTrue: counted.requests >= (minRequests ?? 1) && value >= threshold,
      message: `${counted.failed} of ${count(counted.requests, "request")}${what} failed in the last ${seconds} seconds: ${percent(value)}. The alert is set to ${percent(threshold)}.`
    }
  })

  const circuit = Effect.fnUntraced(function* (alert: Alert) {
    const { model, provider, threshold } = alert
    const now = yield* Clock.currentTimeMillis
    const offers = catalog.all
      .flatMap((entry) => entry.offers)
      .filter((offer) => offer.publicId === model && (provider === null || offer.provider === provider))
    if (offers.length === 0) return undefined
    const open = new Set<string>()
    for (const offer of offers) {
      for (const candidate of Candidate.ofGateway(offer)) {
        const { circuit } = yield* router.health(candidate)
        if (circuit !== "Closed") open.add(offer.provider)
      }
    }
    if (open.size === 0) return { value: 0, isTrue: false, message: `The circuit of ${model} is closed.` }
    const value = openFor(alert, now)
    return {
      value,
      isTrue: value >= threshold,
      message: `The circuit of ${model} at ${[...open].join(", ")} has been open for ${count(value, "second")}. The alert is set to ${threshold}.`
    }
  })

  const expiry = Effect.fnUntraced(function* ({ keyHash, organizationId, threshold, workspaceId }: Alert) {
    const now = yield* Clock.currentTimeMillis
    const before = now + Math.floor(threshold * day)
    if (keyHash === null) {
      return ofExpiring(yield* keys.expiring(organizationId, before, workspaceId), now, threshold)
    }
    const key = yield* keys.get(organizationId, keyHash)
    const isExpiring = !key.disabled && key.expiresAt !== null && key.expiresAt > now && key.expiresAt <= before
    return isExpiring ? ofExpiring([key], now, threshold) : undefined
  })

  const abandoned = Effect.fnUntraced(function* ({ organizationId, threshold, workspaceId }: Alert) {
    const value = yield* reconcile.countAbandoned(organizationId, workspaceId)
    const what = value === 1 ? "There is 1 abandoned reservation" : `There are ${value} abandoned reservations`
    return { value, isTrue: value >= threshold, message: `${what}. The alert is set to ${threshold}.` }
  })

  const byKind: Readonly<Record<Kind, (alert: Alert) => Effect.Effect<Measured | undefined, Failure>>> = {
    budget_used: budget,
    credits_left: credits,
    failed_share: failures,
    circuit_open: circuit,
    key_expires: expiry,
    reservations_abandoned: abandoned
  }

  return (alert: Alert): Effect.Effect<Measured | undefined, StorageError> =>
    byKind[alert.kind](alert).pipe(
      Effect.catchTags({
        KeyNotFound: () => Effect.undefined,
        GuardrailNotFound: () => Effect.undefined,
        WorkspaceNotFound: () => Effect.undefined
      })
    )
})
