/**
 * Replicate's video models: official ones by name (`owner/name`), others by version
 * (`owner/name:version`).
 *
 * Protocol: https://replicate.com/docs/reference/http. Statuses:
 * https://replicate.com/docs/topics/predictions/lifecycle. Rate limits:
 * https://replicate.com/docs/topics/predictions/rate-limits. Fields and prices stand on the page of
 * each model, such as https://replicate.com/google/veo-3.1-fast.
 *
 * @since 0.1.0
 */
import { Duration, Effect, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import type { Adapter, Upstream } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import * as VideoInput from "./internal/videoInput.ts"
import * as VideoJobs from "./internal/videoJobs.ts"
import type { VideoModel } from "@model-gateway/offers/Model"
import type { VideoOffer } from "@model-gateway/offers/Offer"
import { RateLimited, type Reason } from "@model-gateway/offers/ProviderError"
import * as SafeMessage from "@model-gateway/offers/SafeMessage"
import type * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"

// Request mapping

/**
 * A model's version has no endpoint of its own. Its name in the body of a prediction is refused.
 */
const submission = (upstreamId: string, input: Readonly<Record<string, Schema.Json>>) =>
  upstreamId.includes(":")
    ? HttpClientRequest.post("predictions").pipe(HttpClientRequest.bodyJsonUnsafe({ version: upstreamId, input }))
    : HttpClientRequest.post(`models/${upstreamId}/predictions`).pipe(HttpClientRequest.bodyJsonUnsafe({ input }))

// Response mapping

const Created = Schema.Struct({ id: Schema.String.check(Schema.isPattern(/^[\w-]{1,64}$/)) })

const Prediction = Schema.Struct({
  status: Schema.Literals(["starting", "processing", "succeeded", "failed", "canceled", "aborted"]),
  output: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(Schema.Unknown)
})

type Prediction = typeof Prediction.Type

const isText = Schema.is(Schema.String)
const isTexts = Schema.is(Schema.Array(Schema.String))
const isObject = Schema.is(Schema.Record(Schema.String, Schema.Unknown))

const textsOf = (value: unknown): ReadonlyArray<string> => (isText(value) ? [value] : isTexts(value) ? value : [])

/** Where models put a video that return an object. */
const members = ["video", "url", "output"]

/**
 * The links to the videos: the output itself, or a member of an object, also of a list of objects.
 * The form is the model's own. Replicate deletes the videos an hour after the prediction.
 */
const linksOf = ({ output }: Prediction): ReadonlyArray<string> =>
  (Array.isArray(output) ? output : [output]).flatMap((value: unknown) => {
    if (!isObject(value)) return textsOf(value)
    return members.map((name) => textsOf(value[name])).find((texts) => texts.length > 0) ?? []
  })

const statusOf = (prediction: Prediction): VideoJobs.Status => {
  switch (prediction.status) {
    case "starting":
    case "processing":
      return { status: "in_progress" }
    case "succeeded":
      return { status: "completed", outputs: linksOf(prediction).length }
    case "failed": {
      const { error } = prediction
      const message = isText(error) ? SafeMessage.make(error) : undefined
      return VideoJobs.failed(message ?? "the provider could not make the video")
    }
    case "canceled":
    case "aborted":
      return VideoJobs.failed("the provider canceled the job")
  }
}

// Error mapping

/** Replicate has no `Retry-After`: it says "Your rate limit resets in ~30s." */
const reasonOf = ({ message, retryAfter, status }: UpstreamHttp.Failure): Reason | undefined => {
  const [, seconds] = /resets in ~?(\d{1,6})s/.exec(message ?? "") ?? []
  return status === 429 && retryAfter === undefined && seconds !== undefined
    ? new RateLimited({ retryAfter: Duration.seconds(Number(seconds)) })
    : undefined
}

// Offers

const video = (
  http: UpstreamHttp.UpstreamHttp,
  upstream: Upstream,
  model: VideoModel,
  parameters: VideoInput.Parameters
): VideoOffer => {
  const read = (id: string, send: VideoJobs.Send) => send(HttpClientRequest.get(`predictions/${id}`), Prediction)
  return VideoJobs.offer<string>(http, upstream, model, {
    module: "Replicate",
    input: VideoInput.of(upstream.name, model, parameters),
    isHandle: Schema.is(Created.fields.id),
    notAHandle: "no handle of Replicate",
    submit: (request, send) =>
      Effect.map(send(submission(model.upstreamId, VideoInput.inputOf(parameters, request)), Created), ({ id }) => id),
    poll: (id, send) => Effect.map(read(id, send), statusOf),
    links: (id, send) => Effect.map(read(id, send), linksOf),
    cancel: (id) => HttpClientRequest.post(`predictions/${id}/cancel`),
    notCancelable: [404, 422]
  })
}

/**
 * Replicate: `REPLICATE_API_TOKEN`, `REPLICATE_BASE_URL`.
 *
 * `parameters` of a model describe its input; see the guide.
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "replicate",
  title: "Replicate",
  variables: { apiKey: "REPLICATE_API_TOKEN", baseUrl: "REPLICATE_BASE_URL" },
  defaultBaseUrl: "https://api.replicate.com/v1",
  credential: "required",
  kinds: ["video"],
  ...Catalog.of("replicate"),
  offers: VideoJobs.offers({
    reasonOf,
    upstreamId: {
      pattern: /^[\w.-]+\/[\w.-]+(?::[0-9a-f]{64})?$/,
      example: "owner/name or owner/name:version"
    },
    parameters: VideoInput.Parameters,
    offer: video
  })
}
