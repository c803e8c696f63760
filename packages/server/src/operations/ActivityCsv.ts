/** The items of the activity as CSV (RFC 4180). */
import { Item } from "@model-gateway/core/Activity"

/** These repeat others, or are the same in all items. */
const leftOut = new Set(["model_permaslug", "endpoint_id", "reasoning_tokens"])

/**
 * A text that begins like a formula gets an apostrophe: callers choose the names of models and
 * users, and a spreadsheet would run it.
 */
const safe = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

const textOf = (value: unknown): string => {
  if (typeof value === "string") return quoted(safe(value))
  if (typeof value === "object" && value !== null) {
    return Object.entries(value)
      .map(([name, count]) => `${name}=${String(count)}`)
      .join(" ")
  }
  return typeof value === "number" ? String(value) : ""
}

/** A line of names, and a line for each item. The columns are the fields that any of them has. */
export const make = (items: ReadonlyArray<Item>): string => {
  const has = (name: string) => items.some((item) => Object.hasOwn(item, name))
  const names = Object.keys(Item.fields).filter((name) => !leftOut.has(name) && (items.length === 0 || has(name)))
  const lines = items.map((item) => names.map((name) => textOf(Reflect.get(item, name))).join(","))
  return `${[names.join(","), ...lines].join("\r\n")}\r\n`
}
