/**
 * Lets a platform compile schemas to JavaScript code. Decoding responses is most of the client's
 * own cost, and compiled schemas decode six times faster. But compiling evaluates code from
 * strings, which many pages forbid, and makes bundles larger. So core declares this service, and
 * only platforms that benefit provide it: `@model-gateway/node` does.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import { constVoid } from "effect/Function"
import type * as Schema from "effect/Schema"

/**
 * Called with each schema before the client first decodes with it. Default: nothing is compiled.
 *
 * @category references
 * @since 0.1.0
 */
export const SchemaCompiler = Context.Reference<(schema: Schema.Top) => void>(
  "@model-gateway/core/unstable/SchemaCompiler",
  {
    defaultValue: () => constVoid
  }
)
