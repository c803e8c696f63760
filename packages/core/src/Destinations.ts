/**
 * Broadcast destinations: `/observability/destinations`, for management keys. Each finished request
 * of a workspace is sent to its destinations as a trace or as a signed webhook.
 *
 * An addition to the specification, which says what the tracing metadata and the end-user
 * identifier are sent to. The shapes are those that the public gateway of this API family
 * publishes.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Decimal, FreeForm, KeyHash, Name, Timestamp, WorkspaceId, WorkspaceScope } from "./Identifiers.ts"
import { isMaxBytes, isMaxItems } from "./internal/bounds.ts"
import { call } from "./internal/call.ts"
import { managementErrors } from "./internal/errorSets.ts"
import * as Operation from "./Operation.ts"
import type { Written } from "./internal/written.ts"

/**
 * The supported kinds of destinations: an OpenTelemetry collector over OTLP/HTTP, and a webhook.
 *
 * @since 0.1.0
 */
export const DestinationType = Schema.Literals(["otel-collector", "webhook"])

/** @since 0.1.0 */
export type DestinationType = typeof DestinationType.Type

const url = Schema.String.check(isMaxBytes(2048))

const headers = Schema.Record(
  Schema.String.check(
    Schema.isPattern(/^[\w!#$%&'*+.^`|~-]{1,128}$/, { expected: "the name of an HTTP header, at most 128 characters" })
  ),
  Schema.String.check(
    Schema.isPattern(/^[\x21-\x7e]([\x20-\x7e]{0,4094}[\x21-\x7e])?$/, {
      expected: "1 to 4096 printable ASCII characters"
    })
  )
).check(Schema.isMaxProperties(32, { expected: "at most 32 headers" }))

const config = {
  /** The traces endpoint of an `otel-collector`, such as `https://collector.example/v1/traces`. */
  endpoint: Schema.optionalKey(url),
  /** Where a `webhook` is sent. */
  url: Schema.optionalKey(url),
  /** Of a `webhook`. Default: POST. */
  method: Schema.optionalKey(Schema.Literals(["POST", "PUT"])),
  /** Headers to send. Responses show asterisks in place of their values. */
  headers: Schema.optionalKey(headers),
  /**
   * The secret that signs a `webhook`: `whsec_` and 24 to 64 bytes in base64. Default: a new one.
   * Responses show asterisks in place of it.
   */
  signing_secret: Schema.optionalKey(
    Schema.String.check(
      Schema.isPattern(/^(whsec_[A-Za-z0-9+/]{32,88}={0,2}|\*+)$/, {
        expected: "whsec_ and 24 to 64 bytes in base64"
      })
    )
  )
}

/**
 * Where a destination is and how it is called. `endpoint` is for an `otel-collector`; `url`,
 * `method` and `signing_secret` are for a `webhook`.
 *
 * @since 0.1.0
 */
export const Config = Schema.Struct(config)

/** @since 0.1.0 */
export type Config = { [Field in keyof typeof Config.Type]: (typeof Config.Type)[Field] }

/**
 * A condition on an event. `total_cost` is in credits. `regex` is not supported.
 *
 * @since 0.1.0
 */
export const FilterRule = Schema.Struct({
  field: Schema.Literals([
    "model",
    "provider",
    "user_id",
    "total_cost",
    "total_tokens",
    "prompt_tokens",
    "completion_tokens"
  ]),
  operator: Schema.Literals([
    "equals",
    "not_equals",
    "contains",
    "not_contains",
    "starts_with",
    "ends_with",
    "gt",
    "lt",
    "gte",
    "lte",
    "exists",
    "not_exists"
  ]),
  /** Required, except for `exists` and `not_exists`. */
  value: Schema.optionalKey(Schema.Union([Schema.String.check(isMaxBytes(1024)), Schema.Finite]))
}).check(
  Schema.makeFilter(({ operator, value }) => value !== undefined || operator.endsWith("exists"), {
    expected: "a value for this operator"
  })
)

/**
 * Which events are sent. An event is sent if it meets one of the groups; no group: all are sent.
 *
 * @since 0.1.0
 */
export const FilterRules = Schema.Struct({
  /** Default: true. */
  enabled: Schema.optionalKey(Schema.Boolean),
  groups: Schema.Array(
    Schema.Struct({
      /** Whether an event has to meet all rules, or one. Default: `and`. */
      logic: Schema.optionalKey(Schema.Literals(["and", "or"])),
      rules: Schema.Array(FilterRule).check(isMaxItems(50))
    })
  ).check(isMaxItems(20))
})

/** @since 0.1.0 */
export type FilterRules = typeof FilterRules.Type

const options = {
  /** The hashes of the API keys whose events are sent, at least one. Null: all of the workspace. */
  api_key_hashes: Schema.optionalKey(
    Schema.NullOr(Schema.Array(KeyHash).check(Schema.isMinLength(1), isMaxItems(1000)))
  ),
  /** Whether events say if the caller's own provider key was used. Default: false. */
  broadcast_generation_cost: Schema.optionalKey(Schema.Boolean),
  /** Whether events have the hash of the API key. Default: false. */
  broadcast_generation_identity: Schema.optionalKey(Schema.Boolean),
  /** Whether events have the callback URL of a video job. Default: false. */
  broadcast_generation_request_context: Schema.optionalKey(Schema.Boolean),
  /** Default: true. */
  enabled: Schema.optionalKey(Schema.Boolean),
  /** Null: all events are sent. */
  filter_rules: Schema.optionalKey(Schema.NullOr(FilterRules)),
  /** Accepted without effect: inputs and outputs are never sent. */
  privacy_mode: Schema.optionalKey(Schema.Boolean),
  /** This gateway has one region, `global`. */
  regions: Schema.optionalKey(Schema.Array(Schema.Literal("global")).check(Schema.isMinLength(1), isMaxItems(1))),
  /**
   * The share of events that are sent, from 0.0001 to 1. Events with the same `trace_id` are sent
   * together or not at all. Default: 1.
   */
  sampling_rate: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0.0001, maximum: 1 })))
}

/**
 * A destination to create. It receives events from now on.
 *
 * @since 0.1.0
 */
export const CreateRequest = Schema.Struct({
  ...options,
  name: Name,
  type: DestinationType,
  config: Config,
  /** Default: the caller's default workspace. */
  workspace_id: Schema.optionalKey(WorkspaceId)
})

/** @since 0.1.0 */
export type CreateRequest = { [Field in keyof typeof CreateRequest.Type]: Written<typeof CreateRequest.Type, Field> }

/**
 * The fields to change. Omitted fields keep their values, also those of `config`. `headers` are
 * replaced together, but a header whose value is asterisks keeps its value.
 *
 * @since 0.1.0
 */
export const UpdateRequest = Schema.Struct({
  ...options,
  name: Schema.optionalKey(Name),
  config: Schema.optionalKey(Config)
})

/** @since 0.1.0 */
export type UpdateRequest = { [Field in keyof typeof UpdateRequest.Type]: Written<typeof UpdateRequest.Type, Field> }

/**
 * A destination. Its secrets are shown as asterisks.
 *
 * @since 0.1.0
 */
export const Destination = Schema.Struct({
  id: Schema.String,
  name: Schema.NullOr(Schema.String),
  type: Schema.String,
  workspace_id: Schema.String,
  enabled: Schema.Boolean,
  config: Schema.Record(Schema.String, FreeForm),
  api_key_hashes: Schema.NullOr(Schema.Array(Schema.String)),
  broadcast_generation_cost: Schema.Boolean,
  broadcast_generation_identity: Schema.Boolean,
  broadcast_generation_request_context: Schema.Boolean,
  filter_rules: Schema.NullOr(FreeForm),
  privacy_mode: Schema.Boolean,
  regions: Schema.Array(Schema.String),
  sampling_rate: Schema.Finite,
  created_at: Timestamp,
  updated_at: Timestamp
})

/** @since 0.1.0 */
export type Destination = { [Field in keyof typeof Destination.Type]: (typeof Destination.Type)[Field] }

/**
 * The new destination.
 *
 * @since 0.1.0
 */
export const CreateResponse = Schema.Struct({
  data: Destination,
  /** The signing secret of a webhook, if it was made here. It is never returned again. */
  signing_secret: Schema.optionalKey(Schema.String)
})

/** @since 0.1.0 */
export type CreateResponse = { [Field in keyof typeof CreateResponse.Type]: (typeof CreateResponse.Type)[Field] }

/** @since 0.1.0 */
export const Response = Schema.Struct({ data: Destination })

/** @since 0.1.0 */
export type Response = { [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field] }

/** @since 0.1.0 */
export const ListResponse = Schema.Struct({ data: Schema.Array(Destination), total_count: Schema.Int })

/** @since 0.1.0 */
export type ListResponse = { [Field in keyof typeof ListResponse.Type]: (typeof ListResponse.Type)[Field] }

/** @since 0.1.0 */
export const DeleteResponse = Schema.Struct({ deleted: Schema.Literal(true) })

/** @since 0.1.0 */
export type DeleteResponse = { [Field in keyof typeof DeleteResponse.Type]: (typeof DeleteResponse.Type)[Field] }

const destination = { id: Schema.String.check(Schema.isUUID()) }

/**
 * POST `/observability/destinations`: 201, or one of 400 401 403 404 500. Management keys only,
 * like all of `/observability/destinations`.
 *
 * @since 0.1.0
 */
export const createDestination = Operation.make("createDestination", "POST", "/observability/destinations", {
  access: "management key",
  success: CreateResponse.annotate({ httpApiStatus: 201 }),
  error: managementErrors
})

/**
 * The request of {@link createDestination}.
 *
 * @since 0.1.0
 */
export const createDestinationEndpoint = Operation.endpoint(createDestination, () => ({ payload: CreateRequest }))

/**
 * GET `/observability/destinations`: 200, or one of 400 401 403 404 500. Newest first.
 *
 * @since 0.1.0
 */
export const listDestinations = Operation.make("listDestinations", "GET", "/observability/destinations", {
  access: "management key",
  success: ListResponse,
  error: managementErrors
})

/**
 * The request of {@link listDestinations}.
 *
 * @since 0.1.0
 */
export const listDestinationsEndpoint = Operation.endpoint(listDestinations, () => ({
  query: {
    ...WorkspaceScope,
    /** The number of destinations to skip. Default: 0. */
    offset: Schema.optionalKey(Decimal.check(Schema.isInt(), Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))),
    /** 1 to 100. Default: 50. */
    limit: Schema.optionalKey(Decimal.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: 100 })))
  }
}))

/**
 * GET `/observability/destinations/{id}`: 200, or one of 400 401 403 404 500.
 *
 * @since 0.1.0
 */
export const getDestination = Operation.make("getDestination", "GET", "/observability/destinations/:id", {
  access: "management key",
  success: Response,
  error: managementErrors
})

/**
 * The request of {@link getDestination}.
 *
 * @since 0.1.0
 */
export const getDestinationEndpoint = Operation.endpoint(getDestination, () => ({ params: destination }))

/**
 * PATCH `/observability/destinations/{id}`: 200, or one of 400 401 403 404 500.
 *
 * @since 0.1.0
 */
export const updateDestination = Operation.make("updateDestination", "PATCH", "/observability/destinations/:id", {
  access: "management key",
  success: Response,
  error: managementErrors
})

/**
 * The request of {@link updateDestination}.
 *
 * @since 0.1.0
 */
export const updateDestinationEndpoint = Operation.endpoint(updateDestination, () => ({
  params: destination,
  payload: UpdateRequest
}))

/**
 * DELETE `/observability/destinations/{id}`: 200, or one of 400 401 403 404 500. Events that were
 * not delivered yet are not delivered.
 *
 * @since 0.1.0
 */
export const deleteDestination = Operation.make("deleteDestination", "DELETE", "/observability/destinations/:id", {
  access: "management key",
  success: DeleteResponse,
  error: managementErrors
})

/**
 * The request of {@link deleteDestination}.
 *
 * @since 0.1.0
 */
export const deleteDestinationEndpoint = Operation.endpoint(deleteDestination, () => ({ params: destination }))

/**
 * Selects the destinations to list.
 *
 * @since 0.1.0
 */
export interface ListOptions {
  readonly workspace_id?: string | undefined
  readonly offset?: number | undefined
  readonly limit?: number | undefined
}

/**
 * Creates a destination.
 *
 * @example
 * ```ts
 * import { Destinations } from "@model-gateway/core"
 *
 * const created = Destinations.create({
 *   name: "Traces",
 *   type: "otel-collector",
 *   config: { endpoint: "https://collector.example/v1/traces" }
 * })
 * ```
 *
 * @since 0.1.0
 */
export const create = Effect.fnUntraced(function* (request: CreateRequest) {
  return yield* call(createDestination, { json: request })
})

/**
 * Lists the destinations of a workspace, newest first.
 *
 * @since 0.1.0
 */
export const list = Effect.fnUntraced(function* (options: ListOptions = {}) {
  return yield* call(listDestinations, { query: { ...options } })
})

/** @since 0.1.0 */
export const get = Effect.fnUntraced(function* (id: string) {
  const { data } = yield* call(getDestination, { params: { id } })
  return data
})

/** @since 0.1.0 */
export const update = Effect.fnUntraced(function* (id: string, request: UpdateRequest) {
  const { data } = yield* call(updateDestination, { params: { id }, json: request })
  return data
})

/** @since 0.1.0 */
export const remove = Effect.fnUntraced(function* (id: string) {
  yield* call(deleteDestination, { params: { id } })
})
