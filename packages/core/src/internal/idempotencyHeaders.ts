/**
 * The `Idempotency-Key` header of every POST that costs money, creates a key or stores a file.
 */
import * as Schema from "effect/Schema"
import { IdempotencyKey } from "../Identifiers.ts"

/**
 * The header. A second request with the same key and body returns the first response, marked
 * `idempotent-replayed: true`. Nothing is done or charged again. The same key with another body is
 * a 400. Keys are scoped to the API key of the request, ephemeral or not. Responses are kept for 24
 * hours, or shorter if they exceed the storage that the service allows for one API key.
 */
export const idempotencyHeaders = { "idempotency-key": Schema.optionalKey(IdempotencyKey) }
