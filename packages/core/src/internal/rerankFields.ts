/** The fields that POST `/rerank` and its forms in Cohere's shapes share, with their bounds. */
import * as Schema from "effect/Schema"
import { isMaxBytes, isMaxItems } from "./bounds.ts"

export const Query = Schema.String.check(isMaxBytes(65_536))

/** The text of a document. */
export const Text = Schema.String.check(isMaxBytes(1_048_576))

/** A number of at least 1. */
export const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))

export const documentsOf = <S extends Schema.Top>(document: S) =>
  Schema.Array(document).check(Schema.isMinLength(1, { expected: "at least 1 item" }), isMaxItems(10_000))
