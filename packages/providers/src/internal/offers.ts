/** What the offers of every adapter over HTTP begin with. */
import { Effect } from "effect"
import type { HttpClient } from "effect/http"
import { type Adapter, InvalidModel, type Upstream } from "@model-gateway/offers/Adapter"
import type { Model } from "@model-gateway/offers/Model"
import type { Offer } from "@model-gateway/offers/Offer"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"

/** Which models an adapter can offer, and how. */
export interface Options<M extends Model> extends Pick<UpstreamHttp.Options, "authentication" | "reasonOf"> {
  readonly isModel: (model: Model) => model is M
  /** What {@link isModel} expects. It completes the sentence "The model …". */
  readonly expected: string
  readonly offer: (http: UpstreamHttp.UpstreamHttp, upstream: Upstream, model: M) => Effect.Effect<Offer, InvalidModel>
}

/** The `offers` of an adapter. */
export const overHttp =
  <M extends Model>({ expected, isModel, offer, ...options }: Options<M>): Adapter<HttpClient.HttpClient>["offers"] =>
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
