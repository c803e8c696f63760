/** What the pages say about a key. */
import type { Item } from "../../api/Contract.ts"
import { Badge } from "../../parts/Badge.tsx"
import { credits } from "../../parts/format.ts"
import { Meter, MeterLeft } from "../../parts/Meter.tsx"

export type Key = Item<"GET /keys">

export const resetNames = { daily: "every day", weekly: "every week", monthly: "every month" } as const

/** Whether a time is over. */
const isOver = (at: string | null): boolean => at !== null && Date.parse(at) <= Date.now()

export const KeyState = ({ of }: { readonly of: Pick<Key, "disabled" | "expires_at"> }) =>
  of.disabled ? (
    <Badge tone="quiet">Disabled</Badge>
  ) : isOver(of.expires_at) ? (
    <Badge tone="warning">Expired</Badge>
  ) : (
    <Badge tone="good">Active</Badge>
  )

/** What kind of key it is, such as "Manages, viewer". */
export const kindOf = ({ is_free_tier, is_management_key, parent_hash, role }: Key): string =>
  is_management_key
    ? `Manages, ${role ?? "admin"}`
    : parent_hash !== undefined
      ? "Ephemeral"
      : is_free_tier
        ? "Ordinary, free tier"
        : "Ordinary"

/** How much of its limit a key has used. */
export const KeyLimit = ({ of }: { readonly of: Key }) =>
  of.limit === null ? (
    <span className="hint">{of.is_management_key ? "Cannot spend" : "No limit"}</span>
  ) : (
    <Meter label={`Limit of ${of.name}`} used={of.limit - (of.limit_remaining ?? 0)} limit={of.limit} />
  )

/** What is left of a key's limit. */
export const KeyLeft = ({ of }: { readonly of: Key }) => {
  if (of.limit === null) return <span className="hint">{of.is_management_key ? "Cannot spend" : "No limit"}</span>
  const left = of.limit_remaining ?? 0
  return <MeterLeft label={`Left of the limit of ${of.name}`} left={left} limit={of.limit} />
}

/** The limit of a key in words. */
export const limitText = ({ limit, limit_remaining, limit_reset }: Key): string =>
  limit === null
    ? "None"
    : `${credits(limit)} credits, ${limit_reset === null ? "never reset" : `reset ${resetNames[limit_reset]}`}, ${credits(limit_remaining ?? 0)} left`
