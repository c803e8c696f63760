import { BrowserGateway } from "@model-gateway/browser"
import { Console, Effect, Layer } from "effect"
import * as Inputs from "../../Inputs.ts"
import { ManagementGateway, program } from "../../Program.ts"
import * as BlobVideoStore from "../BlobVideoStore.ts"

// The terminal has NodeGateway.layer here, a test GatewayTest.layer; the program is the same file.
export const composed = (management: Layer.Layer<ManagementGateway>) =>
  program(Inputs.make(Inputs.sandboxModels), Console.log).pipe(
    Effect.provide([BrowserGateway.layer({ tokenEndpoint: "/token" }), management, BlobVideoStore.layer])
  )
