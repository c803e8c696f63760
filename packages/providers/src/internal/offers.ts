/** What the offers of every adapter over HTTP begin with. */
import { Effect } from "effect"
import type { HttpClient } from "effect/http"
import { type Adapter, InvalidModel, type Upstream } from "@model-gateway/offers/Adapter"
import type { Model, TranscriptionModel } from "@model-gateway/offers/Model"
import type { Offer } from "@model-gateway/offers/Offer"
import type { PerSecond } from "@model-gateway/offers/Pricing"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"

/** Which models an adapter can offer, and how. `R` is what the offers need to be made. */
export interface Options<M extends Model, R = never> extends Pick<
  UpstreamHttp.Options,
  "authentication" | "inputStatuses" | "reasonOf"
> {
  readonly isModel: (model: Model) => model is M
  /** What {@link isModel} expects. It completes the sentence "The model …". */
  readonly expected: string
  readonly offer: (
    http: UpstreamHttp.UpstreamHttp,
    upstream: Upstream,
    model: M
  ) => Effect.Effect<Offer, InvalidModel, R>
}

/** A transcription model with a price per second. */
export type PerSecondModel = TranscriptionModel & { readonly pricing: PerSecond }

/** For adapters that offer nothing but transcriptions with a price per second. */
export const perSecond = {
  isModel: (model: Model): model is PerSecondModel => model.kind === "transcription" && model.pricing.unit === "second",
  expected: "must be a transcription model with a price per second"
}

/** The `offers` of an adapter. */
export const overHttp =
  <M extends Model, R = never>({
    expected,
    isModel,
    offer,
    ...options
  }: Options<M, R>): Adapter<HttpClient.HttpClient | R>["offers"] =>
  (upstream, models) =>
    Effect.flatMap(
      UpstreamHttp.make({
        ...options,
        baseUrl: upstream.baseUrl,
        credential: upstream.credential,
        timeLimit: upstream.timeLimit
      }),
      (http) =>
        Effect.forEach(models, (model) =>
          isModel(model) ? offer(http, upstream, model) : Effect.fail(new InvalidModel({ model, message: expected }))
        )
    )
