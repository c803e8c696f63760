/** The path below which the service is served. */
import { Schema } from "effect"

/** Segments that need no encoding and begin with no dot, and no slash at the end. */
export const BasePath = Schema.String.check(
  Schema.isPattern(/^(?:\/[\w~-][\w.~-]*)+$/),
  // Longer than any real one, and far from the limit of a request's head.
  Schema.isMaxLength(256)
)
