/**
 * Which models there are, and which endpoints serve each: an endpoint is a provider with its own price for the model.
 */
import type { Model, ModelKind, RerankModel, TranscriptionModel, VideoModel } from "@model-gateway/providers/Model"
import type { Provider } from "@model-gateway/providers/Provider"
import { Context, Layer } from "effect"

/** Where a model can be had. */
export interface Endpoint<out M extends Model = Model> {
  /** Unlike that of any other endpoint; names its circuit. */
  readonly key: string
  readonly provider: Provider
  /** The model as this provider has it; its `id` is what the upstream is asked for. */
  readonly model: M
}

/** A model with all that serve it, in the order in which the providers were given. */
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
    /** The kinds of model that bear the id: to say of a model that it is of another kind. */
    readonly kindsOf: (id: string) => ReadonlyArray<ModelKind>
    /** Every model, in the order of the providers. */
    readonly all: ReadonlyArray<Entry>
    /** A provider by its name: for jobs, which pin the one that took them. */
    readonly provider: (name: string) => Provider | undefined
  }
>()("@model-gateway/server/models/ModelCatalogue") {}

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

/** Makes the catalogue of what the providers offer. */
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
