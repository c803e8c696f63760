/** The target of the operator's commands that is a database, which the settings name. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Gateway, GatewayConfig, RetryPolicy } from "@model-gateway/core"
import { ofPreset } from "@model-gateway/core/WireNames"
import * as GatewayServer from "@model-gateway/server/GatewayServer"
import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import { Deferred, Effect, Layer, Logger, Option, Redacted } from "effect"
import { HttpClient, HttpServer } from "effect/http"
import * as NetAddress from "effect/net/NetAddress"
import { randomBytes } from "node:crypto"
import * as Database from "./Database.ts"
import * as InProcess from "./InProcess.ts"
import * as LoadSettings from "./LoadSettings.ts"
import { type Place, Target } from "./Operator.ts"
import * as OperatorName from "./OperatorName.ts"

/** Where the client believes that it sends requests. Nothing is sent there. */
const origin = "http://gateway.invalid"

const noPeer: InProcess.Peer = { remoteAddress: Option.none(), forwardedFor: undefined }

/** A client of what the layer serves, in this process. */
const layerClient = <E, R>(served: Layer.Layer<never, E, R | HttpServer.HttpServer>) =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.gen(function* () {
      const client = yield* Deferred.make<HttpClient.HttpClient>()
      const server = HttpServer.make({
        address: NetAddress.inetAddressUnsafe(NetAddress.ipv4Loopback, 0),
        serve: (app) =>
          Effect.flatMap(Effect.context<never>(), (context) =>
            Effect.asVoid(Deferred.succeed(client, InProcess.makeClient(app, context, noPeer)))
          )
      })
      yield* Layer.build(Layer.provide(served, Layer.succeed(HttpServer.HttpServer, server)))
      return yield* Deferred.await(client)
    })
  )

const target = Layer.effect(Target, Effect.all({ gateway: Gateway.Gateway, userId: OperatorName.loginName() }))

/** The target. Fails without changes if the database is missing or of another version. */
export const layer = Effect.fnUntraced(function* (place: Place) {
  const loaded = yield* LoadSettings.load(place.settings, place.config)
  const settings = yield* LoadSettings.read(loaded)
  const limits = yield* loaded.read(GatewayServerConfig.config)
  yield* Database.required(settings)
  const { databaseConnections, databaseUrl, dataDir, initialCredits: credits } = settings
  const service = GatewayServer.layerOperator({ credits, databaseConnections, databaseUrl, dataDir, migrate: "never" })
  const config = GatewayConfig.make({
    // The service serves below its base path here as well.
    baseUrl: `${origin}${limits.basePath ?? ""}/api/v1`,
    // The texts of new keys are derived from it.
    credential: Redacted.make(randomBytes(32).toString("base64url")),
    retryPolicy: RetryPolicy.none,
    wireNames: ofPreset(limits.wireNames)
  })
  return target.pipe(
    Layer.provide(Layer.fresh(Gateway.layer)),
    Layer.provide(layerClient(service)),
    Layer.catchTag("StorageError", (error) => Layer.effectContext(Effect.fail(Database.openFailure(settings, error)))),
    Layer.provide(NodeHttpServer.layerHttpServices),
    Layer.provide([
      GatewayServerConfig.layer(limits),
      Layer.succeed(GatewayConfig.GatewayConfig, config),
      Layer.succeed(Logger.LogToStderr, true)
    ])
  )
})
