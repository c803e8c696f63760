/**
 * Where a platform may turn schemas into code. Decoding an answer is most of what the
 * client itself costs, and compiled it costs a sixth; but compiling takes the
 * right to make code from text, which many pages do not have, and bytes that they
 * would carry for nothing. So core asks for it and a platform's layer brings it:
 * `@model-gateway/node` does.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import { constVoid } from "effect/Function"
import type * as Schema from "effect/Schema"

/**
 * Told of each schema that the client will decode by, before it first does. Default:
 * nothing is compiled.
 *
 * @since 0.1.0
 */
export const SchemaCompiler = Context.Reference<(schema: Schema.Top) => void>("@model-gateway/core/SchemaCompiler", {
  defaultValue: () => constVoid
})
