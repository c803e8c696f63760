/** Derives samples from the contract's schemas. A sample states only the values that matter. */
import { Timestamp } from "@model-gateway/core/Identifiers"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

/**
 * @category constants
 * @since 0.1.0
 */
export const timestamp = "2026-11-20T22:30:00.000Z"

/**
 * A record with these values. Its other required fields have the value that the contract fixes, or
 * else null, false, 0, an empty text or list, the first word, or {@link timestamp}.
 *
 * Throws if the schema refuses such a value: then the sample has to state one.
 */
export const sample = <S extends Schema.Constraint & { readonly ast: SchemaAST.Objects }>(
  schema: S,
  values: Partial<S["Type"]>
): S["Type"] => {
  // Adds the values that the contract fixes. Decoding returns the same record with its type.
  const record = Schema.make<Schema.Codec<unknown>>(schema.ast).make({ ...neutralFields(schema.ast), ...values })
  return Schema.decodeUnknownSync(Schema.toType(schema))(record)
}

const neutralFields = (ast: SchemaAST.Objects): { readonly [name: PropertyKey]: unknown } =>
  Object.fromEntries(
    ast.propertySignatures
      .filter(({ type }) => !SchemaAST.isOptional(type) && type.context?.constructorDefault === undefined)
      .map(({ name, type }) => [name, neutral(type)])
  )

const neutral = (ast: SchemaAST.AST): unknown => {
  switch (ast._tag) {
    case "Objects":
      return neutralFields(ast)
    case "Arrays":
      return []
    case "Union":
      return ast.types.some(SchemaAST.isNull) ? null : ast.types.map(neutral)[0]
    case "Literal":
      return ast.literal
    case "Boolean":
      return false
    case "Number":
      return 0
    case "String":
      return ast === Timestamp.ast ? timestamp : ""
    default:
      return null
  }
}
