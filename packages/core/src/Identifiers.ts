/**
 * Identifiers as they stand on the wire, with the bounds the specification sets.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { isMaxCharacters } from "./internal/characters.ts"

/**
 * A file's identifier: 1 to 256 word characters or hyphens.
 *
 * Specification: "File deletion confirmation", "Limits".
 *
 * @since 0.1.0
 */
export const FileId = Schema.String.check(
  Schema.isPattern(/^[\w-]{1,256}$/, {
    expected: "1 to 256 letters, digits, underscores or hyphens"
  })
)

/**
 * A workspace's identifier: a UUID. Left out, the caller's default workspace applies.
 *
 * Specification: DELETE `/files/{file_id}`.
 *
 * @since 0.1.0
 */
export const WorkspaceId = Schema.String.check(Schema.isUUID())

/**
 * A guardrail's identifier: a UUID.
 *
 * Specification: POST `/guardrails/{id}/assignments/keys`.
 *
 * @since 0.1.0
 */
export const GuardrailId = Schema.String.check(Schema.isUUID())

/**
 * The hash that names an API key: its SHA-256 in 64 hexadecimal digits. On the
 * wire the specification asks only for at least one character; a hash that is
 * none is unknown, not malformed.
 *
 * Specification: POST `/guardrails/{id}/assignments/keys`.
 *
 * @since 0.1.0
 */
export const KeyHash = Schema.String.check(Schema.isMinLength(1))

/**
 * A video job's identifier: 1 to 256 word characters or hyphens.
 *
 * Specification: "Video job".
 *
 * @since 0.1.0
 */
export const VideoId = Schema.String.check(
  Schema.isPattern(/^[\w-]{1,256}$/, {
    expected: "1 to 256 letters, digits, underscores or hyphens"
  })
)

/**
 * The caller's own name for its end user: at most 256 characters. It reaches
 * broadcast destinations and private logs, never a provider.
 *
 * Specification: "end-user identifier", "Limits".
 *
 * @since 0.1.0
 */
export const EndUser = Schema.String.check(isMaxCharacters(256))

/**
 * A moment: ISO 8601 in UTC with `Z`, as `2026-11-20T22:30:00.000Z`.
 *
 * Specification: "Key record", `expires_at`.
 *
 * @since 0.1.0
 */
export const Timestamp = Schema.String.check(
  Schema.isPattern(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$/, {
    expected: "an ISO 8601 time in UTC that ends in Z"
  })
)

/**
 * Names one submission, so that sending it again answers the first answer again:
 * 1 to 255 printable ASCII characters, in the `Idempotency-Key` header, kept 24 hours.
 *
 * @since 0.1.0
 */
export const IdempotencyKey = Schema.String.check(
  Schema.isPattern(/^[\x20-\x7e]{1,255}$/, {
    expected: "1 to 255 printable ASCII characters"
  })
)

/**
 * A number in a query or a form, in decimal digits, as `5`, `0.5` or `1e-3`: neither `""` nor `0x10` is one.
 *
 * @since 0.1.0
 */
export const Decimal = Schema.String.check(
  Schema.isPattern(/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i, { expected: "a number in decimal digits" })
).pipe(Schema.decodeTo(Schema.FiniteFromString))

/**
 * A page of a list: `limit` items (1 to 1000, 100 unless told) that come after
 * the one named `after`.
 *
 * @since 0.1.0
 */
export const Page = {
  after: Schema.optionalKey(Schema.String.check(isMaxCharacters(256))),
  limit: Schema.optionalKey(Decimal.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: 1000 })))
}

const deepest = 100

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

const isShallowJson = (value: unknown, levels: number): value is Schema.Json => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true
    case "number":
      return Number.isFinite(value)
    case "object":
      if (value === null) return true
      if (levels === 0) return false
      if (Array.isArray(value)) return value.every((item) => isShallowJson(item, levels - 1))
      return isPlain(value) && Object.values(value).every((member) => isShallowJson(member, levels - 1))
    default:
      return false
  }
}

/**
 * JSON in the caller's own shape, passed on as it is; nested at most 100 levels
 * deep, which everything that keeps or forwards it can write down again.
 *
 * To the documentation it is `Schema.Json`; one walk checks shape and depth, which takes a fifth of
 * the time.
 *
 * @since 0.1.0
 */
export const FreeForm: Schema.Codec<Schema.Json> = Schema.declare(
  (value): value is Schema.Json => isShallowJson(value, deepest),
  {
    representation: { id: "effect/schema/Json", payload: null },
    expected: `JSON that is nested at most ${deepest} levels deep`,
    toCodecJson: () => undefined
  }
)
