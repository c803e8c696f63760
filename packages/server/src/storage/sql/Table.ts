/**
 * A table from its declaration: a `Model` whose fields are the columns.
 *
 * The names of columns, the reader of rows and the values of `INSERT` and `UPDATE` follow from it.
 * A column is named as its field, in snake case, unless the declaration says otherwise. The folder
 * that owns a table declares it; migrations create it.
 */
import { identity, Schema, SchemaAST, SchemaGetter } from "effect"
import { Model } from "effect/schema"
import type { Row } from "effect/sql/SqlConnection"
import { fromBool } from "./Dialect.ts"

/** A schema that needs no services. */
type Codec<A> = Schema.ConstraintCodec<A, unknown>

/** The part of a `Model` for one kind of statement. */
type Variant<A> = Codec<A> & { readonly fields: Readonly<Record<string, Codec<unknown>>> }

/** A row as an object whose fields can be spread. */
type Fields<A> = { readonly [Field in keyof A]: A[Field] }

/** A change of a row. Absent and undefined fields stay as they are. */
export type Change<A> = { readonly [Field in keyof A]?: A[Field] | undefined }

/** A column of a new row. */
export interface Column {
  readonly field: string
  readonly name: string
  /** Its type where a statement has to name one. */
  readonly type: "text" | "bigint"
}

/** A table whose rows are `A`, with what a new row needs and what can change. */
export interface Table<A, Insert extends object, Update extends object> {
  /** All columns, to select. */
  readonly columns: string
  /** All columns of a table that a statement names `alias`, to select beside those of others. */
  readonly columnsOf: (alias: string) => string
  /** Reads a row. Throws a `TypeError` that names the column if a value is invalid. */
  readonly read: (row: Row) => Fields<A>
  /** Like `read`, for what was selected by `columnsOf(alias)`. */
  readonly readOf: (alias: string) => (row: Row) => Fields<A>
  /** The values of a new row, for `sql.insert`. Fields that are no columns are left out. */
  readonly insert: (values: Insert) => Record<string, unknown>
  /** Like `insert`, for some columns of a new row. */
  readonly insertSome: (values: Change<Insert>) => Record<string, unknown>
  /** The columns of a new row, for a fixed statement. */
  readonly insertColumns: ReadonlyArray<Column>
  /** The values of a change, for `sql.update`. Fields that are no columns are left out. */
  readonly update: (change: Change<Update>) => Record<string, unknown>
}

const snakeCase = (field: string): string => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const isText = (ast: SchemaAST.AST): boolean =>
  ast._tag === "Union"
    ? ast.types.some(isText)
    : ast._tag === "String" || (ast._tag === "Literal" && typeof ast.literal === "string")

/** The values that a column stores as they are. */
interface Plain {
  readonly texts: boolean
  readonly numbers: boolean
  readonly nulls: boolean
}

const plainOf = (ast: SchemaAST.AST): Plain => {
  if (ast.encoding === undefined && ast._tag === "Union") {
    const types = ast.types.map(plainOf)
    return {
      texts: types.some(({ texts }) => texts),
      numbers: types.some(({ numbers }) => numbers),
      nulls: types.some(({ nulls }) => nulls)
    }
  }
  const isPlain = ast.encoding === undefined
  return {
    texts: isPlain && ast._tag === "String" && ast.checks === undefined,
    numbers: isPlain && ast._tag === "Number",
    nulls: isPlain && ast._tag === "Null"
  }
}

/**
 * Whether a column stores this value as it is. Most columns do, and a paid request writes dozens
 * (`pnpm bench databases`), so no schema is asked for them. A column of numbers takes any whole
 * number.
 */
const isPlain = ({ nulls, numbers, texts }: Plain, value: unknown): boolean =>
  typeof value === "string" ? texts : value === null ? nulls : numbers && Number.isSafeInteger(value)

/** Stores a value of a column without its schema. The compiler has checked its type. */
interface Writer {
  write(this: void, value: unknown): unknown
}

const writers = new WeakMap<SchemaAST.AST, Writer>()

const isAbsence = ({ _tag }: SchemaAST.AST): boolean => _tag === "Undefined" || _tag === "Null"

/** The writer of a column that was made by {@link stored}, also if it may be left out or null. */
const writerOf = (ast: SchemaAST.AST): Writer | undefined => {
  const present = ast._tag === "Union" ? ast.types.filter((type) => !isAbsence(type)) : []
  const [only, ...others] = present
  return writers.get(ast) ?? (only === undefined || others.length > 0 ? undefined : writerOf(only))
}

/**
 * A column of another type than it is stored as. A value is written without its schema, because a
 * paid request writes seven of them.
 */
export const stored = <Stored extends string | number | null, A>(
  column: Schema.Codec<Stored>,
  type: Schema.Codec<A>,
  { read, write }: { readonly read: (stored: Stored) => A; readonly write: (value: A) => Stored }
) => {
  const schema = column.pipe(
    Schema.decodeTo(type, { decode: SchemaGetter.transform(read), encode: SchemaGetter.transform(write) })
  )
  writers.set(schema.ast, { write })
  return schema
}

/** Declares a table. `named` has the columns that are not named as their field. */
export const make = <A, Insert extends object, Update extends object>(
  model: Variant<A> & { readonly insert: Variant<Insert>; readonly update: Variant<Update> },
  named: Readonly<Record<string, string>> = {}
): Table<A, Insert, Update> => {
  const columnOf = (field: string): string => named[field] ?? snakeCase(field)
  const decode = Schema.decodeUnknownResult(model)
  const columns = Object.keys(model.fields).map(columnOf)

  const reader = (prefix: string) => {
    const places = Object.entries(model.fields).map(([field, schema]) => ({
      field,
      column: `${prefix}${columnOf(field)}`,
      decode: Schema.decodeUnknownResult(schema)
    }))
    return (row: Row): Fields<A> => {
      const values: Record<string, unknown> = {}
      for (const { column, field } of places) values[field] = row[column]
      const result = decode(values)
      if (result._tag === "Success") return result.success
      // The error of the schema would show the value.
      const invalid = places.find(({ decode, field }) => decode(values[field])._tag === "Failure")
      throw new TypeError(`Column ${invalid?.column} has an invalid value`)
    }
  }

  const writer = (fields: Readonly<Record<string, Codec<unknown>>>) => {
    const places = Object.entries(fields).map(([field, schema]) => ({
      field,
      column: columnOf(field),
      plain: plainOf(schema.ast),
      encode: writerOf(schema.ast)?.write ?? Schema.encodeUnknownSync(schema)
    }))
    return (values: object): Record<string, unknown> => {
      const row: Record<string, unknown> = {}
      for (const { column, encode, field, plain } of places) {
        const value: unknown = Reflect.get(values, field)
        if (value !== undefined) row[column] = isPlain(plain, value) ? value : encode(value)
      }
      return row
    }
  }

  return {
    columns: columns.join(", "),
    columnsOf: (alias) => columns.map((column) => `${alias}.${column} AS ${alias}_${column}`).join(", "),
    read: reader(""),
    readOf: (alias) => reader(`${alias}_`),
    insert: writer(model.insert.fields),
    insertSome: writer(model.insert.fields),
    insertColumns: Object.entries(model.insert.fields).map(([field, schema]) => ({
      field,
      name: columnOf(field),
      type: isText(SchemaAST.toEncoded(schema.ast)) ? "text" : "bigint"
    })),
    update: writer(model.update.fields)
  }
}

/** A column that never changes. */
export const constant = <S extends Schema.Top>(schema: S) => Model.Field({ select: schema, insert: schema })

/** A column that may be null. A new row that does not name it has null. */
export const nullable = <S extends Schema.Top>(schema: S) =>
  Model.Field({
    select: Schema.NullOr(schema),
    insert: Schema.optional(Schema.NullOr(schema)),
    update: Schema.optional(Schema.NullOr(schema))
  })

/** A column that may be null and never changes. */
export const constantOrNull = <S extends Schema.Top>(schema: S) =>
  Model.Field({ select: Schema.NullOr(schema), insert: Schema.optional(Schema.NullOr(schema)) })

/** A list of texts, as JSON. */
export const Texts = Schema.fromJsonString(Schema.Array(Schema.String))

/** A boolean, as `0` or `1`. */
export const Bit = stored(Schema.Literals([0, 1]), Schema.Boolean, { read: (bit) => bit === 1, write: fromBool })

/**
 * A whole number: a count, a time in epoch milliseconds, or a length in milliseconds. Fractions are
 * not refused, because the clock of a test may have some.
 */
export const Whole = Schema.Finite

/** An amount of money. */
export const MicroCredits = Schema.Int.pipe(Schema.brand("MicroCredits"))

/** One of these texts. Any other, such as one of a later release, reads as `otherwise`. */
export const oneOf = <A extends string>(schema: Schema.Literals<ReadonlyArray<A>>, otherwise: A) =>
  stored<string, A>(Schema.String, schema, {
    read: (text) => schema.literals.find((literal) => literal === text) ?? otherwise,
    write: identity
  })

/** One of these texts or null. Any other text reads as null; see {@link oneOf}. */
export const oneOfOrNull = <A extends string>(schema: Schema.Literals<ReadonlyArray<A>>) => {
  const column = stored<string | null, A | null>(Schema.NullOr(Schema.String), Schema.NullOr(schema), {
    read: (text) => schema.literals.find((literal) => literal === text) ?? null,
    write: identity
  })
  return Model.Field({ select: column, insert: Schema.optional(column), update: Schema.optional(column) })
}
