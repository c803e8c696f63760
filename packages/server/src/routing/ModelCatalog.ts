/** The available models, and the offers of each. */
import type { Kind, Offer, Offers, RerankOffer, TranscriptionOffer, VideoOffer } from "@model-gateway/offers/Offer"
import type { VideoModel } from "@model-gateway/offers/Model"
import { Context, Effect, Layer } from "effect"
import * as CheckedOffer from "./CheckedOffer.ts"

/** A model and its offers, in the order of the catalog. */
export interface Entry<out O extends Offer = Offer> {
  /**
   * The id that callers send as `model`. `tei/*` stands for every id that begins with `tei/` and is
   * not an entry of its own. It is one model for circuits and for GET `/models`.
   */
  readonly id: string
  readonly kind: O["kind"]
  readonly offers: readonly [O, ...ReadonlyArray<O>]
}

/**
 * Makes the offer of a provider for a video model. Undefined if the gateway does not have the
 * provider, or if it cannot offer the model.
 */
export type MakeVideoOffer = (provider: string, model: VideoModel) => Effect.Effect<VideoOffer | undefined>

/** The catalog. */
export class ModelCatalog extends Context.Service<
  ModelCatalog,
  {
    /** A rerank model by its id. */
    readonly rerank: (id: string) => Entry<RerankOffer> | undefined
    /** A transcription model by its id. */
    readonly transcription: (id: string) => Entry<TranscriptionOffer> | undefined
    /** A video model by its id. */
    readonly video: (id: string) => Entry<VideoOffer> | undefined
    /** The kinds of models with this id, for errors about a model of the wrong kind. */
    readonly kindsOf: (id: string) => ReadonlyArray<Kind>
    /** Every model: rerank, transcription, video, each in the order of the offers. */
    readonly all: ReadonlyArray<Entry>
    /** Every video model, in the order of the offers. */
    readonly videos: ReadonlyArray<Entry<VideoOffer>>
    /** For jobs whose model has changed since they were accepted. */
    readonly makeVideoOffer: MakeVideoOffer
  }
>()("@model-gateway/server/routing/ModelCatalog") {}

const entriesOf = <O extends Offer>(
  offers: Offers,
  isKind: (offer: Offer) => offer is O,
  checked: (offer: O) => O
): ReadonlyMap<string, Entry<O>> => {
  const entries = new Map<string, Entry<O>>()
  for (const offer of offers) {
    if (!isKind(offer)) continue
    const known = entries.get(offer.publicId)
    entries.set(offer.publicId, {
      id: offer.publicId,
      kind: offer.kind,
      offers: known === undefined ? [checked(offer)] : [...known.offers, checked(offer)]
    })
  }
  return entries
}

/** The entry of an id: its own, or the one with the longest `prefix/*` that it begins with. */
const find = <O extends Offer>(entries: ReadonlyMap<string, Entry<O>>, id: string): Entry<O> | undefined => {
  let entry = entries.get(id)
  for (let at = id.lastIndexOf("/", id.length - 2); entry === undefined && at > 0; at = id.lastIndexOf("/", at - 1)) {
    entry = entries.get(`${id.slice(0, at)}/*`)
  }
  return entry
}

/** Makes the catalog. Offers with the same `publicId` and kind are offers of one model. */
export const make = (
  offers: Offers,
  makeVideoOffer: MakeVideoOffer = () => Effect.undefined
): ModelCatalog["Service"] => {
  const rerank = entriesOf(offers, (offer) => offer.kind === "rerank", CheckedOffer.rerank)
  const transcription = entriesOf(offers, (offer) => offer.kind === "transcription", CheckedOffer.transcription)
  const video = entriesOf(offers, (offer) => offer.kind === "video", CheckedOffer.video)
  const all: ReadonlyArray<Entry> = [...rerank.values(), ...transcription.values(), ...video.values()]
  return ModelCatalog.of({
    rerank: (id) => find(rerank, id),
    transcription: (id) => find(transcription, id),
    video: (id) => find(video, id),
    kindsOf: (id) => [rerank, transcription, video].flatMap((entries) => find<Offer>(entries, id)?.kind ?? []),
    all,
    videos: [...video.values()],
    makeVideoOffer: (provider, model) =>
      Effect.map(makeVideoOffer(provider, model), (offer) => offer && CheckedOffer.video(offer))
  })
}

/** A catalog that may be replaced: each call asks the one that is current then. */
export const delegate = (current: () => ModelCatalog["Service"]): ModelCatalog["Service"] =>
  ModelCatalog.of({
    rerank: (id) => current().rerank(id),
    transcription: (id) => current().transcription(id),
    video: (id) => current().video(id),
    kindsOf: (id) => current().kindsOf(id),
    get all() {
      return current().all
    },
    get videos() {
      return current().videos
    },
    makeVideoOffer: (provider, model) => current().makeVideoOffer(provider, model)
  })

/** The catalog of the given offers. */
export const layer = (offers: Offers): Layer.Layer<ModelCatalog> => Layer.sync(ModelCatalog, () => make(offers))
