/**
 * For whoever watches over the process: `/healthz` says that it runs, `/readyz` that it can serve, `/metrics` what it has done.
 */
import { phrases, ServiceUnavailable } from "@model-gateway/core/GatewayError"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { SqlClient } from "effect/sql/SqlClient"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import { Lifecycle } from "./Lifecycle.ts"
import * as MetricsAccess from "./MetricsAccess.ts"

const fine = (status: string) => HttpServerResponse.jsonUnsafe({ status }, { headers: { "cache-control": "no-store" } })

const notReady = (why: string) => new ServiceUnavailable({ error: { message: `${phrases[503]}: ${why}` } })

const health = HttpRouter.add("GET", "/healthz", Effect.succeed(fine("ok")))

const ready = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const lifecycle = yield* Lifecycle
    const sql = yield* SqlClient
    const check = sql`SELECT 1`.pipe(
      Effect.timeout("2 seconds"),
      Effect.matchEffect({
        onSuccess: () => Effect.succeed(fine("ready")),
        onFailure: () => Effect.fail(notReady("the database does not answer"))
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
