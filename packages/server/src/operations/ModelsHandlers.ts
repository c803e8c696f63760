/** The models that the caller can use, their offers and their providers. */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { NotFound, phrases } from "@model-gateway/core/GatewayError"
import type * as Models from "@model-gateway/core/Models"
import type * as Providers from "@model-gateway/core/Providers"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { currentCaller } from "../access/Caller.ts"
import { type Entry, ModelCatalogue } from "../routing/ModelCatalogue.ts"
import * as OwnKeys from "../routing/OwnKeys.ts"
import { toEndpoints, toModel, toVideoModel } from "./ModelShape.ts"

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

const nextPath = (query: object, offset: number, limit: number): string => {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...query, offset, limit })) parameters.set(name, String(value))
  return `/api/v1/models?${parameters.toString()}`
}

const pageOf = (all: ReadonlyArray<Models.Model>, query: Models.ListOptions): Models.ListResponse => {
  const isPaged = query.offset !== undefined || query.limit !== undefined
  const { limit = isPaged ? defaultLimit : all.length, offset = 0 } = query
  const end = offset + limit
  return {
    object: "list",
    data: all.slice(offset, end),
    links: { next: end < all.length ? nextPath(query, end, limit) : null },
    total_count: all.length
  }
}

const isKnown = <A>(value: A | undefined): value is A => value !== undefined

/** The providers of the offers, by name. */
const providersOf = (offers: ReadonlyArray<Entry["offers"][number]>): ReadonlyArray<Providers.Provider> =>
  [...new Set(offers.map(({ provider }) => provider))].sort().map((name) => ({
    name,
    slug: name,
    privacy_policy_url: null,
    terms_of_service_url: null,
    status_page_url: null,
    headquarters: null,
    datacenters: null,
    kinds: [...new Set(offers.filter(({ provider }) => provider === name).map(({ kind }) => kind))]
  }))

/** The services that the operations need, looked up once. */
const make = Effect.gen(function* () {
  const catalogue = yield* ModelCatalogue
  const ownKeys = yield* OwnKeys.OwnKeys
  const models = catalogue.all.map((entry) => ({ entry, model: toModel(entry) }))
  const videoModels = new Map(
    catalogue.all.flatMap(({ id }) => {
      const entry = catalogue.video(id)
      return entry?.id === id ? [[id, toVideoModel(entry)] as const] : []
    })
  )
  const own = Effect.flatMap(currentCaller, (caller) => ownKeys.of(caller))

  const usable = Effect.map(own, (keys) => models.filter(({ entry }) => OwnKeys.isUsable(entry.offers, keys)))

  const usableOffers = (entry: Entry, keys: Effect.Success<typeof own>) =>
    entry.offers.filter((offer) => OwnKeys.isUsable([offer], keys))

  const list = (query: Models.ListOptions) =>
    Effect.map(usable, (known) => known.map(({ model }) => model).filter((model) => matches(model, query)))

  const find = Effect.fnUntraced(function* (author: string, slug: string) {
    const id = `${author}/${slug}`
    const entry = [catalogue.rerank(id), catalogue.transcription(id), catalogue.video(id)].find(isKnown)
    const offers = entry === undefined ? [] : usableOffers(entry, yield* own)
    if (entry === undefined || offers.length === 0) {
      return yield* new NotFound({ error: { message: `${phrases[404]}: there is no model ${id}` } })
    }
    return { entry, id, offers }
  })

  return {
    list: (query: Models.ListOptions) => Effect.map(list(query), (all) => pageOf(all, query)),
    count: (query: Models.ListOptions) => Effect.map(list(query), ({ length }) => ({ data: { count: length } })),
    get: (author: string, slug: string) =>
      Effect.map(find(author, slug), ({ entry, id }) => ({ data: toModel(entry, id) })),
    endpoints: (author: string, slug: string) =>
      Effect.map(find(author, slug), ({ entry, id, offers }) => ({ data: toEndpoints(entry, offers, id) })),
    videoModels: Effect.map(usable, (known) => ({
      data: known.flatMap(({ entry: { id, kind } }) => (kind === "video" ? [videoModels.get(id)].filter(isKnown) : []))
    })),
    providers: Effect.map(own, (keys) => ({
      data: providersOf(catalogue.all.flatMap((entry) => usableOffers(entry, keys)))
    }))
  }
})

/** The `models` group of the contract. */
export const layer = HttpApiBuilder.group(GatewayApi, "models", (handlers) =>
  Effect.map(make, ({ count, endpoints, get, list, providers, videoModels }) =>
    handlers
      .handle("listModels", ({ query }) => list(query))
      .handle("countModels", ({ query }) => count(query))
      .handle("getModel", ({ params }) => get(params.author, params.slug))
      .handle("listModelEndpoints", ({ params }) => endpoints(params.author, params.slug))
      .handle("listVideoModels", () => videoModels)
      .handle("listProviders", () => providers)
  )
)
