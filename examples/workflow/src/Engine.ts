/** The engine of the workflows, which stores them in the SQLite database `WORKFLOW_DATABASE`. */
import { Config, Effect, Layer } from "effect"
import * as ClusterWorkflowEngine from "effect/cluster/ClusterWorkflowEngine"
import * as SingleRunner from "effect/cluster/SingleRunner"
import * as Digest from "effect/crypto/Digest"
import * as Sqlite from "./Sqlite.ts"

const Storage = Layer.unwrap(
  Effect.map(Config.String("WORKFLOW_DATABASE").pipe(Config.withDefault("workflow.db")), Sqlite.layer)
)

/** For one process at a time. Then nobody has to wait until the locks of a dead one expire. */
export const layer = ClusterWorkflowEngine.layer.pipe(
  Layer.provide(SingleRunner.layer({ runnerStorage: "memory" })),
  Layer.provide([Storage, Digest.layerWebCrypto])
)
