/** On Node: settings from the environment, the answer to stdout. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { NodeGateway } from "@model-gateway/node"
import { Console, Effect } from "effect"
import { search } from "./search.ts"

search("forgotten password", ["Billing", "Reset a forgotten password"]).pipe(
  Effect.flatMap(Console.log),
  Effect.provide(NodeGateway.layerConfig()),
  NodeRuntime.runMain
)
