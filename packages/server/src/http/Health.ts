/**
 * For whoever watches over the process: `/healthz` says that it runs, `/readyz` that it can serve, `/metrics` what it has done.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { SqlClient } from "effect/sql/SqlClient"
import { Lifecycle } from "./Lifecycle.ts"

const answer = (status: number, state: string) =>
  HttpServerResponse.jsonUnsafe({ status: state }, { status, headers: { "cache-control": "no-store" } })

const health = HttpRouter.add("GET", "/healthz", Effect.succeed(answer(200, "ok")))

const ready = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const lifecycle = yield* Lifecycle
    const sql = yield* SqlClient
    const check = sql`SELECT 1`.pipe(
      Effect.timeout("2 seconds"),
      Effect.match({
        onSuccess: () => answer(200, "ready"),
        onFailure: () => answer(503, "the database does not answer")
      })
    )
    yield* router.add(
      "GET",
      "/readyz",
      Effect.suspend(() => (lifecycle.isStopping ? Effect.succeed(answer(503, "stopping")) : check))
    )
  })
)

/** The three routes. */
export const layer = Layer.mergeAll(health, ready, PrometheusMetrics.layerHttp({ path: "/metrics" }))
