/**
 * The request log: what each paid request cost, who served it, and how long it took. GET
 * `/generation` reads one entry, GET `/generations` lists them.
 *
 * An addition to the specification, which does not describe these operations. GET `/generation` has
 * the fields that the public API of this family has. Those that make no sense here are null.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Decimal, KeyHash, Page, Timestamp, WorkspaceScope } from "./Identifiers.ts"
import { call } from "./internal/call.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import { managementErrors } from "./internal/errorSets.ts"
import { Attempt, getGeneration, orNull, Status } from "./internal/generation.ts"
import * as Operation from "./Operation.ts"

export { Attempt, Generation, getGeneration, Response, Status } from "./internal/generation.ts"

/**
 * An entry of the request log.
 *
 * @since 0.1.0
 */
export const Entry = Schema.Struct({
  /** The generation id. It is the `id` of a rerank response. */
  id: Schema.String,
  /** When the request was admitted. */
  created_at: Timestamp,
  workspace_id: Schema.String,
  key_hash: Schema.String,
  /** `rerank`, `transcription` or `video`. */
  operation: Schema.String,
  model: Schema.String,
  status: Status,
  /** The HTTP status of the error that the caller got; 499 if the caller disconnected. */
  error_status: Schema.NullOr(Schema.Int),
  /** The provider that served it, or the last one that was tried. */
  provider: orNull.string,
  /** The model as the provider names it. */
  upstream_model: orNull.string,
  /** The video job that it belongs to. */
  video_id: orNull.string,
  is_byok: Schema.Boolean,
  /** Credits. */
  cost: Schema.Finite,
  /** Counts such as `search_units`, `total_tokens` or `seconds`. */
  usage: Schema.Record(Schema.String, Schema.Finite),
  /** From its admission to its end. */
  duration_ms: Schema.Finite,
  /**
   * In the order in which they were made. Those of a video job are its submissions: the first 5 and
   * the latest 20.
   */
  attempts: Schema.Array(Attempt)
})

/** @since 0.1.0 */
export type Entry = { [Field in keyof typeof Entry.Type]: (typeof Entry.Type)[Field] }

/**
 * A page of the request log. It looks at a limited number of requests, so a page of a filtered log
 * may have fewer entries than `limit`, or none. Continue with `next` as `after` until it is null.
 *
 * @since 0.1.0
 */
export const ListResponse = Schema.Struct({
  data: Schema.Array(Entry),
  /** Whether the log goes on after this page: `next` is not null. */
  has_more: Schema.Boolean,
  next: orNull.string
})

/** @since 0.1.0 */
export type ListResponse = { [Field in keyof typeof ListResponse.Type]: (typeof ListResponse.Type)[Field] }

/**
 * The request of {@link getGeneration}.
 *
 * @since 0.1.0
 */
export const getGenerationEndpoint = Operation.endpoint(getGeneration, () => ({
  query: { id: Schema.String.check(Schema.isMinLength(1), isMaxCharacters(256)) }
}))

/**
 * GET `/generations`: 200, or one of 400 401 403 404 500. Newest first. Management keys only.
 *
 * @since 0.1.0
 */
export const listGenerations = Operation.make("listGenerations", "GET", "/generations", {
  access: "management key",
  success: ListResponse,
  error: managementErrors
})

const Name = Schema.String.check(Schema.isMinLength(1), isMaxCharacters(256))

/**
 * The request of {@link listGenerations}.
 *
 * @since 0.1.0
 */
export const listGenerationsEndpoint = Operation.endpoint(listGenerations, () => ({
  query: {
    ...Page,
    ...WorkspaceScope,
    key_hash: Schema.optionalKey(KeyHash),
    model: Schema.optionalKey(Name),
    provider: Schema.optionalKey(Name),
    status: Schema.optionalKey(Status),
    error_status: Schema.optionalKey(Decimal.check(Schema.isInt(), Schema.isBetween({ minimum: 400, maximum: 599 }))),
    /** Requests admitted at this time or later. */
    from: Schema.optionalKey(Timestamp),
    /** Requests admitted before this time. */
    to: Schema.optionalKey(Timestamp)
  }
}))

/**
 * Selects entries of the request log. `after` is the `next` of the page before.
 *
 * @since 0.1.0
 */
export interface ListOptions {
  readonly after?: string | undefined
  /** 1 to 1000. Default: 100. */
  readonly limit?: number | undefined
  readonly workspace_id?: string | undefined
  readonly key_hash?: string | undefined
  readonly model?: string | undefined
  readonly provider?: string | undefined
  readonly status?: Status | undefined
  readonly error_status?: number | undefined
  /** Requests admitted at this time or later, in ISO 8601 with `Z`. */
  readonly from?: string | undefined
  /** Requests admitted before this time. */
  readonly to?: string | undefined
}

/**
 * Returns what one paid request cost, who served it, and how long it took.
 *
 * @since 0.1.0
 */
export const get = Effect.fnUntraced(function* (id: string) {
  const { data } = yield* call(getGeneration, { query: { id } })
  return data
})

/**
 * Lists paid requests, newest first.
 *
 * @example
 * ```ts
 * import { Generations } from "@model-gateway/core"
 *
 * const overloaded = Generations.list({ status: "failed", error_status: 529 })
 * ```
 *
 * @since 0.1.0
 */
export const list = Effect.fnUntraced(function* (options: ListOptions = {}) {
  return yield* call(listGenerations, { query: { ...options } })
})
