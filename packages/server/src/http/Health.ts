/**
 * For whoever watches over the process: `/healthz` says that it runs, `/readyz` that it can serve, `/metrics` what it has done.
 */
import { phrases, ServiceUnavailable } from "@model-gateway/core/GatewayError"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { SqlClient } from "effect/sql/SqlClient"
import { Lifecycle } from "./Lifecycle.ts"

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

/** The three routes. */
export const layer = Layer.mergeAll(health, ready, PrometheusMetrics.layerHttp({ path: "/metrics" }))
