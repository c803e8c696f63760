/** Words of a response that other services may choose from a longer list. */
import * as Schema from "effect/Schema"

/** One of the known words, which editors suggest, or any other text. */
export type Open<Known extends string> = Known | (string & {})

/** Decodes any text. The known words are in its type only. */
export const open = <Known extends string>(): Schema.declare<Open<Known>> =>
  Schema.declare((value): value is Open<Known> => typeof value === "string", { expected: "a string" })
