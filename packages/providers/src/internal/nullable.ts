/** A field of an answer that upstreams leave out or send as null. */
import { Schema } from "effect"

/** The field may be absent or null. */
export const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))
