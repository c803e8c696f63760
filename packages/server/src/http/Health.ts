/**
 * Endpoints for monitoring: `/healthz` (the process runs), `/readyz` (it can serve) and `/metrics`.
 */
import { phrases, ServiceUnavailable } from "@model-gateway/core/GatewayError"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as Readiness from "../storage/sqlite/Readiness.ts"
import { Lifecycle } from "./Lifecycle.ts"
import * as MetricsAccess from "./MetricsAccess.ts"

const fine = (status: string) => HttpServerResponse.jsonUnsafe({ status }, { headers: { "cache-control": "no-store" } })

const notReady = (why: string) => new ServiceUnavailable({ error: { message: `${phrases[503]}: ${why}` } })

const health = HttpRouter.add("GET", "/healthz", Effect.succeed(fine("ok")))

const ready = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const lifecycle = yield* Lifecycle
    const readiness = yield* Readiness.make()
    let isServing = true
    /** Logs when the database stops answering, with the reason, and when it answers again. */
    const report = (problem: string | undefined) =>
      Effect.suspend(() => {
        if ((problem === undefined) === isServing) return Effect.void
        isServing = problem === undefined
        return isServing
          ? Effect.logInfo("/readyz: the database answers again")
          : Effect.logWarning("/readyz: the database cannot serve", problem)
      })
    const check = readiness.pipe(
      Effect.tap(() => report(undefined)),
      Effect.tapError(({ message }) => report(message)),
      Effect.mapBoth({
        onSuccess: () => fine("ready"),
        onFailure: () => notReady("the database cannot serve requests")
      })
    )
    yield* router.add(
      "GET",
      "/readyz",
      Effect.suspend(() => (lifecycle.isStopping ? Effect.fail(notReady("the service is stopping")) : check))
    )
  })
)

const page = Effect.map(PrometheusMetrics.format(), (text) =>
  HttpServerResponse.text(text, {
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    headers: { "cache-control": "no-store" }
  })
)

const metrics = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const refusalOf = MetricsAccess.make((yield* GatewayServerConfig).metricsToken)
    const answer = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const refusal = refusalOf(request)
      return refusal === undefined ? page : Effect.fail(refusal)
    })
    yield* router.add("GET", "/metrics", answer)
  })
)

/** The three routes. */
export const layer = Layer.mergeAll(health, ready, metrics)
