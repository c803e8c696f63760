/** GET `/activity`: reads all of its items, and sums them for charts and tables. */
import { useQuery } from "@tanstack/react-query"
import { call } from "../api/call.ts"
import type { Item, Query } from "../api/Contract.ts"
import { ApiError } from "../api/http.ts"
import type { Range } from "../shell/range.ts"
import type { Series } from "./Chart.tsx"

export type ActivityItem = Item<"GET /activity">
export type Interval = "minute" | "hour" | "day"
export type Group = "key" | "user" | "workspace" | "model" | "provider" | "guardrail"
export type Measure = "spend" | "requests" | "failures" | "tokens" | "p95"

export type ActivityQuery = Omit<Query<"GET /activity">, "after" | "limit" | "format" | "date" | "user_id">

const readAll = async (query: ActivityQuery, signal: AbortSignal): Promise<ReadonlyArray<ActivityItem>> => {
  const items: Array<ActivityItem> = []
  let after: string | undefined
  do {
    const page = await call("GET /activity", { query: { ...query, after } }, signal)
    items.push(...page.data)
    after = page.next ?? undefined
  } while (after !== undefined)
  return items
}

/** Reads all pages of the activity. Undefined: it does not read. */
export const useActivity = (query: ActivityQuery | undefined, options: { readonly refetchInterval?: number } = {}) =>
  useQuery({
    queryKey: ["GET /activity", "all", query] as const,
    queryFn: ({ signal }) => readAll(query ?? {}, signal),
    // Items of another group have no names in this one.
    placeholderData: (items, before) => {
      const old = before?.queryKey[2]
      return old?.group_by === query?.group_by && old?.interval === query?.interval ? items : undefined
    },
    enabled: query !== undefined,
    ...options
  })

/**
 * The time from which on a range has few enough requests, if the gateway refused it because of
 * that.
 */
export const fewEnoughFrom = (error: Error | null): string | undefined =>
  error instanceof ApiError && error.status === 400 ? /requests: from (\S+Z) on/.exec(error.message)?.[1] : undefined

const lengths: { readonly [I in Interval]: number } = { minute: 60_000, hour: 3_600_000, day: 86_400_000 }

/** A time rounded down to the start of its interval. */
export const startOf = (at: number, interval: Interval): number => at - (at % lengths[interval])

/**
 * The range that is read. Days are read whole, as the gateway's sums have them, so that figures do
 * not depend on whether they come from sums.
 */
export const spanOf = ({ from, to }: Range, interval: Interval): { readonly from: string; readonly to?: string } => {
  if (interval !== "day") return to === undefined ? { from } : { from, to }
  const iso = (at: number) => new Date(at).toISOString()
  const start = iso(startOf(Date.parse(from), "day"))
  return to === undefined ? { from: start } : { from: start, to: iso(startOf(Date.parse(to) - 1, "day") + lengths.day) }
}

/** The span of the same length before a span. */
export const spanBefore = ({ from, to }: { readonly from: string; readonly to?: string }, interval: Interval) => {
  const start = Date.parse(from)
  const now = interval === "day" ? startOf(Date.now(), "day") + lengths.day : Date.now()
  return { from: new Date(2 * start - (to === undefined ? now : Date.parse(to))).toISOString(), to: from }
}

/** The starts of the intervals of a span. */
export const timesOf = (
  { from, to }: { readonly from: string; readonly to?: string },
  interval: Interval
): ReadonlyArray<number> => {
  const times: Array<number> = []
  const end = to === undefined ? Date.now() : Date.parse(to)
  for (let at = startOf(Date.parse(from), interval); at < end; at += lengths[interval]) times.push(at)
  return times
}

/** The name that an item has in its group. */
export const groupOf = (item: ActivityItem, group: Group): string =>
  ({
    key: item.key_hash,
    user: item.external_user,
    workspace: item.workspace_id,
    model: item.model,
    provider: item.provider_name,
    guardrail: item.guardrail_id
  })[group] ?? ""

/** The figure of an item. Undefined: it has none. */
export const valueOf = (item: ActivityItem, measure: Measure): number | undefined => {
  switch (measure) {
    case "spend":
      return item.usage
    case "requests":
      return item.requests
    case "failures":
      return item.failed_requests
    case "tokens":
      return item.prompt_tokens + item.completion_tokens
    case "p95":
      return item.duration_p95_ms ?? undefined
  }
}

/** The sums of some items. Durations cannot be summed. */
export interface Sums {
  readonly spend: number
  readonly requests: number
  readonly failures: number
  readonly tokens: number
}

export const sumOf = (items: ReadonlyArray<ActivityItem>): Sums => {
  const sums = { spend: 0, requests: 0, failures: 0, tokens: 0 }
  for (const item of items) {
    sums.spend += item.usage
    sums.requests += item.requests
    sums.failures += item.failed_requests
    sums.tokens += item.prompt_tokens + item.completion_tokens
  }
  return sums
}

/** The items of each group. */
export const byGroup = (
  items: ReadonlyArray<ActivityItem>,
  group: Group | undefined
): ReadonlyMap<string, ReadonlyArray<ActivityItem>> =>
  Map.groupBy(items, (item) => (group === undefined ? "" : groupOf(item, group)))

/** How many groups have a color of their own. The eighth color is that of all others. */
const mostGroups = 7

/** A number that depends on the text only. */
const hashOf = (text: string): number => {
  let hash = 0
  for (let index = 0; index < text.length; index++) hash = (Math.imul(hash, 31) + text.charCodeAt(index)) >>> 0
  return hash
}

/**
 * The color of each group: that of its name, so that it is the same in another range, or the next
 * that is free.
 */
const colorsOf = (groups: ReadonlyArray<string>): ReadonlyMap<string, number> => {
  const slots = Math.max(mostGroups, groups.length)
  const taken = new Set<number>()
  const colors = new Map<string, number>()
  for (const group of groups.toSorted()) {
    let slot = hashOf(group) % mostGroups
    while (taken.has(slot)) slot = (slot + 1) % slots
    taken.add(slot)
    colors.set(group, slot + 1)
  }
  return colors
}

/** The figures of the largest groups over time, and of all others together. */
export const seriesOf = (
  items: ReadonlyArray<ActivityItem>,
  {
    group,
    measure,
    nameOf,
    times
  }: {
    readonly group: Group | undefined
    readonly measure: Measure
    readonly times: ReadonlyArray<number>
    readonly nameOf: (group: string) => string
  }
): ReadonlyArray<Series> => {
  const place = new Map(times.map((time, index) => [time, index]))
  const isSum = measure !== "p95"
  const all = Array.from(byGroup(items, group), ([name, found]) => {
    const values = times.map((): number | null => (isSum ? 0 : null))
    for (const item of found) {
      const index = place.get(Date.parse(item.start ?? ""))
      const value = valueOf(item, measure)
      if (index !== undefined && value !== undefined) values[index] = value
    }
    const figures = values.map((value) => value ?? 0)
    return { name, values, size: isSum ? figures.reduce((a, b) => a + b, 0) : Math.max(0, ...figures) }
  }).toSorted((a, b) => b.size - a.size)
  // A group without a figure has nothing to be seen.
  const seen = all.filter(({ size }, index) => size > 0 || index === 0)
  const ownColor = seen.length === mostGroups + 1 ? seen.length : mostGroups
  const own = seen.slice(0, ownColor)
  const colors = colorsOf(own.map(({ name }) => name))
  const named = own.map(({ name, values }) => ({ name: nameOf(name), values, color: colors.get(name) }))
  const others = seen.slice(ownColor)
  if (!isSum || others.length === 0) return named
  const sum = times.map((_, index) => others.reduce((total, { values }) => total + (values[index] ?? 0), 0))
  return [...named, { name: `${others.length} others`, values: sum, color: mostGroups + 1 }]
}

/** The sums of all groups over time, for a sparkline. */
export const courseOf = (
  items: ReadonlyArray<ActivityItem>,
  times: ReadonlyArray<number>,
  figure: (item: ActivityItem) => number
): ReadonlyArray<number> => {
  const place = new Map(times.map((time, index) => [time, index]))
  const values = times.map(() => 0)
  for (const item of items) {
    const index = place.get(Date.parse(item.start ?? ""))
    if (index !== undefined) values[index] = (values[index] ?? 0) + figure(item)
  }
  return values
}
