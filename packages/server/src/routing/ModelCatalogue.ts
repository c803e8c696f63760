/**
 * The available models and the endpoints that serve them. An endpoint is one provider's offer of a
 * model, with its own price.
 */
import type { Model, ModelKind, RerankModel, TranscriptionModel, VideoModel } from "@model-gateway/providers/Model"
import type { Provider } from "@model-gateway/providers/Provider"
import { Context, Layer } from "effect"

/** One provider's offer of a model. */
export interface Endpoint<out M extends Model = Model> {
  /** Unique. Also names the endpoint's circuit. */
  readonly key: string
  readonly provider: Provider
  /** The model as this provider offers it. Its `id` is the upstream's. */
  readonly model: M
}

/** A model and its endpoints, in the order of the providers. */
export interface Entry<out M extends Model = Model> {
  readonly id: string
  readonly kind: M["kind"]
  readonly endpoints: readonly [Endpoint<M>, ...ReadonlyArray<Endpoint<M>>]
}

/** The catalogue. */
export class ModelCatalogue extends Context.Service<
  ModelCatalogue,
  {
    /** A rerank model by its id. */
    readonly rerank: (id: string) => Entry<RerankModel> | undefined
    /** A transcription model by its id. */
    readonly transcription: (id: string) => Entry<TranscriptionModel> | undefined
    /** A video model by its id. */
    readonly video: (id: string) => Entry<VideoModel> | undefined
    /** The kinds of models with this id, for errors about a model of the wrong kind. */
    readonly kindsOf: (id: string) => ReadonlyArray<ModelKind>
    /** Every model, in the order of the providers. */
    readonly all: ReadonlyArray<Entry>
    /** A provider by its name. Jobs store the name of the provider that took them. */
    readonly provider: (name: string) => Provider | undefined
  }
>()("@model-gateway/server/routing/ModelCatalogue") {}

const entriesOf = <M extends Model>(
  providers: ReadonlyArray<Provider>,
  isKind: (model: Model) => model is M
): ReadonlyMap<string, Entry<M>> => {
  const entries = new Map<string, Entry<M>>()
  for (const provider of providers) {
    for (const model of provider.models) {
      if (!isKind(model)) continue
      const endpoint: Endpoint<M> = { key: `${model.kind} ${provider.name} ${model.id}`, provider, model }
      const known = entries.get(model.id)
      entries.set(model.id, {
        id: model.id,
        kind: model.kind,
        endpoints: known === undefined ? [endpoint] : [...known.endpoints, endpoint]
      })
    }
  }
  return entries
}

/** Makes the catalogue from the providers' models. */
export const make = (providers: ReadonlyArray<Provider>): ModelCatalogue["Service"] => {
  const rerank = entriesOf(providers, (model) => model.kind === "rerank")
  const transcription = entriesOf(providers, (model) => model.kind === "transcription")
  const video = entriesOf(providers, (model) => model.kind === "video")
  const all: ReadonlyArray<Entry> = [...rerank.values(), ...transcription.values(), ...video.values()]
  const byName = new Map(providers.map((provider) => [provider.name, provider]))
  return ModelCatalogue.of({
    rerank: (id) => rerank.get(id),
    transcription: (id) => transcription.get(id),
    video: (id) => video.get(id),
    kindsOf: (id) => all.filter((entry) => entry.id === id).map((entry) => entry.kind),
    all,
    provider: (name) => byName.get(name)
  })
}

/** The catalogue of the given providers. */
export const layer = (providers: ReadonlyArray<Provider>): Layer.Layer<ModelCatalogue> =>
  Layer.sync(ModelCatalogue, () => make(providers))
