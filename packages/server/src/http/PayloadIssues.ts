/**
 * Finds the issues of an operation's JSON body at a limited cost.
 *
 * Decoding stops at the first issue. Only then is the body decoded again to list the others, with
 * its lists truncated after the items that are enough to fill the response: otherwise 2 MiB of `{}`
 * make hundreds of thousands of issues (attacks `empty-references`, `empty-documents`,
 * `wrong-hashes`).
 */
import { Context, Exit, Schema, SchemaAST } from "effect"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { maxIssues } from "../internal/Issues.ts"

/** Checks for an operation's JSON body. */
export interface JsonPayload {
  /**
   * The maximum number of items of the list at a path such as `documents` or `provider.order`, if
   * it is limited.
   */
  readonly maxItems: (path: string) => number | undefined
  /** The error that lists the issues of the value. Undefined if there are none. */
  readonly check: (value: unknown) => Schema.SchemaError | undefined
  /** Whether all fields are optional. No body is then an empty object. */
  readonly isOptional: boolean
}

interface List {
  readonly maxItems: number | undefined
  readonly isValidItem: (item: unknown) => boolean
}

const maxLengthOf = ({ checks }: SchemaAST.AST): number | undefined => {
  for (const check of checks ?? []) {
    const representation = check.annotations?.representation
    if (representation?.id !== "effect/schema/isMaxLength") continue
    const { payload } = representation
    if (typeof payload === "object" && payload !== null && "maxLength" in payload) return Number(payload.maxLength)
  }
  return undefined
}

const membersOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  SchemaAST.isUnion(ast) ? ast.types.flatMap(membersOf) : [ast]

const listOf = (ast: SchemaAST.AST): List | undefined => {
  const list = membersOf(ast).find(SchemaAST.isArrays)
  const item = list?.rest[0]
  if (list === undefined || item === undefined) return undefined
  const decode = Schema.decodeUnknownExit(Schema.make<Schema.Codec<unknown>>(item))
  return { maxItems: maxLengthOf(list), isValidItem: (value) => Exit.isSuccess(decode(value)) }
}

/** The lists in an object and in its objects, by path. */
const listsIn = function* (ast: SchemaAST.AST, prefix: string): Generator<readonly [path: string, list: List]> {
  for (const object of membersOf(ast).filter(SchemaAST.isObjects)) {
    for (const { name, type } of object.propertySignatures) {
      const path = `${prefix}${String(name)}`
      const list = listOf(type)
      if (list !== undefined) yield [path, list]
      else yield* listsIn(type, `${path}.`)
    }
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The number of items up to the last one whose issue a response could list. */
const lengthToList = (items: ReadonlyArray<unknown>, { isValidItem }: List): number => {
  let invalid = 0
  for (const [index, item] of items.entries()) {
    if (!isValidItem(item) && ++invalid > maxIssues) return index + 1
  }
  return items.length
}

/** The value with the list at the path truncated. */
const withShortList = (value: unknown, [field = "", ...rest]: ReadonlyArray<string>, list: List): unknown => {
  if (!isRecord(value) || !Object.hasOwn(value, field)) return value
  const inner = value[field]
  const shorter =
    rest.length > 0
      ? withShortList(inner, rest, list)
      : Array.isArray(inner)
        ? inner.slice(0, lengthToList(inner, list))
        : inner
  return shorter === inner ? value : { ...value, [field]: shorter }
}

/** The maximum number of items of each list of a body, by path. */
export const boundsOf = ({ ast }: Schema.Top): JsonPayload["maxItems"] => {
  const lists = new Map(listsIn(ast, ""))
  return (path) => lists.get(path)?.maxItems
}

/** The checks for an operation's JSON body. Undefined if it has none. */
export const make = ({ annotations, payload }: HttpApiEndpoint.Top): JsonPayload | undefined => {
  const json = Array.from(payload.values()).find(({ encoding }) => encoding._tag === "Json")
  if (json === undefined) return undefined
  const { ast } = Schema.Union(json.schemas)
  const lists = new Map(listsIn(ast, ""))
  const decode = Schema.decodeUnknownExit(Schema.make<Schema.Codec<unknown>>(ast), {
    ...Context.getOrUndefined(annotations, HttpApi.PayloadParseOptions),
    errors: "all"
  })

  const shortened = (value: unknown): unknown =>
    Array.from(lists).reduce((shorter, [path, list]) => withShortList(shorter, path.split("."), list), value)

  return {
    maxItems: (path) => lists.get(path)?.maxItems,
    isOptional: Exit.isSuccess(decode({})),
    check: (value) => {
      const exit = decode(shortened(value))
      if (Exit.isSuccess(exit)) return undefined
      const [reason] = exit.cause.reasons
      return reason?._tag === "Fail" ? reason.error : undefined
    }
  }
}
