/**
 * The code of a platform's error, such as `ECONNREFUSED`, `ENOSPC` or Postgres's `23505`.
 *
 * @since 0.1.0
 */
import { hasProperty } from "effect/Predicate"

/**
 * The code of the error. Undefined if it has none that is text, as with errors of a browser.
 *
 * @category getters
 * @since 0.1.0
 */
export const of = (error: unknown): string | undefined =>
  hasProperty(error, "code") && typeof error.code === "string" ? error.code : undefined
