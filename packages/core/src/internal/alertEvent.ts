/** What an alert sends. It has a file of its own, because `Webhook` verifies it. */
import * as Schema from "effect/Schema"
import { Timestamp } from "../Identifiers.ts"

/** What an alert watches. */
export const AlertKind = Schema.Literals([
  "budget_used",
  "credits_left",
  "failed_share",
  "circuit_open",
  "key_expires",
  "reservations_abandoned"
])

/** Why an alert sends a message. */
export const AlertEventType = Schema.Literals(["alert.fired", "alert.resolved", "alert.test"])

/** What an alert watches, without where it sends. */
export const watched = {
  /** Identifier of the alert: a UUID. */
  id: Schema.String,
  /** Its name. */
  name: Schema.String,
  /** What it watches. */
  kind: AlertKind,
  /** The bound at which it fires, in the unit of its kind. */
  threshold: Schema.Finite,
  /** The seconds before now whose requests count. Null: it has no window. */
  window_seconds: Schema.NullOr(Schema.Int),
  /** The fewest requests of the window with which it fires. Null: it has no window. */
  min_requests: Schema.NullOr(Schema.Int),
  /** The workspace that it watches. Null: all of the organization. */
  workspace_id: Schema.NullOr(Schema.String),
  /** The hash of the key that it watches. Null: none in particular. */
  key_hash: Schema.NullOr(Schema.String),
  /** The guardrail that it watches. Null: none. */
  guardrail_id: Schema.NullOr(Schema.String),
  /** The model that it watches. Null: none in particular. */
  model: Schema.NullOr(Schema.String),
  /** The provider that it watches. Null: none in particular. */
  provider: Schema.NullOr(Schema.String)
}

/** Why a firing ended. */
export const AlertResolvedReason = Schema.Literals(["ended", "changed", "disabled", "deleted"])

/** The body of a message of an alert to a webhook. */
export const AlertEvent = Schema.Struct({
  type: AlertEventType,
  /** When it happened. */
  timestamp: Timestamp,
  data: Schema.Struct({
    /** The alert, as it was then. */
    alert: Schema.Struct(watched),
    /** Identifies the firing: the same when it resolves. Null in a test. */
    firing_id: Schema.NullOr(Schema.String),
    /**
     * What was measured, in the unit of `threshold`. Null: there is nothing to measure any more.
     */
    value: Schema.NullOr(Schema.Finite),
    /** What happened, in a sentence. */
    message: Schema.String,
    /** When it fired. Null in a test. */
    fired_at: Schema.NullOr(Timestamp),
    /** When it resolved. Null: it has not. */
    resolved_at: Schema.NullOr(Timestamp),
    /** Why it resolved. Null: it has not. */
    reason: Schema.NullOr(AlertResolvedReason)
  })
})
