/** What the client takes of a service that is not this one, besides what this one sends. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** One of the known words, which editors suggest, or any other text. */
export type Open<Known extends string> = Known | (string & {})

/** Decodes any text. The known words are in its type only. */
export const open = <Known extends string>(): Schema.declare<Open<Known>> =>
  Schema.declare((value): value is Open<Known> => typeof value === "string", { expected: "a string" })

/** A field that may be missing where it has no value. It is then null. */
export const orNull = <S extends Schema.Top>(schema: S) =>
  Schema.NullOr(schema).pipe(Schema.withDecodingDefaultKey(Effect.succeed(null)))
