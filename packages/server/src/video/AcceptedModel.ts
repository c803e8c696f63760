/**
 * The declaration of the model that a video job was accepted with: its price, and the parameters
 * that the price depends on. The job is polled and charged by an offer of this declaration, so that
 * it costs what its submission promised, whatever the catalog says later.
 */
import * as Model from "@model-gateway/offers/Model"
import { Price, fromPricing, toPricing } from "@model-gateway/offers/Price"
import { Schema } from "effect"

/** As a candidate of a job stores it. */
export const AcceptedModel = Schema.Struct({
  id: Schema.String,
  price: Price,
  parameters: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))
})

/** As a candidate of a job stores it. */
export type AcceptedModel = typeof AcceptedModel.Type

/** What a job keeps of a model. */
export const of = ({ parameters, pricing, publicId }: Model.VideoModel): AcceptedModel => ({
  id: publicId,
  price: fromPricing(pricing),
  ...(parameters === undefined ? {} : { parameters })
})

/** The model again. Undefined if no video model has such a price. */
export const toModel = ({ id, parameters, price }: AcceptedModel, upstreamId: string): Model.VideoModel | undefined => {
  const pricing = toPricing(price)
  const description = { publicId: id, upstreamId, name: id, ...(parameters === undefined ? {} : { parameters }) }
  const model = pricing && Model.make("video", description, pricing)
  return model?.kind === "video" ? model : undefined
}
