/** The models that the caller can use, their offers and their providers. */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import type * as Models from "@model-gateway/core/Models"
import type * as ProviderHealth from "@model-gateway/core/ProviderHealth"
import * as Providers from "@model-gateway/core/Providers"
import type { Offer } from "@model-gateway/offers/Offer"
import { Array, Clock, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { currentCaller } from "../access/Caller.ts"
import { GatewayServerConfig, timeLimitOf } from "../GatewayServerConfig.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import * as Candidate from "../routing/Candidate.ts"
import * as RequestServices from "../http/RequestServices.ts"
import * as Candidates from "../routing/Candidates.ts"
import { type Entry, ModelCatalog } from "../routing/ModelCatalog.ts"
import * as AllowedProviderKeys from "../routing/AllowedProviderKeys.ts"
import * as ProviderHealthShape from "../routing/ProviderHealthShape.ts"
import { Router } from "../routing/Router.ts"
import { ProcessInstance } from "../storage/sql/ProcessInstance.ts"
import * as Estimates from "./Estimates.ts"
import { dataPolicyOf, toEndpoints, toModel, toVideoModel } from "../routing/ModelShape.ts"

/** The page of a request that has an offset and no limit. */
const defaultLimit = 500

const namesOf = (list: string | undefined): ReadonlyArray<string> | undefined =>
  list === undefined || list === "all" ? undefined : list.split(",").map((name) => name.trim())

const isAnyOf = (wanted: string | undefined, names: ReadonlyArray<string>): boolean =>
  namesOf(wanted)?.some((name) => names.includes(name)) !== false

const isText = (wanted: string | undefined, texts: ReadonlyArray<string>): boolean =>
  wanted === undefined || texts.some((text) => text.toLowerCase().includes(wanted.toLowerCase()))

const matches = (model: Models.Model, wanted: Models.ListOptions): boolean =>
  isAnyOf(wanted.output_modalities, model.architecture.output_modalities) &&
  isAnyOf(wanted.input_modalities, model.architecture.input_modalities) &&
  isAnyOf(wanted.providers, model.providers) &&
  isAnyOf(wanted.model_authors, [model.owned_by]) &&
  namesOf(wanted.supported_parameters)?.every((name) => model.supported_parameters.includes(name)) !== false &&
  isText(wanted.q, [model.id, model.name])

const nextPath = (basePath: string, query: object, offset: number, limit: number): string => {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...query, offset, limit })) parameters.set(name, String(value))
  return `${basePath}/api/v1/models?${parameters.toString()}`
}

const pageOf = (basePath: string, all: ReadonlyArray<Models.Model>, query: Models.ListOptions): Models.ListResponse => {
  const isPaged = query.offset !== undefined || query.limit !== undefined
  const { limit = isPaged ? defaultLimit : all.length, offset = 0 } = query
  const end = offset + limit
  return {
    object: "list",
    data: all.slice(offset, end),
    links: { next: end < all.length ? nextPath(basePath, query, end, limit) : null },
    total_count: all.length
  }
}

/** The providers of the models, by name. */
const providersOf = (entries: ReadonlyArray<Entry>): ReadonlyArray<Providers.Provider> => {
  const offers = Map.groupBy(
    entries.flatMap((entry) => entry.offers),
    ({ provider }) => provider
  )
  return [...offers.keys()].sort().map((name) => ({
    name,
    slug: name,
    ...Providers.fixed,
    kinds: [...new Set(offers.get(name)?.map(({ kind }) => kind))],
    // All offers of a provider are of one upstream, so they have the same one.
    ...dataPolicyOf(offers.get(name)?.[0])
  }))
}

/**
 * The entries with those of their offers that the caller can use. Without the ones that have none.
 */
const usable = <O extends Offer>(
  entries: ReadonlyArray<Entry<O>>,
  providerKeys: AllowedProviderKeys.Keys
): ReadonlyArray<Entry<O>> =>
  entries.flatMap((entry) => {
    const offers = entry.offers.filter((offer) => AllowedProviderKeys.isUsable([offer], providerKeys))
    if (!Array.isReadonlyArrayNonEmpty(offers)) return []
    return offers.length === entry.offers.length ? [entry] : [{ ...entry, offers }]
  })

/** The services that the operations need, looked up once. */
const make = Effect.gen(function* () {
  const { basePath = "", deadlines } = yield* GatewayServerConfig
  const catalog = yield* ModelCatalog
  const router = yield* Router
  const { id: processId } = yield* ProcessInstance
  const allowedKeys = yield* AllowedProviderKeys.AllowedProviderKeys
  const models = new WeakMap<Entry, ReturnType<typeof toModel>>()
  const providerKeys = Effect.flatMap(currentCaller, (caller) => allowedKeys.of(caller))

  /** A model as the list has it. Made once, because lists are long. */
  const modelOf = (entry: Entry) => {
    const known = models.get(entry)
    if (known !== undefined) return known
    const model = toModel(basePath, entry)
    models.set(entry, model)
    return model
  }

  const list = (keys: AllowedProviderKeys.Keys, query: Models.ListOptions) =>
    usable(catalog.all, keys)
      .map(modelOf)
      .filter((model) => matches(model, query))

  const find = Effect.fnUntraced(function* (author: string, slug: string) {
    const id = `${author}/${slug}`
    const known: Entry | undefined = catalog.rerank(id) ?? catalog.transcription(id) ?? catalog.video(id)
    const [entry] = known === undefined ? [] : usable([known], yield* providerKeys)
    return entry === undefined ? yield* Candidates.noSuchModel(id) : { entry, id }
  })

  const health = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const endpoints = yield* Effect.forEach(
      catalog.all.flatMap(({ offers }) => offers),
      (offer) => {
        const [candidate] = Candidate.ofGateway<Offer>(offer)
        const timeLimit = timeLimitOf(offer, deadlines)
        return candidate === undefined
          ? Effect.succeed(ProviderHealthShape.withoutCredential(offer, timeLimit))
          : Effect.map(router.health(candidate), (known) => ProviderHealthShape.of(offer, timeLimit, known, now))
      }
    )
    const rank = ({ circuit }: ProviderHealth.Endpoint) => (circuit.state === "closed" ? 1 : 0)
    return {
      data: endpoints.toSorted((one, other) => rank(one) - rank(other)),
      instance: { id: processId, started_at: Timestamp.fromMillis(router.startedAt) }
    }
  })

  return { basePath, catalog, providerKeys, list, find, health, estimate: yield* Estimates.make }
})

/** The `models` group of the contract. */
export const layer = RequestServices.group(make, ({ basePath, catalog, estimate, find, health, list, providerKeys }) =>
  HttpApiBuilder.group(GatewayApi, "models", (handlers) =>
    handlers
      .handle("listModels", ({ query }) =>
        Effect.map(providerKeys, (keys) => pageOf(basePath, list(keys, query), query))
      )
      .handle("countModels", ({ query }) =>
        Effect.map(providerKeys, (keys) => ({ data: { count: list(keys, query).length } }))
      )
      .handle("getModel", ({ params }) =>
        Effect.map(find(params.author, params.slug), ({ entry, id }) => ({ data: toModel(basePath, entry, id) }))
      )
      .handle("listModelEndpoints", ({ params }) =>
        Effect.map(find(params.author, params.slug), ({ entry, id }) => ({ data: toEndpoints(entry, id) }))
      )
      .handle("listVideoModels", () =>
        Effect.map(providerKeys, (keys) => ({ data: usable(catalog.videos, keys).map(toVideoModel) }))
      )
      .handle("listProviders", () =>
        Effect.map(providerKeys, (keys) => ({ data: providersOf(usable(catalog.all, keys)) }))
      )
      .handle("getProviderHealth", () => health)
      .handle("estimate", ({ payload }) => Effect.map(estimate(payload), (data) => ({ data })))
  )
)
