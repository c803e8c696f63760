import { BrowserGateway } from "@model-gateway/browser"
import { Console, Effect, Layer } from "effect"
import * as Inputs from "../../Inputs.ts"
import { program } from "../../Program.ts"
import * as BlobVideoStore from "../BlobVideoStore.ts"

// Node.js: NodeGateway. Tests: GatewayTest.
const gateway = BrowserGateway.layer({ tokenEndpoint: "/token" })
const inputs = Inputs.make(Inputs.sandboxModels)

// Still to provide: ManagementGateway.
const layer = Layer.merge(gateway, BlobVideoStore.layer)
const run = program(inputs, Console.log)
export const composed = run.pipe(Effect.provide(layer))
