/**
 * What the `update` commands share: flags whose values replace former ones, and `--unset`, which
 * removes one. What has no flag stays as it is.
 */
import { Effect, Option } from "effect"
import { Flag } from "effect/cli"
import { UsageError } from "./Failure.ts"

/** The flag that removes values, by the names of their flags. */
export const unsetFlag = <const Names extends ReadonlyArray<string>>(names: Names) =>
  Flag.Literals("unset", names).pipe(
    Flag.withDescription("Remove this value. Repeat the flag for several. Default: all stay"),
    Flag.between(0, names.length),
    // Without it, the help says that the flag is required.
    Flag.withDefault<ReadonlyArray<Names[number]>>([])
  )

/** A flag for what is on or off. */
export const yesOrNo = (name: string): Flag.Flag<boolean> =>
  Flag.Literals(name, ["yes", "no"]).pipe(Flag.map((text) => text === "yes"))

/** Refuses a command that changes nothing, or that sets and removes the same value. */
export const check = (given: Readonly<Record<string, Option.Option<unknown>>>, unset: ReadonlyArray<string>) => {
  const names = Object.entries(given).flatMap(([name, value]) => (Option.isSome(value) ? [name] : []))
  if (names.length === 0 && unset.length === 0) {
    const flags = [...Object.keys(given), "unset"].map((name) => `--${name}`).join(", ")
    return Effect.fail(new UsageError({ message: `Nothing is to be changed: use one of ${flags}.` }))
  }
  const both = names.find((name) => unset.includes(name))
  return both === undefined
    ? Effect.void
    : Effect.fail(new UsageError({ message: `--${both} and --unset ${both} exclude each other.` }))
}

/** The new value of a field of the API: null removes the former one, undefined keeps it. */
export const valueOf = <A>(given: Option.Option<A>, isUnset: boolean): A | null | undefined =>
  isUnset ? null : Option.getOrUndefined(given)
