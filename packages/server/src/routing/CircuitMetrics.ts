/**
 * The circuits in the metrics: one series for each offer that the gateway has a key for, so that
 * the catalog bounds their number. Circuits of provider keys have none, because there may be any
 * number of them.
 */
import { Effect, type Layer } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import * as Metrics from "../observability/Metrics.ts"
import * as Scrape from "../observability/Scrape.ts"
import * as Candidate from "./Candidate.ts"
import { ModelCatalog } from "./ModelCatalog.ts"

const make = Effect.gen(function* () {
  const { state } = yield* CircuitBreaker.CircuitBreakerStore
  const catalog = yield* ModelCatalog
  const update = Effect.suspend(() =>
    Effect.forEach(
      catalog.all.flatMap(({ offers }) => offers.flatMap(Candidate.ofGateway)),
      (candidate) =>
        Effect.flatMap(state(Candidate.keyOf(candidate)), (found) => Metrics.circuitIs(candidate.offer, found)),
      { concurrency: 16, discard: true }
    )
  )
  return [{ name: "circuits", update }]
})

/** Registers the source. */
export const layer: Layer.Layer<never, never, Scrape.Scrape | CircuitBreaker.CircuitBreakerStore | ModelCatalog> =
  Scrape.layerSources(make)
