/**
 * The receiver as a server of Node. `WEBHOOK_SECRET` is the secret that the gateway showed, or
 * several, separated by spaces, while it is being replaced. `PORT` is 8788 unless it is set.
 */
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Config, Effect, Layer, Redacted } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"
import { HandledWebhooks, receive } from "./Receiver.ts"

const hooks = Layer.unwrap(
  Effect.gen(function* () {
    const secrets = Redacted.value(yield* Config.Redacted("WEBHOOK_SECRET")).split(" ")
    const answer = receive({ secret: secrets }, ({ data, type }) => Effect.log(type, data.id))
    return HttpRouter.add(
      "POST",
      "/hooks",
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        return HttpServerResponse.fromWeb(yield* answer(yield* HttpServerRequest.toWeb(request)))
      })
    )
  })
)

const server = Layer.unwrap(
  Effect.map(Config.Int("PORT").pipe(Config.withDefault(8788)), (port) => NodeHttpServer.layer(createServer, { port }))
)

HttpRouter.serve(hooks).pipe(Layer.provide([HandledWebhooks.layerMemory, server]), Layer.launch, NodeRuntime.runMain)
