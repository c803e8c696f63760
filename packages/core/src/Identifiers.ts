/**
 * Identifiers and other small values on the wire, with the specification's bounds.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import { isMaxBytes } from "./internal/bounds.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import { isUuid } from "./internal/uuid.ts"

/**
 * A file's identifier: 1 to 256 letters, digits, underscores or hyphens.
 *
 * Specification: "DELETE /files/{file_id}".
 *
 * @category schemas
 * @since 0.1.0
 */
export const FileId = Schema.String.check(
  Schema.isPattern(/^[\w-]{1,256}$/u, {
    expected: "1 to 256 letters, digits, underscores or hyphens"
  })
)

/**
 * A workspace's identifier: a UUID. Default: the caller's default workspace.
 *
 * Specification: "DELETE /files/{file_id}".
 *
 * @category schemas
 * @since 0.1.0
 */
export const WorkspaceId = Schema.String.check(isUuid)

/**
 * A workspace's `id` (a UUID) or its `slug`: 1 to 64 letters, digits and hyphens.
 *
 * @category schemas
 * @since 0.1.0
 */
export const WorkspaceRef = Schema.String.check(
  Schema.isPattern(/^[a-zA-Z\d-]{1,64}$/u, { expected: "a UUID or a slug: 1 to 64 letters, digits and hyphens" })
)

/**
 * What a management key may do. A viewer reads all but the settings. An operator also changes keys, guardrails, credits,
 * files and video jobs. An admin also changes everything else, such as workspaces and provider
 * keys.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Role = Schema.Literals(["viewer", "operator", "admin"])

/**
 * @category models
 * @since 0.1.0
 */
export type Role = typeof Role.Type

/**
 * A guardrail's identifier: a UUID.
 *
 * Specification: "POST /guardrails/{id}/assignments/keys".
 *
 * @category schemas
 * @since 0.1.0
 */
export const GuardrailId = Schema.String.check(isUuid)

/**
 * The identifier of a stored provider key: a UUID.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ByokKeyId = Schema.String.check(isUuid)

/**
 * The hash that identifies an API key: its SHA-256 in 64 hexadecimal digits. The specification only
 * requires at least one character, so text that is not a hash counts as an unknown key, not as
 * malformed.
 *
 * Specification: "POST /guardrails/{id}/assignments/keys".
 *
 * @category schemas
 * @since 0.1.0
 */
export const KeyHash = Schema.String.check(Schema.isMinLength(1))

/**
 * A video job's identifier: 1 to 256 letters, digits, underscores or hyphens.
 *
 * Specification: "Video job".
 *
 * @category schemas
 * @since 0.1.0
 */
export const VideoId = Schema.String.check(
  Schema.isPattern(/^[\w-]{1,256}$/u, {
    expected: "1 to 256 letters, digits, underscores or hyphens"
  })
)

/**
 * The caller's identifier for its end user: at most 256 characters. It is sent to broadcast
 * destinations and private logs, never to a provider.
 *
 * Specification: "Tracing metadata and end user".
 *
 * @category schemas
 * @since 0.1.0
 */
export const EndUser = Schema.String.check(isMaxCharacters(256))

/**
 * The name of a key, a guardrail or a workspace: 1 to 256 characters.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Name = Schema.String.check(Schema.isMinLength(1), isMaxCharacters(256))

/**
 * A model's identifier in a request, as GET `/models` lists it: 1 to 256 characters without control
 * characters and unpaired surrogates. With a model such as `tei/*`, callers choose the rest of the
 * identifier, and databases index it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ModelId = Schema.String.check(
  Schema.isMinLength(1),
  isMaxCharacters(256),
  // Postgres cannot read JSON with half of a surrogate pair. A filter, because not every language
  // that reads the OpenAPI document knows these classes in a pattern.
  Schema.makeFilter((text: string) => /^[^\p{Cc}\p{Cs}]*$/u.test(text), {
    expected: "text without control characters"
  })
)

/**
 * A URL that starts with `https://`, at most 2 KiB.
 *
 * @category schemas
 * @since 0.1.0
 */
export const HttpsUrl = Schema.String.check(
  Schema.isPattern(/^https:\/\/[^\s/]\S*$/i, { expected: "an https:// URL" }),
  isMaxBytes(2048)
)

/**
 * A time in ISO 8601, in UTC with `Z`, such as `2026-11-20T22:30:00.000Z`.
 *
 * Specification: "Key record".
 *
 * @category schemas
 * @since 0.1.0
 */
export const Timestamp = Schema.String.check(
  Schema.isPattern(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$/u, {
    expected: "an ISO 8601 time in UTC that ends in Z"
  })
)

/**
 * Identifies one submission, so that a repeated request returns the first response: 1 to 255
 * printable ASCII characters in the `Idempotency-Key` header. The service keeps the response for 24
 * hours.
 *
 * @category schemas
 * @since 0.1.0
 */
export const IdempotencyKey = Schema.String.check(
  Schema.isPattern(/^[\x20-\x7e]{1,255}$/u, {
    expected: "1 to 255 printable ASCII characters"
  })
)

/**
 * A number in a query or a form, in decimal digits, such as `5`, `0.5` or `1e-3`. `""` and `0x10`
 * are rejected.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Decimal = Schema.String.check(
  Schema.isPattern(/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i, { expected: "a number in decimal digits" })
).pipe(Schema.decodeTo(Schema.FiniteFromString))

/**
 * `true` or `false` in a query.
 *
 * @category schemas
 * @since 0.1.0
 */
export const BooleanText = Schema.Literals(["true", "false"]).pipe(
  Schema.decodeTo(Schema.Boolean, {
    decode: SchemaGetter.transform((text) => text === "true"),
    encode: SchemaGetter.transform((flag): "true" | "false" => (flag ? "true" : "false"))
  })
)

/**
 * The query parameter that selects a workspace. Default: the caller's default workspace.
 *
 * Specification: "DELETE /files/{file_id}".
 *
 * @category schemas
 * @since 0.1.0
 */
export const WorkspaceScope = { workspace_id: Schema.optionalKey(WorkspaceId) }

/**
 * Query parameters that select a page of a list: `limit` items (1 to 1000, default 100) that follow
 * the item `after`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Page = {
  /** Identifier of the item that the page follows. Default: the page starts at the first item. */
  after: Schema.optionalKey(Schema.String.check(isMaxCharacters(256))),
  /** The maximum number of items, 1 to 1000. Default: 100. */
  limit: Schema.optionalKey(Decimal.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: 1000 })))
}

/**
 * Query parameters that select a page of a list by position: at most `limit` items after the first
 * `offset` items.
 *
 * @category schemas
 * @since 0.1.0
 */
export const OffsetPage = {
  /** The number of items to skip: 0 to 1,000,000. Default: 0. */
  offset: Schema.optionalKey(Decimal.check(Schema.isInt(), Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))),
  /** The maximum number of items, 1 to 100. Default: 50. */
  limit: Schema.optionalKey(Decimal.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: 100 })))
}

const maxDepth = 100

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
 * JSON of any shape, passed on unchanged and nested at most 100 levels deep. The bound keeps
 * recursive encoders from overflowing the stack.
 *
 * In the OpenAPI document it is `Schema.Json`. A single pass checks shape and depth, five times
 * faster than `Schema.Json` with a separate depth check.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FreeForm: Schema.Codec<Schema.Json> = Schema.declare(
  (value): value is Schema.Json => isShallowJson(value, maxDepth),
  {
    representation: { id: "effect/schema/Json", payload: null },
    expected: `JSON that is nested at most ${maxDepth} levels deep`,
    toCodecJson: () => undefined
  }
)
