/**
 * An alert: what it watches, where it sends, and its state.
 *
 * An alert is `firing` from the first evaluation that finds its condition true until the condition
 * has been false for {@link holdFor}, so that a value about the threshold sends no message each
 * minute.
 */
import { Kind, ResolvedReason } from "@model-gateway/core/Alerts"
import { Duration, Schema } from "effect"
import { Model } from "effect/schema"
import * as Table from "../storage/sql/Table.ts"

/** How long the condition of a firing alert must be false before it resolves. */
export const holdFor = Duration.minutes(5)

/** The form of a message. */
export const TargetType = Schema.Literals(["webhook", "slack"])

/** The table `alerts`. Times are epoch milliseconds. */
class StoredAlert extends Model.Class<StoredAlert>("Alert")({
  /** A UUID v7. */
  id: Table.constant(Schema.String),
  organizationId: Table.constant(Schema.String),
  /** Null: all workspaces of the organization. */
  workspaceId: Table.nullable(Schema.String),
  /** The workspace whose secret signs the messages. */
  senderWorkspaceId: Schema.String,
  name: Schema.String,
  kind: Table.constant(Kind),
  threshold: Schema.Finite,
  windowSeconds: Table.nullable(Table.Whole),
  minRequests: Table.nullable(Table.Whole),
  keyHash: Table.nullable(Schema.String),
  guardrailId: Table.nullable(Schema.String),
  model: Table.nullable(Schema.String),
  provider: Table.nullable(Schema.String),
  targetType: TargetType,
  url: Schema.String,
  enabled: Table.Bit,
  /**
   * When a process took the turn to evaluate it. 0 after a change of what is evaluated, so that what
   * was measured of the former rule is ignored.
   */
  checkedAt: Table.Whole,
  /** When it was last evaluated. */
  evaluatedAt: Table.nullable(Table.Whole),
  /** What was measured then. */
  lastValue: Table.nullable(Schema.Finite),
  /** The firing that has not resolved. Null: it is not firing. */
  firingId: Table.nullable(Schema.String),
  /** When it last began or ceased to fire. */
  stateSince: Table.nullable(Table.Whole),
  /** Since when the condition of a firing alert is false. Null: it is true. */
  endedSince: Table.nullable(Table.Whole),
  createdAt: Table.constant(Table.Whole),
  updatedAt: Table.Whole
}) {}

/** A stored alert. */
export interface Alert extends StoredAlert {}

/** The table. */
export const alerts = Table.make(StoredAlert)

/** The table `alert_firings`. Times are epoch milliseconds. */
class StoredFiring extends Model.Class<StoredFiring>("AlertFiring")({
  /** A UUID v7. */
  id: Table.constant(Schema.String),
  organizationId: Table.constant(Schema.String),
  workspaceId: Table.constantOrNull(Schema.String),
  alertId: Table.constant(Schema.String),
  alertName: Table.constant(Schema.String),
  kind: Table.constant(Kind),
  value: Table.constant(Schema.Finite),
  message: Table.constant(Schema.String),
  /** When it fired. */
  createdAt: Table.constant(Table.Whole),
  resolvedAt: Table.nullable(Table.Whole),
  resolvedReason: Table.oneOfOrNull(ResolvedReason)
}) {}

/** One time that an alert fired. */
export interface Firing extends StoredFiring {}

/** The table. */
export const firings = Table.make(StoredFiring)

/** What a management key can set. */
export type Settings = Pick<
  Alert,
  | "workspaceId"
  | "senderWorkspaceId"
  | "name"
  | "threshold"
  | "windowSeconds"
  | "minRequests"
  | "keyHash"
  | "guardrailId"
  | "model"
  | "provider"
  | "targetType"
  | "url"
  | "enabled"
>

/** A measured value, in the unit of the threshold. */
export interface Measured {
  readonly value: number
  /** Whether the condition is true. */
  readonly isTrue: boolean
  /** What was measured, in a sentence. */
  readonly message: string
}

/** The ids of the messages of a firing. */
export const messageId = (firingId: string, what: "fired" | "resolved"): string => `evt_alert_${firingId}_${what}`
