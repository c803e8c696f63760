/** What the folders store of workspaces: see `WorkspacePart`. */
import { Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import * as AccessPart from "./access/WorkspacePart.ts"
import * as AlertsPart from "./alerts/WorkspacePart.ts"
import * as AccountingPart from "./accounting/WorkspacePart.ts"
import * as BroadcastPart from "./broadcast/WorkspacePart.ts"
import * as ObjectsPart from "./objects/WorkspacePart.ts"
import { WorkspaceParts } from "./storage/sql/WorkspacePart.ts"
import * as VideoPart from "./video/WorkspacePart.ts"
import * as WebhooksPart from "./webhooks/WorkspacePart.ts"

/** All of them. The first one that is in use says why a workspace cannot be deleted. */
export const layer: Layer.Layer<WorkspaceParts, never, SqlClient> = Layer.effect(
  WorkspaceParts,
  Effect.all([
    AccessPart.make,
    ObjectsPart.make,
    AccountingPart.make,
    BroadcastPart.make,
    AlertsPart.make,
    WebhooksPart.make,
    VideoPart.make
  ])
)
