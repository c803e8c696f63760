/**
 * How a service says that it recognizes repeated requests by their `Idempotency-Key`: in the answer
 * to OPTIONS, which RFC 9110 (9.3.7) has for what a resource supports.
 *
 * A service that ignores the key would do the work twice, and it gives no other sign of that.
 *
 * @since 0.1.0
 */
import type { Headers } from "effect/http/Headers"

/**
 * The header of the answer. Its value lists the methods, such as `POST`.
 *
 * @category constants
 * @since 0.1.0
 */
export const header = "accept-idempotency-key"

/**
 * Whether the service recognizes repeated requests with this method by their key.
 *
 * @category decoding
 * @since 0.1.0
 */
export const includes = (headers: Headers, method: string): boolean =>
  (headers[header] ?? "").split(",").some((listed) => listed.trim() === method)
