/**
 * `node src/main.ts <order> <prompt>` makes the video of an order. Killed at any moment and started
 * again with the same order, it continues where it was.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { NodeGateway } from "@model-gateway/node"
import { Config, Console, Effect, Layer } from "effect"
import * as ClusterWorkflowEngine from "effect/cluster/ClusterWorkflowEngine"
import * as SingleRunner from "effect/cluster/SingleRunner"
import * as Digest from "effect/crypto/Digest"
import * as MakeVideo from "./MakeVideo.ts"
import * as Sqlite from "./Sqlite.ts"

const [order = "order-1", prompt = "Dawn"] = process.argv.slice(2)

const program = Effect.gen(function* () {
  const { cost, id } = yield* MakeVideo.MakeVideo.execute({ order, prompt })
  yield* Console.log(`Completed ${id} for ${cost} credits`)
})

/** One process at a time. Then nobody has to wait until the locks of a dead one expire. */
const Engine = ClusterWorkflowEngine.layer.pipe(Layer.provide(SingleRunner.layer({ runnerStorage: "memory" })))

const Storage = Layer.unwrap(
  Effect.map(Config.String("WORKFLOW_DATABASE").pipe(Config.withDefault("workflow.db")), Sqlite.layer)
)

const Live = MakeVideo.layer.pipe(
  Layer.provideMerge(Engine),
  Layer.provide([Storage, Digest.layerWebCrypto, NodeGateway.layerConfig()])
)

NodeRuntime.runMain(Effect.provide(program, Live))
