/** What a change was, field by field. */
import type { Item } from "../../api/Contract.ts"

export type Entry = Item<"GET /audit">

/** A field before and after a change. Undefined: there was no such field. */
export interface Difference {
  readonly field: string
  readonly before: string | undefined
  readonly after: string | undefined
}

/** A value as a person reads it. */
const textOf = (value: unknown): string | undefined => {
  if (value === undefined) return undefined
  if (value === null) return "none"
  if (typeof value === "string") return value === "" ? "empty" : value
  if (typeof value === "boolean") return value ? "yes" : "no"
  if (Array.isArray(value)) return value.length === 0 ? "empty list" : value.map(textOf).join(", ")
  return JSON.stringify(value)
}

/** The fields of an entry that have a value before or after it, in their order. */
export const differencesOf = ({ after, before }: Pick<Entry, "after" | "before">): ReadonlyArray<Difference> => {
  const fields = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  return fields
    .map((field) => ({ field, before: textOf(before?.[field]), after: textOf(after?.[field]) }))
    .filter(({ after: to, before: from }) => from !== to)
}

/** The change in few words, such as "disabled: no → yes". */
export const summaryOf = (entry: Entry): string => {
  if (entry.before === null || entry.after === null) {
    // Its name or, of a sign-in, why it was refused, or the way.
    const fields = { ...entry.before, ...entry.after }
    return textOf(fields["name"] ?? fields["message"] ?? fields["kind"]) ?? ""
  }
  return differencesOf(entry)
    .map(({ after, before, field }) => `${field}: ${before ?? "none"} → ${after ?? "none"}`)
    .join(", ")
}
