/** A broadcast destination: where the events of a workspace are sent. */
import { DestinationType, FilterRules } from "@model-gateway/core/Destinations"
import { type Redacted, Schema, Struct } from "effect"
import { Model } from "effect/schema"
import * as Table from "../storage/sql/Table.ts"

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

/** The table `destinations`. Times are epoch milliseconds. */
class StoredDestination extends Model.Class<StoredDestination>("Destination")({
  id: Table.constant(Schema.String),
  organizationId: Table.constant(Schema.String),
  workspaceId: Table.constant(Schema.String),
  name: Schema.String,
  type: Table.constant(DestinationType),
  enabled: Table.Bit,
  /** Without the URL, which may contain a token and is encrypted with the secrets. */
  options: Schema.fromJsonString(Options.mapFields(Struct.omit(["url"]))),
  /** Encrypted. */
  secrets: Schema.String,
  /** Changes whenever the destination does. */
  revision: Table.Whole,
  /** The sequence of the last event that is done with. */
  delivered: Table.Whole,
  /** The process that serves the destination. */
  processId: Table.nullable(Schema.String),
  /** When it accepted an event last. */
  deliveredAt: Table.nullable(Table.Whole),
  /** When the oldest event that waits for it was written. Null: none waits for long. */
  waitingSince: Table.nullable(Table.Whole),
  /** The events that were given up or set aside. */
  dropped: Table.Whole,
  /** Why it did not accept an event last, without any URL, header or text of the destination. */
  error: Table.nullable(Schema.String),
  errorAt: Table.nullable(Table.Whole),
  createdAt: Table.constant(Table.Whole),
  updatedAt: Table.Whole
}) {}

/** The table. */
export const table = Table.make(StoredDestination)

/** A destination. */
export interface Destination extends Pick<
  StoredDestination,
  "id" | "organizationId" | "workspaceId" | "name" | "type" | "enabled" | "createdAt" | "updatedAt"
> {
  readonly options: Options
  readonly secrets: Redacted.Redacted<Secrets>
}

/** How a destination is doing. */
export type Delivery = Pick<StoredDestination, "deliveredAt" | "waitingSince" | "dropped" | "error" | "errorAt">

/** A destination, and how it is doing. */
export interface WithDelivery extends Destination {
  readonly delivery: Delivery
}

/** What a management key can set. */
export type Settings = Pick<Destination, "name" | "enabled" | "options" | "secrets">
