/**
 * `node src/woken.ts <order> <prompt>` makes the video of an order, woken by the gateway's webhook.
 * It listens at `PORT`, behind a proxy with TLS whose URL is `HOOKS_URL`. `WEBHOOK_SECRET` verifies
 * the webhooks.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { NodeGateway } from "@model-gateway/node"
import { Config, Console, Effect, Layer } from "effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import { createServer } from "node:http"
import * as Engine from "./Engine.ts"
import * as WokenVideo from "./WokenVideo.ts"

const [order = "order-1", prompt = "Dawn"] = process.argv.slice(2)

const program = Effect.gen(function* () {
  const hooks = yield* Config.String("HOOKS_URL")
  const { cost, id } = yield* WokenVideo.WokenVideo.execute({ order, prompt, hooks })
  yield* Console.log(`Completed ${id} for ${cost} credits`)
})

const Hooks = Layer.unwrap(
  Effect.gen(function* () {
    const secret = yield* Config.Redacted("WEBHOOK_SECRET")
    const engine = yield* Effect.context<WorkflowEngine>()
    const respond = Effect.gen(function* () {
      const request = yield* HttpServerRequest.toWeb(yield* HttpServerRequest.HttpServerRequest)
      yield* Effect.provideContext(WokenVideo.receive(request, secret), engine)
      return HttpServerResponse.empty()
    }).pipe(Effect.catchTag("WebhookError", () => Effect.succeed(HttpServerResponse.empty({ status: 400 }))))
    return HttpRouter.serve(HttpRouter.add("POST", "/*", respond))
  })
)

const Server = Layer.unwrap(Effect.map(Config.Int("PORT"), (port) => NodeHttpServer.layer(createServer, { port })))

const Live = Layer.mergeAll(WokenVideo.layer, Hooks.pipe(Layer.provide(Server))).pipe(
  Layer.provideMerge(Engine.layer),
  Layer.provide(NodeGateway.layerConfig())
)

NodeRuntime.runMain(Effect.provide(program, Live))
