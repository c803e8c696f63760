/**
 * `node src/main.ts <order> <prompt>` makes the video of an order. Killed at any moment and started
 * again with the same order, it continues where it was.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { NodeGateway } from "@model-gateway/node"
import { Console, Effect, Layer } from "effect"
import * as Engine from "./Engine.ts"
import * as MakeVideo from "./MakeVideo.ts"

const [order = "order-1", prompt = "Dawn"] = process.argv.slice(2)

const program = Effect.gen(function* () {
  const { cost, id } = yield* MakeVideo.MakeVideo.execute({ order, prompt })
  yield* Console.log(`Completed ${id} for ${cost} credits`)
})

const Live = MakeVideo.layer.pipe(Layer.provideMerge(Engine.layer), Layer.provide(NodeGateway.layerConfig()))

NodeRuntime.runMain(Effect.provide(program, Live))
