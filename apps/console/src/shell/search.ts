/**
 * Typed search parameters: texts of the URL. A parameter that makes no sense counts as not given.
 */
import { type FrameSearch, type RangeName, rangeNames } from "./range.ts"

type Raw = Readonly<Record<string, unknown>>

/** The router reads `1` and `true` as what they are in JSON. */
const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== ""
    ? value
    : typeof value === "number" || typeof value === "boolean"
      ? String(value)
      : undefined

const time = (value: unknown): string | undefined => {
  const when = text(value)
  return when === undefined || Number.isNaN(Date.parse(when)) ? undefined : new Date(when).toISOString()
}

/** Without what has no value, which is then not in the URL. */
export const given = <A extends object>(values: A): A =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== "")) as A

/**
 * The parameters after a change. The router keeps those of the frame that are missing, so a removed
 * parameter is undefined instead.
 */
export const changed = (before: object, change: object): object => ({
  ...before,
  ...Object.fromEntries(Object.entries(change).map(([name, value]) => [name, value === "" ? undefined : value]))
})

export const frameSearch = (raw: Raw): FrameSearch =>
  given({
    range: rangeNames.find((name): name is RangeName => name === raw["range"]),
    from: time(raw["from"]),
    to: time(raw["to"]),
    workspace: text(raw["workspace"])
  })

/** The parameters of a page. All are optional. */
export const texts =
  <const Names extends ReadonlyArray<string>>(...names: Names) =>
  (raw: Raw): { readonly [Name in Names[number]]?: string } => {
    const values: { [name: string]: string } = {}
    for (const name of names) {
      const value = text(raw[name])
      if (value !== undefined) values[name] = value
    }
    return values as { readonly [Name in Names[number]]?: string }
  }
