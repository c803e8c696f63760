/** What runs out: credits of workspaces, limits of keys and guardrails, and keys that expire. */
import type { Item } from "../../api/Contract.ts"

const day = 86_400_000

type Workspace = Pick<Item<"GET /workspaces">, "id" | "name" | "credits">
type Key = Pick<
  Item<"GET /keys">,
  "hash" | "name" | "disabled" | "expires_at" | "include_byok_in_limit" | "limit" | "limit_remaining" | "limit_reset"
>
type Guardrail = Pick<
  Item<"GET /guardrails">,
  "id" | "name" | "key_count" | "limit_remaining" | "limit_usd" | "resets_at"
>

export interface Ending {
  /** `key` and `guardrail`: its limit. `expiry`: a key. */
  readonly kind: "credits" | "key" | "guardrail" | "expiry"
  readonly id: string
  readonly name: string
  /**
   * When it runs out, in milliseconds. 0: it has run out. Infinity: most of it is used, but it
   * resets before.
   */
  readonly at: number
  /** Credits. Undefined: of a key that expires. */
  readonly left?: number
  /** Credits. Undefined: it is not a limit. */
  readonly limit?: number
  /** What is spent of it each day. Undefined: not known. */
  readonly perDay?: number
  /** When the limit resets, in milliseconds. Undefined: never. */
  readonly resetsAt?: number | undefined
}

/** The share of a limit above which it is listed even if it resets before it runs out. */
const nearlyUsed = 0.8

/** When credits run out if as much is spent each day as `perDay`. */
const outAt = (left: number, perDay: number, now: number): number => (left <= 0 ? 0 : now + (left / perDay) * day)

/** The workspaces whose credits run out, the first at the top. */
export const creditEndings = (
  workspaces: ReadonlyArray<Workspace>,
  perDay: ReadonlyMap<string, number>,
  now: number
): ReadonlyArray<Ending> =>
  workspaces
    .flatMap(({ credits: left, id, name }): ReadonlyArray<Ending> => {
      const rate = perDay.get(id) ?? 0
      return rate === 0 ? [] : [{ kind: "credits", id, name, left, perDay: rate, at: outAt(left, rate, now) }]
    })
    .toSorted(byTime)

interface Limit {
  readonly kind: "key" | "guardrail"
  readonly id: string
  readonly name: string
  readonly limit: number | null
  readonly left: number | null
  readonly perDay: number | undefined
  readonly resetsAt: number | undefined
}

/** A limit of 0 is no budget: it forbids spending. */
const limitEnding = ({ kind, id, left, limit, name, perDay, resetsAt }: Limit, now: number): ReadonlyArray<Ending> => {
  if (limit === null || limit === 0 || left === null) return []
  const at = left <= 0 ? 0 : perDay === undefined || perDay === 0 ? Infinity : outAt(left, perDay, now)
  const isInTime = at < (resetsAt ?? Infinity)
  if (!isInTime && 1 - left / limit < nearlyUsed) return []
  return [
    { kind, id, name, left, limit, resetsAt, at: isInTime ? at : Infinity, ...(perDay !== undefined && { perDay }) }
  ]
}

/** When the limit of a key resets next: at the end of the UTC day, week from Monday, or month. */
const resetOf = (reset: Key["limit_reset"], now: number): number | undefined => {
  const today = now - (now % day)
  if (reset === null) return undefined
  if (reset === "daily") return today + day
  const date = new Date(today)
  return reset === "weekly"
    ? today + (7 - ((date.getUTCDay() + 6) % 7)) * day
    : Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
}

/** What keys spend each day: of credits, and with their own provider keys. */
export interface KeyRate {
  readonly credits: number
  readonly withProviderKeys: number
}

export const keyEndings = (
  keys: ReadonlyArray<Key>,
  rates: ReadonlyMap<string, KeyRate>,
  now: number
): ReadonlyArray<Ending> =>
  keys
    .filter(({ disabled, expires_at }) => !disabled && (expires_at === null || Date.parse(expires_at) > now))
    .flatMap((key) => {
      const { expires_at, hash, include_byok_in_limit, limit, limit_remaining, limit_reset, name } = key
      const rate = rates.get(hash)
      const perDay = (rate?.credits ?? 0) + (include_byok_in_limit ? (rate?.withProviderKeys ?? 0) : 0)
      const resetsAt = resetOf(limit_reset, now)
      return [
        ...limitEnding({ kind: "key", id: hash, name, limit, left: limit_remaining, perDay, resetsAt }, now),
        ...(expires_at === null ? [] : [{ kind: "expiry" as const, id: hash, name, at: Date.parse(expires_at) }])
      ]
    })

/** The rate of a guardrail is that of its keys. It is not known if some of them are not. */
export const guardrailEndings = (
  guardrails: ReadonlyArray<Guardrail>,
  keys: ReadonlyArray<Pick<Item<"GET /keys">, "hash" | "guardrail_id">>,
  rates: ReadonlyMap<string, KeyRate>,
  now: number
): ReadonlyArray<Ending> => {
  const assigned = Map.groupBy(keys, ({ guardrail_id }) => guardrail_id)
  return guardrails.flatMap(({ id, key_count, limit_remaining, limit_usd, name, resets_at }) => {
    const known = assigned.get(id) ?? []
    const perDay =
      known.length < key_count ? undefined : known.reduce((sum, { hash }) => sum + (rates.get(hash)?.credits ?? 0), 0)
    const resetsAt = resets_at === null ? undefined : Date.parse(resets_at)
    return limitEnding({ kind: "guardrail", id, name, limit: limit_usd, left: limit_remaining, perDay, resetsAt }, now)
  })
}

/** What runs out first is at the top. */
export const byTime = (a: Ending, b: Ending): number => (a.at === b.at ? 0 : a.at - b.at)
