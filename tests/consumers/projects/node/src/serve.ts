/**
 * The service in this process, and one video through all of it: `node src/serve.ts <an empty
 * folder>`.
 */
import { NodeHttpServer, NodeRuntime, NodeServices } from "@effect/platform-node"
import { Gateway, VideoProgress } from "@model-gateway/core"
import { NodeGateway } from "@model-gateway/node"
import * as Sandbox from "@model-gateway/sandbox/Sandbox"
import * as GatewayServer from "@model-gateway/server/GatewayServer"
import { WorkspaceStore } from "@model-gateway/server/WorkspaceStore"
import { Console, Effect, Layer, Stream } from "effect"
import { HttpServer } from "effect/http"
import { createServer } from "node:http"

const Service = Layer.unwrap(
  Effect.map(Sandbox.make(), (offers) => GatewayServer.layer({ dataDir: process.argv[2] ?? ".data", offers }))
).pipe(
  Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })),
  Layer.provide(NodeServices.layer)
)

const video = Effect.gen(function* () {
  const gateway = yield* Gateway.Gateway
  const { id } = yield* gateway.submitVideo({
    model: "sandbox/title-card",
    prompt: "Packed and unpacked",
    duration: 1,
    resolution: "480p"
  })
  const { status } = yield* VideoProgress.awaitFinal(id)
  const bytes = yield* Stream.runFold(
    gateway.videoContent(id),
    () => 0,
    (sum, chunk) => sum + chunk.length
  )
  yield* Console.log(`${status}, ${bytes > 0 ? "a video" : "nothing"}`)
})

const program = Effect.gen(function* () {
  const server = yield* HttpServer.HttpServer
  const made = yield* (yield* WorkspaceStore).bootstrap()
  if (made === null) return yield* Effect.fail(new Error("The folder is not empty."))
  const baseUrl = `${HttpServer.formatAddress(server.address)}/api/v1`
  yield* Effect.provide(video, NodeGateway.layer({ baseUrl, credential: made.ordinaryKey }))
})

NodeRuntime.runMain(Effect.provide(program, Service))
