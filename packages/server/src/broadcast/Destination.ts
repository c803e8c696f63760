/** A broadcast destination: where the events of a workspace are sent. */
import { type DestinationType, FilterRules } from "@model-gateway/core/Destinations"
import { type Redacted, Schema } from "effect"

/** What a destination needs to be called, and must not be shown. */
export const Secrets = Schema.Struct({
  headers: Schema.Record(Schema.String, Schema.String),
  /** Of a webhook. */
  signing_secret: Schema.optionalKey(Schema.String)
})

/** What a destination needs to be called, and must not be shown. */
export type Secrets = typeof Secrets.Type

/** What an event is sent with, and which events are sent. */
export const Options = Schema.Struct({
  url: Schema.String,
  /** Of a webhook. */
  method: Schema.Literals(["POST", "PUT"]),
  /** Null: those of all keys of the workspace. */
  api_key_hashes: Schema.NullOr(Schema.Array(Schema.String)),
  broadcast_generation_cost: Schema.Boolean,
  broadcast_generation_identity: Schema.Boolean,
  broadcast_generation_request_context: Schema.Boolean,
  filter_rules: Schema.NullOr(FilterRules),
  privacy_mode: Schema.Boolean,
  sampling_rate: Schema.Finite
})

/** What an event is sent with, and which events are sent. */
export type Options = typeof Options.Type

/** A destination. */
export interface Destination {
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly name: string
  readonly type: DestinationType
  readonly enabled: boolean
  readonly options: Options
  readonly secrets: Redacted.Redacted<Secrets>
  readonly createdAt: number
  readonly updatedAt: number
}

/** What a management key can set. */
export type Settings = Pick<Destination, "name" | "enabled" | "options" | "secrets">
