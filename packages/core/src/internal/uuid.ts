import * as Schema from "effect/Schema"

/**
 * The shape of a UUID, of any version and variant. So an identifier that nothing has is a 404 or a
 * 403, not a 400.
 */
export const isUuid = Schema.isGUID({
  expected: "a UUID",
  toJsonSchema: () => ({ pattern: "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$", format: "uuid" })
})
