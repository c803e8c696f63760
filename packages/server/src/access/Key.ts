/** Keys as they are stored. */
import { Role } from "@model-gateway/core/Identifiers"
import { Schema, SchemaGetter } from "effect"
import { Model } from "effect/schema"
import type { Row } from "effect/sql/SqlConnection"
import * as SpendingLimit from "../accounting/SpendingLimit.ts"
import * as Table from "../storage/sql/Table.ts"

/** The table `keys`. Times are epoch milliseconds. */
class StoredKey extends Model.Class<StoredKey>("Key")({
  /** SHA-256 of the first secret in lowercase hex. It identifies the key everywhere. */
  hash: Table.constant(Schema.String),
  organizationId: Table.constant(Schema.String),
  workspaceId: Table.constant(Schema.String),
  guardrailId: Table.nullable(Schema.String),
  /** When the guardrail was assigned. */
  guardrailAssignedAt: Table.nullable(Table.Whole),
  /** The user whose key made the assignment. Null: unknown. */
  guardrailAssignedBy: Table.nullable(Schema.String),
  name: Schema.String,
  /** That of the newest secret. For example `mg_sk_…abc`. */
  label: Schema.String,
  isManagement: Table.constant(Table.Bit),
  /** What a management key may do. Another key has no use for it. */
  role: Table.oneOf(Role, "viewer"),
  /** The workspaces that a management key sees and changes. Null: all of its organization. */
  workspaceIds: Table.nullable(Table.Texts),
  /** Whether it spends no credits: see `routing/FreeTier.ts`. */
  isFreeTier: Table.Bit,
  creatorUserId: Table.constantOrNull(Schema.String),
  /** The end user whom the key was created for, as the caller names it. */
  externalUser: Table.constantOrNull(Schema.String),
  expiresAt: Table.nullable(Table.Whole),
  disabled: Table.Bit,
  deletedAt: Table.nullable(Table.Whole),
  /** Requests to free models per UTC day. */
  freeDailyLimit: Table.Whole,
  createdAt: Table.constant(Table.Whole),
  updatedAt: Table.Whole
}) {}

/** A stored key, with its limit. */
export interface Key extends StoredKey, SpendingLimit.SpendingLimit {}

/** A set of texts, as a JSON list. */
const Operations = Table.Texts.pipe(
  Schema.decodeTo(Schema.ReadonlySet(Schema.String), {
    decode: SchemaGetter.transform((names: ReadonlyArray<string>) => new Set(names)),
    encode: SchemaGetter.transform((names: ReadonlySet<string>) => [...names])
  })
)

/** The table `ephemeral_keys`. Times are epoch milliseconds. */
class StoredEphemeralKey extends Model.Class<StoredEphemeralKey>("EphemeralKey")({
  hash: Table.constant(Schema.String),
  parentHash: Table.constant(Schema.String),
  /** For example `mg_ek_…abc`. */
  label: Table.constant(Schema.String),
  createdAt: Table.constant(Table.Whole),
  /** The key may expire earlier, with its parent; see {@link endOf}. */
  expiresAt: Table.constant(Table.Whole),
  /**
   * The identifiers of the operations that the key may call. Null: all that its parent may call.
   */
  operations: Table.constantOrNull(Operations),
  /** Whether the key sees only its own files, video jobs and requests. */
  ownFiles: Table.constant(Table.Bit)
}) {}

/** A key that is valid for some minutes and acts as its parent. */
export interface EphemeralKey extends StoredEphemeralKey {}

/** When an ephemeral key expires: never after its parent. */
export const endOf = (ephemeral: EphemeralKey, parent: Key): number =>
  Math.min(ephemeral.expiresAt, parent.expiresAt ?? ephemeral.expiresAt)

/** The tables. */
export const tables = { keys: Table.make(StoredKey), ephemeralKeys: Table.make(StoredEphemeralKey) }

/** The columns that {@link keyRow} reads from `keys k` and {@link joinLimit}. */
export const keyColumns = `${tables.keys.columnsOf("k")}, ${SpendingLimit.columnsOf("b")}`

/** Joins the limit of `keys k`. */
export const joinLimit = SpendingLimit.join("b", "k.hash")

const readKey = tables.keys.readOf("k")

const readLimit = SpendingLimit.readOf("b")

/** Reads a key. */
export const keyRow = (row: Row): Key => ({ ...readKey(row), ...readLimit(row) })
