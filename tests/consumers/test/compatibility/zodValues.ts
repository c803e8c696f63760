/**
 * Generates values that a schema of `@openrouter/sdk` accepts, from what zod says of its schemas.
 * Only for the kinds of schemas that the responses of the six operations have.
 */
import { CreateKeysLimitReset } from "@openrouter/sdk/models/operations"

/** A schema of zod, as far as it is read here. */
interface Schema {
  readonly _zod: { readonly def: Definition }
}

interface Definition {
  readonly type: string
  readonly format?: string
  readonly shape?: Readonly<Record<string, Schema>>
  readonly element?: Schema
  readonly innerType?: Schema
  readonly in?: Schema
  readonly options?: ReadonlyArray<Schema>
  readonly values?: ReadonlyArray<unknown>
  readonly entries?: Readonly<Record<string, unknown>>
  readonly getter?: () => Schema
}

/** Chooses one of `count`. */
export type Choose = (count: number) => number

/** Choices that are the same in every run: a linear congruential generator. */
export const choices = (seed: number): Choose => {
  let state = Math.imul(seed + 1, 2_654_435_761) >>> 0
  return (count) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * count)
  }
}

const pick = <A>(choose: Choose, values: ReadonlyArray<A>): A | undefined => values[choose(values.length)]

const required = <A>(value: A | undefined, what: string): A => {
  if (value === undefined) throw new Error(`The schema has no ${what}`)
  return value
}

const absent = Symbol("absent")

/** Fields that are any text in a response, and one of these words in the SDK's requests. */
const documented: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  limit_reset: [null, ...Object.values(CreateKeysLimitReset)]
}

const value = ({ _zod: { def } }: Schema, choose: Choose): unknown => {
  const inner = () => value(required(def.innerType, "inner type"), choose)
  switch (def.type) {
    case "string":
      return def.format === "datetime"
        ? pick(choose, ["2026-11-20T22:30:00Z", "2026-11-20T22:30:00.123456Z", "2026-11-20T22:30:00+02:00"])
        : pick(choose, ["", "native", "text", "ü\n\u2028😀"])
    case "number":
      return def.format === undefined
        ? pick(choose, [0, 1, 0.25, -1.5, 2.5, 1e9])
        : pick(choose, [0, 1, 7, -1, 1_000_000])
    case "boolean":
      return choose(2) === 0
    case "literal":
      return pick(choose, required(def.values, "values"))
    case "enum":
      return pick(choose, Object.values(required(def.entries, "entries")))
    case "optional":
      return choose(2) === 0 ? absent : inner()
    case "nullable":
      return choose(3) === 0 ? null : inner()
    case "array": {
      const element = required(def.element, "element")
      return Array.from({ length: choose(4) }, () => value(element, choose))
    }
    case "object":
      return Object.fromEntries(
        Object.entries(required(def.shape, "shape"))
          .map(
            ([key, schema]) => [key, documented[key] ? pick(choose, documented[key]) : value(schema, choose)] as const
          )
          .filter(([, each]) => each !== absent)
      )
    case "union": {
      const options = required(def.options, "options")
      // An enumeration that is open to words of the future: only those that the SDK knows.
      const known = options.filter((option) => option._zod.def.type === "literal")
      return value(required(pick(choose, known.length > 0 ? known : options), "option"), choose)
    }
    case "pipe":
      return value(required(def.in, "input"), choose)
    case "lazy":
      return value(required(def.getter, "getter")(), choose)
    default:
      throw new Error(`No values are known for a schema of kind ${def.type}`)
  }
}

/** A value that the schema accepts, as JSON. */
export const valueOf = (schema: Schema, choose: Choose): unknown => value(schema, choose)
