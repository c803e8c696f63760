/**
 * Endpoints for monitoring: `/healthz` (the process runs), `/readyz` (it can serve) and `/metrics`.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import * as LiveSecrets from "../LiveSecrets.ts"
import { MetricsPage } from "../observability/MetricsPage.ts"
import { NotReady, Readiness, type Report, words } from "../observability/Readiness.ts"
import { Scrape } from "../observability/Scrape.ts"
import { Lifecycle } from "./Lifecycle.ts"
import * as MetricsAccess from "./MetricsAccess.ts"

const ok = (body: Report | { readonly status: "ok" }) =>
  HttpServerResponse.jsonUnsafe(body, { headers: { "cache-control": "no-store" } })

const health = HttpRouter.add("GET", "/healthz", Effect.succeed(ok({ status: "ok" })))

const stopping = new NotReady({ status: "stopping", message: "the service is stopping" })

const notReady = ({ parts }: Report) => {
  const failed = Object.keys(parts).filter((name) => parts[name]?.status === "unavailable")
  return new NotReady({
    status: "unavailable",
    message: `${failed.map(words).join(" and ")} cannot serve requests`,
    parts
  })
}

const ready = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const lifecycle = yield* Lifecycle
    const readiness = yield* Readiness
    const answer = Effect.flatMap(readiness.report, (report) =>
      report.status === "unavailable" ? Effect.fail(notReady(report)) : Effect.succeed(ok(report))
    )
    yield* router.add(
      "GET",
      "/readyz",
      Effect.suspend(() => (lifecycle.isStopping ? Effect.fail(stopping) : answer))
    )
  })
)

const page = (text: string) =>
  HttpServerResponse.text(text, {
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    headers: { "cache-control": "no-store" }
  })

const metrics = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const secrets = yield* LiveSecrets.read
    const { collect } = yield* Scrape
    const context = yield* Effect.context<never>()
    const own = Effect.provide(Effect.andThen(collect, PrometheusMetrics.format()), context)
    const read = Effect.map((yield* MetricsPage)(own), page)
    const answer = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const refusal = MetricsAccess.refusalOf(request, secrets().metricsToken)
      return refusal === undefined ? read : Effect.fail(refusal)
    })
    yield* router.add("GET", "/metrics", answer)
  })
)

/** The three routes. */
export const layer = Layer.mergeAll(health, ready, metrics)
