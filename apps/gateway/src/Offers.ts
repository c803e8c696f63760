/**
 * Which models the executable offers: those of the settings file, the built-in ones of every
 * upstream that is set, then the sandbox's.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { type InvalidModel, withDataPolicy } from "@model-gateway/offers/Adapter"
import type { Model, VideoModel } from "@model-gateway/offers/Model"
import type { Offer, Offers } from "@model-gateway/offers/Offer"
import * as AnthropicFiles from "@model-gateway/providers/AnthropicFiles"
import * as OpenAiFiles from "@model-gateway/providers/OpenAiFiles"
import { make as makeResponseMemory, ResponseMemory } from "@model-gateway/offers/ResponseMemory"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
import * as NodeGateway from "@model-gateway/node/NodeGateway"
import * as LinkClient from "@model-gateway/server/LinkClient"
import * as UpstreamLookup from "@model-gateway/server/UpstreamLookup"
import * as Sandbox from "@model-gateway/sandbox/Sandbox"
import { Cache, Context, Duration, Effect, FileSystem, Layer } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as CatalogFile from "./CatalogFile.ts"
import { Failure } from "./Failure.ts"
import type { Loaded } from "./LoadSettings.ts"
import * as ModelOffers from "./ModelOffers.ts"
import { Offered, type OfferSettings, type Upstream } from "./Offered.ts"
import { OfferedAgain } from "./OfferedAgain.ts"
import * as Upstreams from "./Upstreams.ts"

/** The longest wait of an upstream: no shorter than that of any of its models. */
const maxTimeLimit = ({ timeLimit }: Upstream, models: ReadonlyArray<Model>): Duration.Duration =>
  [...models, { timeLimit }].reduce(
    (longest, { timeLimit = Duration.zero }) => Duration.max(longest, timeLimit),
    UpstreamHttp.defaultTimeLimit
  )

/** The offer with the time limit of its upstream, unless it has one of its own. */
const withTimeLimit =
  ({ timeLimit }: Upstream) =>
  (offer: Offer): Offer =>
    timeLimit === undefined || offer.timeLimit !== undefined ? offer : { ...offer, timeLimit }

/**
 * The offer. What the catalog says of the end of a model is said of the public service: elsewhere
 * the operator ends it.
 */
const withEnd =
  ({ adapter, baseUrl }: Upstream) =>
  (offer: Offer): Offer => {
    const isPublic = adapter.defaultBaseUrl === undefined || baseUrl === adapter.defaultBaseUrl
    if (offer.expiresOn === undefined || isPublic) return offer
    const { expiresOn: _expiresOn, ...others } = offer
    return others
  }

/** The models that the settings file adds at an upstream. */
const modelsAt = (upstream: Upstream, configured: ReadonlyArray<ModelOffers.ModelOffer>): ReadonlyArray<Model> =>
  configured.filter((each) => each.upstream === upstream).map(({ model }) => model)

const make = Effect.fnUntraced(function* (loaded: Loaded, settings: OfferSettings, sandbox: Offers) {
  const catalog = yield* CatalogFile.read(settings.catalog)
  const adapters = CatalogFile.adaptersOf(catalog.catalog)
  const upstreams = yield* Upstreams.all(loaded, settings.upstreams, adapters)
  const fileProviders = {
    provider_a: yield* OpenAiFiles.make({
      baseUrl: settings.upstreams["openai"]?.baseUrl ?? OpenAiFiles.defaultBaseUrl
    }),
    provider_b: yield* AnthropicFiles.make({ baseUrl: settings.anthropicBaseUrl })
  }
  const configured = yield* ModelOffers.all(loaded, upstreams)
  const replaced = new Set(Object.keys(loaded.file.modelSettings.models ?? {}))
  const isKept = ({ publicId }: { readonly publicId: string }) => !replaced.has(publicId)

  const builtIn: Array<Offer> = []
  const made = new Map<Model, Offer>()
  for (const upstream of upstreams) {
    const { adapter, baseUrl, credential, dataPolicy, name } = upstream
    const added = modelsAt(upstream, configured)
    const models = [...(name === adapter.name ? adapter.models.filter(isKept) : []), ...added]
    const timeLimit = maxTimeLimit(upstream, models)
    const offers = yield* adapter.offers({ name, baseUrl, credential, timeLimit }, models).pipe(
      Effect.map((offers) => withDataPolicy(offers.map(withTimeLimit(upstream)).map(withEnd(upstream)), dataPolicy)),
      Effect.mapError((error) => invalid(error, configured))
    )
    // An adapter that is given no models offers those that its upstream lists.
    const start = offers.length - added.length
    builtIn.push(...offers.slice(0, start).filter(isKept))
    for (const [index, model] of added.entries()) {
      const offer = offers[start + index]
      if (offer !== undefined) made.set(model, offer)
    }
  }
  yield* checkTurnedOff(loaded, [...adapters.flatMap(({ models }) => models), ...sandbox])
  const offers = [...configured.flatMap(({ model }) => made.get(model) ?? []), ...builtIn, ...sandbox.filter(isKept)]
  const makeVideoOffer = yield* videoOffers(upstreams)
  return Offered.of({ catalog, upstreams, offers, fileProviders, makeVideoOffer })
})

/** The most models that open video jobs were accepted with, beside those of the catalog. */
const maxFormerModels = 100

/** Each offer is made once, because some keep a token of the upstream. */
const videoOffers = Effect.fnUntraced(function* (upstreams: ReadonlyArray<Upstream>) {
  const offers = yield* Cache.make({
    capacity: maxFormerModels,
    requireServicesAt: "construction",
    lookup: Effect.fnUntraced(function* ({
      model,
      provider
    }: {
      readonly model: VideoModel
      readonly provider: string
    }) {
      const upstream = upstreams.find(({ name }) => name === provider)
      if (upstream === undefined) return undefined
      const { adapter, baseUrl, credential, name } = upstream
      const [made] = yield* adapter
        .offers({ name, baseUrl, credential, timeLimit: maxTimeLimit(upstream, [model]) }, [model])
        .pipe(Effect.catchTag("InvalidModel", () => Effect.succeed([])))
      return made?.kind === "video" ? made : undefined
    })
  })
  return (provider: string, model: VideoModel) => Cache.get(offers, { provider, model })
})

/**
 * Fails with a sentence if the gateway could not start with a catalog, such as if the settings need
 * a model that it lacks.
 */
export const check = Effect.fnUntraced(function* (
  loaded: Loaded,
  settings: OfferSettings,
  catalog: CatalogFile.InUse["catalog"]
) {
  const adapters = CatalogFile.adaptersOf(catalog)
  const upstreams = yield* Upstreams.all(loaded, settings.upstreams, adapters)
  const configured = yield* ModelOffers.all(loaded, upstreams)
  for (const upstream of upstreams) {
    const models = modelsAt(upstream, configured)
    // An adapter that is given no models may ask its upstream for some.
    if (models.length === 0) continue
    yield* Effect.mapError(upstream.adapter.offers(upstream, models), (error) => invalid(error, configured))
  }
  yield* checkTurnedOff(loaded, [...adapters.flatMap(({ models }) => models), ...(yield* Sandbox.make())])
})

/** The failure for a model that its adapter cannot offer. */
const invalid = ({ message, model }: InvalidModel, configured: ReadonlyArray<ModelOffers.ModelOffer>): Failure => {
  const found = configured.find((each) => each.model === model)
  return new Failure({
    message: `${found?.source ?? `The built-in model ${model.publicId}`} cannot be offered: ${message}.`
  })
}

/** Fails if a model without offers is not a built-in one: only those can be turned off. */
const checkTurnedOff = (
  { file: { modelSettings, sourceOf } }: Loaded,
  builtIn: ReadonlyArray<{ readonly publicId: string }>
): Effect.Effect<void, Failure> => {
  const wrong = Object.entries(modelSettings.models ?? {}).find(
    ([id, { offers }]) => offers.length === 0 && !builtIn.some(({ publicId }) => publicId === id)
  )
  return wrong === undefined
    ? Effect.void
    : Effect.fail(
        new Failure({
          message: `${sourceOf(["models", wrong[0]])} has no offers, and there is no built-in model with this id to turn off.`
        })
      )
}

/** It reads no proxy from the environment, so it cannot fail. */
const httpClient = Layer.unwrap(
  Effect.map(UpstreamLookup.make, (lookup) =>
    Layer.orDie(NodeGateway.layerHttpClient({ connections: 1024, proxy: "none", agent: { connect: { lookup } } }))
  )
)

const platform = Layer.merge(NodeServices.layer, SecureRandom.layerWebCrypto)

/** What fetching a catalog and making offers of its models needs. */
export const layerServices = Layer.merge(NodeGateway.layerHttpClient(), platform)

const systemFiles = Layer.effect(FileSystem.FileSystem, FileSystem.FileSystem)

/**
 * The offers that the settings give. They share connections, which the layer keeps open. Offers
 * without a credential of the gateway are for callers with a provider key. `files` is
 * the file system for the temporary files of calls. Default: they are in the system's folder.
 */
export const layer = <E = never>(
  loaded: Loaded,
  settings: OfferSettings,
  files: Layer.Layer<FileSystem.FileSystem, E, Layer.Success<typeof platform>> = systemFiles
): Layer.Layer<Offered | OfferedAgain, E | Failure> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const sandbox = yield* Sandbox.make()
      const first = make(loaded, settings, sandbox)
      const context = yield* Effect.context<Effect.Services<typeof first>>()
      return Context.make(Offered, yield* first).pipe(
        Context.add(OfferedAgain, (loaded, settings) => Effect.provide(make(loaded, settings, sandbox), context))
      )
    })
  ).pipe(Layer.provide([files, httpClient, LinkClient.layer, responseMemory(settings)]), Layer.provide(platform))

const responseMemory = ({ responseMemory: bytes }: OfferSettings): Layer.Layer<never> =>
  bytes === undefined ? Layer.empty : Layer.succeed(ResponseMemory, makeResponseMemory(bytes))
