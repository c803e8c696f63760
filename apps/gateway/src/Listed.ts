/** What the commands share that list the things of one kind, and show or change one of them. */
import { Effect } from "effect"
import { Failure } from "./Failure.ts"
import * as Operator from "./Operator.ts"
import * as Output from "./Output.ts"

/** The columns of a table by their headings: what each shows of an item. */
export type Columns<A> = Readonly<Record<string, (item: A) => string>>

/** A table of items. */
export const table = <A>(items: ReadonlyArray<A>, columns: Columns<A>): string => {
  const cells = Object.values(columns)
  return Output.table(
    Object.keys(columns),
    items.map((item) => cells.map((cell) => cell(item)))
  )
}

/** A list as a command prints it. `ifEmpty` is the sentence for people if nothing is in it. */
export const answer = <A>(data: ReadonlyArray<A>, ifEmpty: string, columns: Columns<A>): Operator.Answer => ({
  json: { data },
  text: data.length === 0 ? ifEmpty : table(data, columns)
})

/** The newest items of a list whose pages follow an id and have at most `pageSize` items. */
export const newest = <A extends { readonly id: string }, E>(
  limit: number,
  pageSize: number,
  read: (page: {
    readonly after: string | undefined
    readonly limit: number
  }) => Effect.Effect<{ readonly data: ReadonlyArray<A>; readonly has_more: boolean }, E>
) =>
  Operator.pages(limit, (after, left) =>
    Effect.map(read({ after, limit: Math.min(left, pageSize) }), ({ data, has_more }) => ({
      data,
      next: has_more ? (data.at(-1)?.id ?? null) : null
    }))
  )

/** Fails with a sentence if the gateway has no such thing. `kind` names it: `video job`. */
export const orMissing =
  (kind: string) =>
  <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.catchIf(
      effect,
      (error: E): error is Extract<E, { readonly _tag: "NotFound" }> => error._tag === "NotFound",
      () => Effect.fail(new Failure({ message: `There is no such ${kind}.` }))
    )
