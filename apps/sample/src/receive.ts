/**
 * The receiver as a Node server. `WEBHOOK_SECRET` is the gateway's webhook secret. While you
 * replace it, give both, separated by a space. Default for `PORT`: 8788.
 */
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Config, Effect, Layer, Redacted } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"
import { HandledWebhooks, receive } from "./Receiver.ts"

const hooks = Layer.unwrap(
  Effect.gen(function* () {
    const secrets = Redacted.value(yield* Config.Redacted("WEBHOOK_SECRET")).split(" ")
    const respond = receive({ secret: secrets }, ({ data, type }) => Effect.log(type, data.id))
    return HttpRouter.add(
      "POST",
      "/hooks",
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        return HttpServerResponse.fromWeb(yield* respond(yield* HttpServerRequest.toWeb(request)))
      })
    )
  })
)

const server = Layer.unwrap(
  Effect.map(Config.Int("PORT").pipe(Config.withDefault(8788)), (port) => NodeHttpServer.layer(createServer, { port }))
)

HttpRouter.serve(hooks).pipe(Layer.provide([HandledWebhooks.layerMemory, server]), Layer.launch, NodeRuntime.runMain)
