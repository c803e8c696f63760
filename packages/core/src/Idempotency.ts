/**
 * The `Idempotency-Key` header of every POST that costs money.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { IdempotencyKey } from "./Identifiers.ts"

/**
 * Sent along with a paid POST: the same key with the same body answers the first
 * answer again (marked `idempotent-replayed: true`) and costs nothing; the same
 * key with another body is a 400. Scoped to the API key that is sent, ephemeral or
 * not; kept 24 hours, less where the answers to one API key take more room than the
 * service sets aside for it.
 *
 * @since 0.1.0
 */
export const idempotencyHeaders = { "idempotency-key": Schema.optionalKey(IdempotencyKey) }
