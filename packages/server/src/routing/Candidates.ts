/**
 * Selects and orders the endpoints that may serve a request, from the caller's preferences and the
 * guardrail.
 */
import { Forbidden, NotFound } from "@model-gateway/core/GatewayError"
import type { MaxPrice, Preferences } from "@model-gateway/core/Routing"
import type { Model, ModelKind } from "@model-gateway/providers/Model"
import { Effect } from "effect"
import * as MicroCredits from "@model-gateway/providers/MicroCredits"
import type { Guardrail } from "../access/Guardrail.ts"
import type { Endpoint, Entry, ModelCatalogue } from "./ModelCatalogue.ts"

/** Measurements of an endpoint, once it has answered. */
export interface Observed {
  /** Seconds per response. */
  readonly latency: number
  /** Units of work (documents, seconds of audio) per second. */
  readonly throughput: number
}

/** What the selection depends on. */
export interface Choice {
  readonly preferences: Preferences | undefined
  readonly guardrail: Guardrail | null
  readonly observed: (endpoint: Endpoint) => Observed | undefined
}

const notFound = (reason: string) => new NotFound({ error: { message: `resource not found: ${reason}` } })

const forbidden = (reason: string) => new Forbidden({ error: { message: `insufficient permissions: ${reason}` } })

/** Fails with a 403 if the guardrail does not list the model. Runs before the catalogue is read. */
export const allowModel = (model: string, guardrail: Guardrail | null): Effect.Effect<void, Forbidden> =>
  guardrail?.allowedModels?.includes(model) === false
    ? Effect.fail(forbidden(`the guardrail "${guardrail.name}" of this key does not allow the model ${quoted(model)}`))
    : Effect.void

/** A caller-supplied name, truncated for use in a message. */
const quoted = (name: string): string => `"${name.length > 128 ? `${name.slice(0, 128)}…` : name}"`

/** The 404 for a model that is unknown or of another kind. */
export const unknownModel = (catalogue: ModelCatalogue["Service"], kind: ModelKind, model: string): NotFound => {
  const kinds = catalogue.kindsOf(model)
  return notFound(
    kinds.length === 0
      ? `there is no model ${quoted(model)}`
      : `${quoted(model)} is a ${kinds.join(" and ")} model, not a ${kind} model`
  )
}

const maxPriceOf = (unit: "search_unit" | "second", maxPrice: MaxPrice | undefined): number | undefined =>
  unit === "search_unit" ? maxPrice?.search_unit : maxPrice?.second

const affordable = (endpoint: Endpoint, maxPrice: MaxPrice | undefined): boolean => {
  const { microCredits, unit } = endpoint.model.pricing
  const most = maxPriceOf(unit, maxPrice)
  return most === undefined || microCredits <= most * MicroCredits.perCredit
}

/** Endpoints without measurements come first; otherwise they would never be measured. */
const byObservation =
  (choice: Choice, figure: (observed: Observed) => number) =>
  (a: Endpoint, b: Endpoint): number => {
    const [x, y] = [choice.observed(a), choice.observed(b)]
    if (x === undefined || y === undefined) return x === y ? 0 : x === undefined ? -1 : 1
    return figure(x) - figure(y)
  }

const comparator = (choice: Choice): ((a: Endpoint, b: Endpoint) => number) => {
  switch (choice.preferences?.sort) {
    case "price":
      return (a, b) => a.model.pricing.microCredits - b.model.pricing.microCredits
    case "latency":
      return byObservation(choice, ({ latency }) => latency)
    case "throughput":
      return byObservation(choice, ({ throughput }) => -throughput)
    case undefined:
      return () => 0
  }
}

/**
 * The endpoints to try, in order; at least one. Fails with a 403 if the guardrail allows none, and
 * with a 404 if the preferences match none.
 */
export const select = <M extends Model>(
  entry: Entry<M>,
  choice: Choice
): Effect.Effect<ReadonlyArray<Endpoint<M>>, Forbidden | NotFound> => {
  const { guardrail, preferences } = choice
  if (preferences === undefined && guardrail === null && entry.endpoints.length === 1) {
    return Effect.succeed(entry.endpoints)
  }
  const allowed = entry.endpoints.filter(
    ({ provider }) => guardrail?.allowedProviders?.includes(provider.name) !== false
  )
  if (allowed.length === 0 && guardrail !== null) {
    return Effect.fail(
      forbidden(`the guardrail "${guardrail.name}" of this key allows no provider of the model ${quoted(entry.id)}`)
    )
  }
  const wanted = allowed.filter(
    (endpoint) =>
      preferences?.only?.includes(endpoint.provider.name) !== false &&
      preferences?.ignore?.includes(endpoint.provider.name) !== true &&
      affordable(endpoint, preferences?.max_price)
  )
  if (wanted.length === 0) {
    return Effect.fail(notFound(`no provider of the model ${quoted(entry.id)} matches the routing preferences`))
  }
  const order = preferences?.order ?? []
  const rank = ({ provider }: Endpoint<M>): number => {
    const place = order.indexOf(provider.name)
    return place === -1 ? order.length : place
  }
  const compare = comparator(choice)
  const sorted = wanted.toSorted((a, b) => rank(a) - rank(b) || compare(a, b))
  return Effect.succeed(preferences?.allow_fallbacks === false ? sorted.slice(0, 1) : sorted)
}
