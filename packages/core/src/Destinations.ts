/**
 * Broadcast destinations: `/observability/destinations`, for management keys. Each finished request
 * of a workspace is sent to its destinations as a trace or as a signed webhook.
 *
 * An addition to the specification, which says what the tracing metadata and the end-user
 * identifier are sent to. Its shapes are those of OpenRouter's API.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import type { GatewayClient, OffsetPageOptions } from "./GatewayClient.ts"
import { FreeForm, KeyHash, Name, OffsetPage, Timestamp, WorkspaceId, WorkspaceScope } from "./Identifiers.ts"
import { isMaxBytes, isMaxItems } from "./internal/bounds.ts"
import { call, dataOf } from "./internal/call.ts"
import { managementErrors } from "./internal/errorSets.ts"
import { isUuid } from "./internal/uuid.ts"
import * as Operation from "./Operation.ts"
import type { Written } from "./internal/written.ts"

/**
 * The supported kinds of destinations: an OpenTelemetry collector over OTLP/HTTP, and a webhook.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DestinationType = Schema.Literals(["otel-collector", "webhook"])

/**
 * @category models
 * @since 0.1.0
 */
export type DestinationType = typeof DestinationType.Type

const url = Schema.String.check(isMaxBytes(2048))

const HeaderName = Schema.String.check(
  Schema.isPattern(/^[\w!#$%&'*+.^`|~-]{1,128}$/, { expected: "the name of an HTTP header, at most 128 characters" })
)

const headers = Schema.Record(
  Schema.String,
  Schema.String.check(
    Schema.isPattern(/^[\x21-\x7e]([\x20-\x7e]{0,4094}[\x21-\x7e])?$/u, {
      expected: "1 to 4096 printable ASCII characters"
    })
  )
).check(
  // Not the schema of the record's keys, which would drop other names without an error.
  Schema.isPropertyNames(HeaderName),
  Schema.isMaxProperties(32, { expected: "at most 32 headers" })
)

/** `whsec_` and 24 to 64 bytes in base64, or the asterisks of a response. */
const secretPattern =
  /^(whsec_([A-Za-z0-9+/]{4}){8,20}([A-Za-z0-9+/]{2}(==)?|[A-Za-z0-9+/]{3}=?)?|whsec_([A-Za-z0-9+/]{4}){21}([A-Za-z0-9+/]{2}(==)?)?|\*+)$/u

const config = {
  /** The traces endpoint of an `otel-collector`, such as `https://collector.example/v1/traces`. */
  endpoint: Schema.optionalKey(url),
  /** Where a `webhook` is sent: a URL of at most 2 KiB. */
  url: Schema.optionalKey(url),
  /** Of a `webhook`. Default: POST. */
  method: Schema.optionalKey(Schema.Literals(["POST", "PUT"])),
  /** Headers to send, at most 32. Responses show asterisks in place of their values. */
  headers: Schema.optionalKey(headers),
  /**
   * The secret that signs a `webhook`: `whsec_` and 24 to 64 bytes in base64. Default: a new one.
   * Responses show asterisks in place of it.
   */
  signing_secret: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(secretPattern, { expected: "whsec_ and 24 to 64 bytes in base64" }))
  )
}

/**
 * Where a destination is and how it is called. `endpoint` is for an `otel-collector`; `url`,
 * `method` and `signing_secret` are for a `webhook`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Config = Schema.Struct(config)

/**
 * @category models
 * @since 0.1.0
 */
export type Config = { [Field in keyof typeof Config.Type]: (typeof Config.Type)[Field] }

/**
 * A condition on an event. `total_cost` is in credits. `regex` is not supported.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FilterRule = Schema.Struct({
  /** What the rule compares. */
  field: Schema.Literals([
    "model",
    "provider",
    "user_id",
    "total_cost",
    "total_tokens",
    "prompt_tokens",
    "completion_tokens"
  ]),
  /** How it is compared. `gt`, `lt`, `gte` and `lte` are for numbers. */
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
  /** What it is compared with. Required, except for `exists` and `not_exists`. */
  value: Schema.optionalKey(Schema.Union([Schema.String.check(isMaxBytes(1024)), Schema.Finite]))
}).check(
  Schema.makeFilter(({ operator, value }) => value !== undefined || operator.endsWith("exists"), {
    expected: "a value for this operator"
  })
)

/**
 * Which events are sent. An event is sent if it matches at least one group. Without groups, every
 * event is sent.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FilterRules = Schema.Struct({
  /** Whether the rules apply. Default: true. */
  enabled: Schema.optionalKey(Schema.Boolean),
  /** The groups of rules, at most 20. */
  groups: Schema.Array(
    Schema.Struct({
      /** Whether an event must match all rules of the group, or at least one. Default: `and`. */
      logic: Schema.optionalKey(Schema.Literals(["and", "or"])),
      /** The rules of the group, at most 50. */
      rules: Schema.Array(FilterRule).check(isMaxItems(50))
    })
  ).check(isMaxItems(20))
})

/**
 * @category models
 * @since 0.1.0
 */
export type FilterRules = typeof FilterRules.Type

const options = {
  /** The hashes of the API keys whose events are sent, 1 to 1000. Null: all of the workspace. */
  api_key_hashes: Schema.optionalKey(
    Schema.NullOr(Schema.Array(KeyHash).check(Schema.isMinLength(1), isMaxItems(1000)))
  ),
  /** Whether events say if the caller's provider key was used. Default: false. */
  broadcast_generation_cost: Schema.optionalKey(Schema.Boolean),
  /** Whether events have the hash of the API key. Default: false. */
  broadcast_generation_identity: Schema.optionalKey(Schema.Boolean),
  /** Whether events have the callback URL of a video job. Default: false. */
  broadcast_generation_request_context: Schema.optionalKey(Schema.Boolean),
  /** Whether events are sent. Default: true. */
  enabled: Schema.optionalKey(Schema.Boolean),
  /** Which events are sent. Null: all. */
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
 * @category schemas
 * @since 0.1.0
 */
export const CreateRequest = Schema.Struct({
  ...options,
  /** Its name, 1 to 256 characters. */
  name: Name,
  type: DestinationType,
  config: Config,
  /** Default: the caller's default workspace. */
  workspace_id: Schema.optionalKey(WorkspaceId)
})

/**
 * @category models
 * @since 0.1.0
 */
export type CreateRequest = { [Field in keyof typeof CreateRequest.Type]: Written<typeof CreateRequest.Type, Field> }

/**
 * The fields to change. Omitted fields keep their values, also those of `config`. `headers` are
 * replaced together, but a header whose value is asterisks keeps its value. A destination that
 * moves to another origin needs the values of its headers again: without them, it is a 400.
 *
 * @category schemas
 * @since 0.1.0
 */
export const UpdateRequest = Schema.Struct({
  ...options,
  /** Its name, 1 to 256 characters. */
  name: Schema.optionalKey(Name),
  config: Schema.optionalKey(Config)
})

/**
 * @category models
 * @since 0.1.0
 */
export type UpdateRequest = { [Field in keyof typeof UpdateRequest.Type]: Written<typeof UpdateRequest.Type, Field> }

/**
 * How a destination is doing.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Delivery = Schema.Struct({
  /** When it accepted an event last, in ISO 8601, UTC. Null: never. */
  last_delivered_at: Schema.NullOr(Timestamp),
  /**
   * The age of the oldest event that waits for it, in seconds. 0: none has waited for 10 seconds,
   * or failed.
   */
  lag_seconds: Schema.Finite,
  /** How many events were given up or set aside since it was created. */
  dropped: Schema.Int,
  /** Why it did not accept an event last, such as `status 503`. Null: it never refused one. */
  last_error: Schema.NullOr(Schema.String),
  /** When that was, in ISO 8601, UTC. */
  last_error_at: Schema.NullOr(Timestamp)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Delivery = { [Field in keyof typeof Delivery.Type]: (typeof Delivery.Type)[Field] }

/**
 * A destination. Its secrets are shown as asterisks.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Destination = Schema.Struct({
  /** Identifier of the destination: a UUID. */
  id: Schema.String,
  /** Its name. */
  name: Schema.NullOr(Schema.String),
  /** Its kind: `otel-collector` or `webhook`. */
  type: Schema.String,
  /** The workspace whose requests are sent. */
  workspace_id: Schema.String,
  /** Whether events are sent. */
  enabled: Schema.Boolean,
  /** Where it is and how it is called, with asterisks in place of secrets. */
  config: Schema.Record(Schema.String, FreeForm),
  /** The hashes of the API keys whose events are sent. Null: all of the workspace. */
  api_key_hashes: Schema.NullOr(Schema.Array(Schema.String)),
  /** Whether events say if the caller's provider key was used. */
  broadcast_generation_cost: Schema.Boolean,
  /** Whether events have the hash of the API key. */
  broadcast_generation_identity: Schema.Boolean,
  /** Whether events have the callback URL of a video job. */
  broadcast_generation_request_context: Schema.Boolean,
  /** Which events are sent, in the form of a request. Null: all. */
  filter_rules: Schema.NullOr(FreeForm),
  /** Stored, without effect: inputs and outputs are never sent. */
  privacy_mode: Schema.Boolean,
  /** Always `global`. */
  regions: Schema.Array(Schema.String),
  /** The share of events that are sent, from 0.0001 to 1. */
  sampling_rate: Schema.Finite,
  /** When it was created, in ISO 8601, UTC. */
  created_at: Timestamp,
  /** When it was last changed, in ISO 8601, UTC. */
  updated_at: Timestamp,
  /** How it is doing. */
  delivery: Schema.optionalKey(Delivery)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Destination = { [Field in keyof typeof Destination.Type]: (typeof Destination.Type)[Field] }

/**
 * The new destination.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CreateResponse = Schema.Struct({
  data: Destination,
  /** The signing secret of a webhook, if it was made here. It is never returned again. */
  signing_secret: Schema.optionalKey(Schema.String)
})

/**
 * @category models
 * @since 0.1.0
 */
export type CreateResponse = { [Field in keyof typeof CreateResponse.Type]: (typeof CreateResponse.Type)[Field] }

/**
 * The destination.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Response = Schema.Struct({ data: Destination })

/**
 * @category models
 * @since 0.1.0
 */
export type Response = { [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field] }

/**
 * A page of destinations.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListResponse = Schema.Struct({
  /** The destinations of this page, newest first. */
  data: Schema.Array(Destination),
  /** The number of destinations of the workspace, on all pages. */
  total_count: Schema.Int
})

/**
 * @category models
 * @since 0.1.0
 */
export type ListResponse = { [Field in keyof typeof ListResponse.Type]: (typeof ListResponse.Type)[Field] }

/**
 * The confirmation that the destination was deleted.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DeleteResponse = Schema.Struct({
  /** Always true. */
  deleted: Schema.Literal(true)
})

/**
 * @category models
 * @since 0.1.0
 */
export type DeleteResponse = { [Field in keyof typeof DeleteResponse.Type]: (typeof DeleteResponse.Type)[Field] }

/**
 * What became of a test event.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TestResult = Schema.Struct({
  /** Whether the destination accepted the event, with a 2xx within 15 seconds. */
  accepted: Schema.Boolean,
  /** Why it did not, such as `status 401` or `ECONNREFUSED`. Null: it did. */
  error: Schema.NullOr(Schema.String),
  /** How long it took, in milliseconds. */
  duration_ms: Schema.Finite,
  /** The id of the event. It begins with `evt_test_`. */
  event_id: Schema.String
})

/**
 * @category models
 * @since 0.1.0
 */
export type TestResult = { [Field in keyof typeof TestResult.Type]: (typeof TestResult.Type)[Field] }

/**
 * What became of the test event.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TestResponse = Schema.Struct({ data: TestResult })

/**
 * @category models
 * @since 0.1.0
 */
export type TestResponse = { [Field in keyof typeof TestResponse.Type]: (typeof TestResponse.Type)[Field] }

const destination = {
  /** Identifier of the destination: a UUID. */
  id: Schema.String.check(isUuid)
}

const exampleId = "8f14e45f-ceea-467f-9a3b-5a2d7c1e6f02"

const exampleDestination = () => ({
  id: exampleId,
  name: "Traces",
  type: "otel-collector",
  workspace_id: "6b1f3c1e-3b0a-4c55-9f0e-2d5a7c9e1b11",
  enabled: true,
  config: { endpoint: "https://collector.example/v1/traces", headers: { authorization: "********" } },
  api_key_hashes: null,
  broadcast_generation_cost: false,
  broadcast_generation_identity: false,
  broadcast_generation_request_context: false,
  filter_rules: null,
  privacy_mode: false,
  regions: ["global"],
  sampling_rate: 1,
  created_at: "2026-11-20T22:30:00.000Z",
  updated_at: "2026-11-20T22:30:00.000Z",
  delivery: {
    last_delivered_at: "2026-11-20T23:02:11.000Z",
    lag_seconds: 0,
    dropped: 0,
    last_error: null,
    last_error_at: null
  }
})

/**
 * @category operations
 * @since 0.1.0
 */
export const createDestinationOperation = Operation.make("createDestination", "POST", "/observability/destinations", {
  access: "management key",
  needsRecentSignIn: true,
  success: CreateResponse.annotate({ httpApiStatus: 201 }),
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const createDestinationEndpoint = Operation.endpoint(createDestinationOperation, () => ({
  payload: CreateRequest,
  reference: {
    summary: "Create a destination",
    example: {
      request: {
        name: "Traces",
        type: "otel-collector",
        config: {
          endpoint: "https://collector.example/v1/traces",
          headers: { authorization: "Basic of-your-collector" }
        }
      },
      response: { data: exampleDestination() }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const listDestinationsOperation = Operation.make("listDestinations", "GET", "/observability/destinations", {
  access: "management key",
  scope: "workspace",
  success: ListResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listDestinationsEndpoint = Operation.endpoint(listDestinationsOperation, () => ({
  query: {
    ...WorkspaceScope,
    ...OffsetPage
  },
  reference: {
    summary: "List destinations",
    example: { response: { data: [exampleDestination()], total_count: 1 } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const getDestinationOperation = Operation.make("getDestination", "GET", "/observability/destinations/:id", {
  access: "management key",
  scope: "workspace",
  success: Response,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const getDestinationEndpoint = Operation.endpoint(getDestinationOperation, () => ({
  params: destination,
  reference: {
    summary: "Get a destination",
    example: { params: { id: exampleId }, response: { data: exampleDestination() } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const updateDestinationOperation = Operation.make(
  "updateDestination",
  "PATCH",
  "/observability/destinations/:id",
  {
    access: "management key",
    success: Response,
    error: managementErrors
  }
)

/**
 * @category endpoints
 * @since 0.1.0
 */
export const updateDestinationEndpoint = Operation.endpoint(updateDestinationOperation, () => ({
  params: destination,
  payload: UpdateRequest,
  reference: {
    summary: "Change a destination",
    example: {
      params: { id: exampleId },
      request: { sampling_rate: 0.1 },
      response: { data: { ...exampleDestination(), sampling_rate: 0.1 } }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const deleteDestinationOperation = Operation.make(
  "deleteDestination",
  "DELETE",
  "/observability/destinations/:id",
  {
    access: "management key",
    success: DeleteResponse,
    error: managementErrors
  }
)

/**
 * @category endpoints
 * @since 0.1.0
 */
export const deleteDestinationEndpoint = Operation.endpoint(deleteDestinationOperation, () => ({
  params: destination,
  reference: {
    summary: "Delete a destination",
    example: { params: { id: exampleId }, response: { deleted: true } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const testDestinationOperation = Operation.make(
  "testDestination",
  "POST",
  "/observability/destinations/:id/test",
  {
    access: "management key",
    success: TestResponse,
    error: managementErrors
  }
)

/**
 * @category endpoints
 * @since 0.1.0
 */
export const testDestinationEndpoint = Operation.endpoint(testDestinationOperation, () => ({
  params: destination,
  reference: {
    summary: "Test a destination",
    example: {
      params: { id: exampleId },
      response: {
        data: {
          accepted: false,
          error: "status 401",
          duration_ms: 84,
          event_id: "evt_test_019aab3e5c7f7d3e9a41c2f0b6d84e11"
        }
      }
    }
  }
}))

/**
 * The errors of the functions of this module.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof getDestinationOperation> | ClientError

/**
 * Selects the destinations to list.
 *
 * @category options
 * @since 0.1.0
 */
export interface ListOptions extends OffsetPageOptions {
  readonly workspace_id?: string | undefined
}

/**
 * Creates a destination. It gets a record of every paid request of the workspace from now on.
 *
 * @example
 * ```ts
 * import { Destinations } from "@model-gateway/core"
 *
 * const created = Destinations.createDestination({
 *   name: "Traces",
 *   type: "otel-collector",
 *   config: { endpoint: "https://collector.example/v1/traces" }
 * })
 * ```
 *
 * @category calls
 * @since 0.1.0
 */
export const createDestination = (request: CreateRequest): Effect.Effect<CreateResponse, Failure, GatewayClient> =>
  call(createDestinationOperation, { json: request })

/**
 * Lists the destinations of a workspace, newest first.
 *
 * @category calls
 * @since 0.1.0
 */
export const listDestinations = (options: ListOptions = {}): Effect.Effect<ListResponse, Failure, GatewayClient> =>
  call(listDestinationsOperation, { query: { ...options } })

/**
 * Returns a destination, with asterisks in place of its secrets.
 *
 * @category calls
 * @since 0.1.0
 */
export const getDestination = (id: string): Effect.Effect<Destination, Failure, GatewayClient> =>
  dataOf(call(getDestinationOperation, { params: { id } }))

/**
 * Changes a destination. Omitted fields keep their values.
 *
 * @category calls
 * @since 0.1.0
 */
export const updateDestination = (
  id: string,
  request: UpdateRequest
): Effect.Effect<Destination, Failure, GatewayClient> =>
  dataOf(call(updateDestinationOperation, { params: { id }, json: request }))

/**
 * Deletes a destination. Events that were not delivered yet are not delivered.
 *
 * @category calls
 * @since 0.1.0
 */
export const deleteDestination = (id: string): Effect.Effect<void, Failure, GatewayClient> =>
  Effect.asVoid(call(deleteDestinationOperation, { params: { id } }))

/**
 * Sends one event to a destination at once, also if it is not enabled, and returns what became of
 * it. The event has the form of a rerank of the model `model-gateway/test` that cost nothing.
 * Filters and the sampling rate do not apply.
 *
 * @category calls
 * @since 0.1.0
 */
export const testDestination = (id: string): Effect.Effect<TestResult, Failure, GatewayClient> =>
  dataOf(call(testDestinationOperation, { params: { id } }))
