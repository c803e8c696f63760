/**
 * Reservations: the credits that requests in progress hold, and those that a crash left to check.
 * Settles or dismisses the latter.
 *
 * An addition to the specification, which does not describe these operations.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import type { GatewayClient } from "./GatewayClient.ts"
import { Name, Timestamp } from "./Identifiers.ts"
import { call, dataOf } from "./internal/call.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import { managementErrors } from "./internal/errorSets.ts"
import * as Operation from "./Operation.ts"
import type { Written } from "./internal/written.ts"

const orNull = Schema.NullOr(Schema.String)

/**
 * The state of a reservation. `open`: its request or video job has not ended. `abandoned`: its
 * process died. The credits were released, and the provider may have billed the request.
 *
 * @category schemas
 * @since 0.1.0
 */
export const State = Schema.Literals(["open", "abandoned"])

/**
 * @category models
 * @since 0.1.0
 */
export type State = typeof State.Type

/**
 * What a request reserved before it was sent to a provider.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Reservation = Schema.Struct({
  /** Identifies the reservation. It is also the id of the generation. */
  id: Schema.String,
  state: State,
  /**
   * What owns an open reservation: a process that is `alive`, one that is `dead`, so that it
   * becomes abandoned within seconds, or a video `job`. Null: it is abandoned.
   */
  holder: Schema.NullOr(Schema.Literals(["alive", "dead", "job"])),
  /** The workspace whose credits it reserves. */
  workspace_id: Schema.String,
  /** The hash of the API key. */
  key_hash: Schema.String,
  /** The `x-request-id` of the request. Null: not known. */
  request_id: orNull,
  /** The video job. Null: it is of no video job. */
  video_id: orNull,
  /** The operation: `rerank`, `transcription` or `video`. */
  operation: Schema.String,
  /** The model that the request names. */
  model: Schema.String,
  /** The most that the request may cost, in credits. */
  amount: Schema.Finite,
  /** Whether it uses a provider key of the caller, which the provider bills. */
  is_byok: Schema.Boolean,
  /** When the request was admitted. */
  reserved_at: Timestamp,
  /** When it was released after its process had died. Null: it is open. */
  abandoned_at: Schema.NullOr(Timestamp)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Reservation = { [Field in keyof typeof Reservation.Type]: (typeof Reservation.Type)[Field] }

/**
 * The newest reservations.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListResponse = Schema.Struct({
  /** At most 1000 reservations, newest first. */
  data: Schema.Array(Reservation),
  /** Whether there are older ones, which are not listed. */
  has_more: Schema.Boolean
})

/**
 * @category models
 * @since 0.1.0
 */
export type ListResponse = { [Field in keyof typeof ListResponse.Type]: (typeof ListResponse.Type)[Field] }

/**
 * What the provider has billed.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SettleRequest = Schema.Struct({
  /** In credits: 0 to 1,000,000,000, with at most six decimal places. */
  cost: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 })),
  /** The provider, for the request log: 1 to 256 characters. Default: none is named. */
  provider: Schema.optionalKey(Name)
})

/**
 * @category models
 * @since 0.1.0
 */
export type SettleRequest = { [Field in keyof typeof SettleRequest.Type]: Written<typeof SettleRequest.Type, Field> }

/**
 * A reservation that was settled or dismissed.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Closed = Schema.Struct({
  /** Identifies the reservation, and its entry in the request log. */
  id: Schema.String,
  /** The workspace that was charged. */
  workspace_id: Schema.String,
  /** What was charged, in credits. 0: it was dismissed. */
  cost: Schema.Finite
})

/**
 * @category models
 * @since 0.1.0
 */
export type Closed = { [Field in keyof typeof Closed.Type]: (typeof Closed.Type)[Field] }

/**
 * The reservation that was settled or dismissed.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ClosedResponse = Schema.Struct({
  /** What became of it. */
  data: Closed
})

/**
 * @category models
 * @since 0.1.0
 */
export type ClosedResponse = { [Field in keyof typeof ClosedResponse.Type]: (typeof ClosedResponse.Type)[Field] }

const params = {
  /** Identifies the reservation: 1 to 256 characters. */
  id: Schema.String.check(Schema.isMinLength(1), isMaxCharacters(256))
}

const exampleId = "019aab3e-5c7f-7d3e-9a41-c2f0b6d84e11"

const exampleWorkspaceId = "6b1f3c1e-3b0a-4c55-9f0e-2d5a7c9e1b11"

/**
 * @category operations
 * @since 0.1.0
 */
export const listReservationsOperation = Operation.make("listReservations", "GET", "/reservations", {
  access: "management key",
  success: ListResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listReservationsEndpoint = Operation.endpoint(listReservationsOperation, () => ({
  query: {
    /** Only reservations in this state. Default: `abandoned`, which are those to check. */
    state: Schema.optionalKey(State)
  },
  reference: {
    summary: "List reservations",
    example: {
      query: { state: "abandoned" },
      response: {
        data: [
          {
            id: exampleId,
            state: "abandoned" as const,
            holder: null,
            workspace_id: exampleWorkspaceId,
            key_hash: "3f7a9c…",
            request_id: "req_019aab3e5c7f7d3e9a41c2f0b6d84e110",
            video_id: null,
            operation: "rerank",
            model: "cohere/rerank-v3.5",
            amount: 0.002,
            is_byok: false,
            reserved_at: "2026-11-20T22:30:00.000Z",
            abandoned_at: "2026-11-20T22:30:05.000Z"
          }
        ],
        has_more: false
      }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const settleReservationOperation = Operation.make("settleReservation", "POST", "/reservations/:id/settle", {
  access: "management key",
  // A repetition finds it closed, as that of a deletion does.
  idempotency: "always",
  success: ClosedResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const settleReservationEndpoint = Operation.endpoint(settleReservationOperation, () => ({
  params,
  payload: SettleRequest,
  reference: {
    summary: "Settle an abandoned reservation",
    example: {
      params: { id: exampleId },
      request: { cost: 0.002, provider: "cohere" },
      response: { data: { id: exampleId, workspace_id: exampleWorkspaceId, cost: 0.002 } }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const dismissReservationOperation = Operation.make("dismissReservation", "POST", "/reservations/:id/dismiss", {
  access: "management key",
  // A repetition finds it closed, as that of a deletion does.
  idempotency: "always",
  success: ClosedResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const dismissReservationEndpoint = Operation.endpoint(dismissReservationOperation, () => ({
  params,
  reference: {
    summary: "Dismiss an abandoned reservation",
    example: {
      params: { id: exampleId },
      response: { data: { id: exampleId, workspace_id: exampleWorkspaceId, cost: 0 } }
    }
  }
}))

/**
 * The errors of the functions of this module.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof listReservationsOperation> | ClientError

/**
 * Selects reservations.
 *
 * @category options
 * @since 0.1.0
 */
export interface ListOptions {
  /** Default: `abandoned`. */
  readonly state?: State | undefined
}

/**
 * Lists the newest reservations of the organization in one state.
 *
 * @category calls
 * @since 0.1.0
 */
export const listReservations = (options: ListOptions = {}): Effect.Effect<ListResponse, Failure, GatewayClient> =>
  call(listReservationsOperation, { query: { ...options } })

/**
 * Charges the caller of an abandoned reservation what the provider has billed, also beyond its
 * limits. It takes effect once: afterwards it is a 404. An open reservation is a 400.
 *
 * @category calls
 * @since 0.1.0
 */
export const settleReservation = (id: string, request: SettleRequest): Effect.Effect<Closed, Failure, GatewayClient> =>
  dataOf(call(settleReservationOperation, { params: { id }, json: request }))

/**
 * Closes an abandoned reservation without a charge. It takes effect once: afterwards it is a 404.
 * An open reservation is a 400.
 *
 * @category calls
 * @since 0.1.0
 */
export const dismissReservation = (id: string): Effect.Effect<Closed, Failure, GatewayClient> =>
  dataOf(call(dismissReservationOperation, { params: { id } }))
