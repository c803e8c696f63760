import { BrowserGateway } from "@model-gateway/browser"
import { Console, Effect, Layer } from "effect"
import * as Inputs from "../../Inputs.ts"
import { program } from "../../Program.ts"
import * as BlobVideoStore from "../BlobVideoStore.ts"

// A terminal has NodeGateway here, a test GatewayTest.
const gateway = BrowserGateway.layer({ tokenEndpoint: "/token" })
const inputs = Inputs.make(Inputs.sandboxModels)

// What is left to provide: the gateway by a management key.
const layer = Layer.merge(gateway, BlobVideoStore.layer)
const run = program(inputs, Console.log)
export const composed = run.pipe(Effect.provide(layer))
