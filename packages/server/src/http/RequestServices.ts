/**
 * Keeps the context of a request small.
 *
 * A request begins with the context in which the HTTP server was started, and the handler of an
 * operation adds the one in which its group was built. Effect copies both for each request. So both
 * have only what a request itself looks up: handlers get their services once, when they are made.
 */
import { Authorization } from "@model-gateway/core/unstable/Authorization"
import { RequestBody } from "@model-gateway/core/unstable/RequestBody"
import { Context, Effect, Layer, Scheduler, Scope } from "effect"
import { type HttpRouter, HttpServer } from "effect/http"
import * as SharedScheduler from "../internal/SharedScheduler.ts"
import type { RequestContext } from "./RequestContext.ts"

/**
 * The HTTP server in the context. Its requests begin with the context of this layer, instead of the
 * one of the layer that serves. So a route looks up its services when its layer is built: a service
 * or a reference that was provided around the routes is not found by their requests.
 */
export const layerServer: Layer.Layer<HttpServer.HttpServer, never, HttpServer.HttpServer> = Layer.effect(
  HttpServer.HttpServer,
  Effect.gen(function* () {
    const server = yield* HttpServer.HttpServer
    const services = Context.add(
      Context.omit(Scope.Scope)(yield* Effect.context<HttpServer.HttpServer>()),
      Scheduler.Scheduler,
      SharedScheduler.make()
    )
    return HttpServer.make({
      address: server.address,
      serve: (app, middleware) =>
        Effect.updateContext(
          middleware === undefined ? server.serve(app) : server.serve(app, middleware),
          (all: Context.Context<Scope.Scope>) => Context.add(services, Scope.Scope, Context.get(all, Scope.Scope))
        )
    })
  })
)

/** The checks of a request before its handler, and what its middleware provides. */
type Needs = Authorization | HttpRouter.Request<"Requires", RequestContext> | RequestBody

/**
 * The handlers of a group. `make` looks up the services that they need, so that their requests have
 * only those that check a request before its handler.
 */
export const group = <Handlers, E, R, Group, N extends Needs>(
  make: Effect.Effect<Handlers, E, R>,
  toLayer: (handlers: Handlers) => Layer.Layer<Group, never, N>
): Layer.Layer<Group, E, Authorization | N | R | RequestBody> =>
  Layer.fromBuild((memoMap, scope) =>
    Effect.flatMap(make, (handlers) =>
      Effect.updateContext(
        Layer.buildWithMemoMap(toLayer(handlers), memoMap, scope),
        (all: Context.Context<Authorization | RequestBody>) =>
          Context.makeUnsafe<N>(Context.pick(Authorization, RequestBody)(all).mapUnsafe)
      )
    )
  )
