/**
 * Fields of other APIs for which this service has no value. Each has one value in every response,
 * so that existing clients find it. The schema admits what another service sends.
 *
 * `Schema.Struct(fields).make({})` are the values of such fields.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** A field with this value in every response. */
export const fixed = <S extends Schema.Constraint & Schema.WithoutConstructorDefault>(
  schema: S,
  value: S["~type.make.in"]
): Schema.withConstructorDefault<S> => Schema.withConstructorDefault<S>(Effect.succeed(value))(schema)
