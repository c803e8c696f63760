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
import { Duration, Effect, Schema, Stream } from "effect"
import { HttpClientRequest } from "effect/http"
import { type Adapter, InvalidModel, type Upstream } from "./Adapter.ts"
import * as Catalogue from "./Catalogue.ts"
import * as Parameters from "./internal/parameters.ts"
import * as VideoInput from "./internal/videoInput.ts"
import type { VideoModel } from "./Model.ts"
import * as Offer from "./Offer.ts"
import type { Credential, VideoOffer } from "./Offer.ts"
import { BadResponse, ProviderError, RateLimited, type Reason } from "./ProviderError.ts"
import * as SafeMessage from "./SafeMessage.ts"
import * as UpstreamHttp from "./UpstreamHttp.ts"
import type { JobHandle, SubmittedVideo, VideoStatus, VideoSubmission } from "./Video.ts"

// Request mapping

/** A model's version has no endpoint of its own. Its name in the body of a prediction is refused. */
const submission = (upstreamId: string, input: Readonly<Record<string, Schema.Json>>) =>
  upstreamId.includes(":")
    ? HttpClientRequest.post("predictions").pipe(HttpClientRequest.bodyJsonUnsafe({ version: upstreamId, input }))
    : HttpClientRequest.post(`models/${upstreamId}/predictions`).pipe(HttpClientRequest.bodyJsonUnsafe({ input }))

const UpstreamId = Schema.String.check(Schema.isPattern(/^[\w.-]+\/[\w.-]+(?::[0-9a-f]{64})?$/))

// Response mapping

const Created = Schema.Struct({ id: Schema.String.check(Schema.isPattern(/^[\w-]{1,64}$/)) })

const isHandle = Schema.is(Created.fields.id)

const Prediction = Schema.Struct({
  status: Schema.Literals(["starting", "processing", "succeeded", "failed", "canceled", "aborted"]),
  output: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(Schema.Unknown)
})

type Prediction = typeof Prediction.Type

const isText = Schema.is(Schema.String)
const isTexts = Schema.is(Schema.Array(Schema.String))

/** The links to the videos. Replicate deletes them an hour after the prediction. */
const linksOf = ({ output }: Prediction): ReadonlyArray<string> =>
  isText(output) ? [output] : isTexts(output) ? output : []

const failed = (message: string): VideoStatus => ({ status: "failed", message })

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
  { credential, name }: Upstream,
  model: VideoModel,
  parameters: VideoInput.Parameters
): VideoOffer => {
  const call = (request: HttpClientRequest.HttpClientRequest, credential: Credential) => ({
    request: HttpClientRequest.acceptJson(request),
    credential,
    model: model.upstreamId
  })
  const path = (handle: JobHandle): Effect.Effect<string, ProviderError> =>
    isHandle(handle)
      ? Effect.succeed(`predictions/${handle}`)
      : Effect.fail(new ProviderError({ reason: new BadResponse({ description: "no handle of Replicate" }) }))
  const read = (handle: JobHandle, credential: Credential) =>
    Effect.flatMap(path(handle), (path) => http.json(call(HttpClientRequest.get(path), credential), Prediction))

  return {
    ...Offer.ofModel(model),
    kind: "video",
    provider: name,
    credential,
    pricing: model.pricing,
    capabilities: VideoInput.capabilitiesOf(parameters),
    isIdempotent: false,
    quote: (request) => VideoInput.costOf(model, parameters, request),
    check: (request) => VideoInput.check(name, model, parameters, request),
    submit: Effect.fn("Replicate.submit")(function* ({ request }: VideoSubmission, credential: Credential) {
      yield* VideoInput.check(name, model, parameters, request)
      const input = VideoInput.inputOf(parameters, request)
      return (yield* http.json(call(submission(model.upstreamId, input), credential), Created)).id
    }),
    poll: Effect.fn("Replicate.poll")(function* (
      { handle, request }: SubmittedVideo,
      credential: Credential
    ): Effect.fn.Return<VideoStatus, ProviderError> {
      const prediction = yield* read(handle, credential)
      switch (prediction.status) {
        case "starting":
        case "processing":
          return { status: "in_progress" }
        case "succeeded": {
          const outputs = linksOf(prediction).length
          return { status: "completed", outputs, charge: VideoInput.chargeOf(model, parameters, request, outputs) }
        }
        case "failed": {
          const { error } = prediction
          return failed(
            (isText(error) ? SafeMessage.make(error) : undefined) ?? "the provider could not make the video"
          )
        }
        case "canceled":
        case "aborted":
          return failed("the provider canceled the job")
      }
    }),
    content: ({ handle, index }, credential) =>
      Stream.unwrap(
        Effect.map(read(handle, credential), (prediction) => {
          const url = linksOf(prediction)[index]
          return url === undefined
            ? Stream.fail(new ProviderError({ reason: new BadResponse({ description: `no output ${index}` }) }))
            : http.download({ url, model: model.upstreamId })
        })
      ),
    cancel: Effect.fn("Replicate.cancel")(function* (handle: JobHandle, credential: Credential) {
      const request = HttpClientRequest.post(`${yield* path(handle)}/cancel`)
      yield* http.json(call(request, credential), Schema.Unknown).pipe(
        // What is over cannot be canceled.
        Effect.catchIf(
          ({ status }) => status === 404 || status === 422,
          () => Effect.void
        )
      )
    })
  }
}

/**
 * Replicate: `REPLICATE_API_TOKEN`, `REPLICATE_BASE_URL`.
 *
 * `parameters` of a model describe its input; see the guide.
 *
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "replicate",
  title: "Replicate",
  variables: { apiKey: "REPLICATE_API_TOKEN", baseUrl: "REPLICATE_BASE_URL" },
  defaultBaseUrl: "https://api.replicate.com/v1",
  credential: "required",
  kinds: ["video"],
  models: Catalogue.of("replicate"),
  offers: (upstream, models) =>
    Effect.flatMap(UpstreamHttp.make({ baseUrl: upstream.baseUrl, timeLimit: upstream.timeLimit, reasonOf }), (http) =>
      Effect.forEach(models, (model) => {
        if (model.kind !== "video") return Effect.fail(new InvalidModel({ model, message: "must be a video model" }))
        if (!Schema.is(UpstreamId)(model.upstreamId)) {
          return Effect.fail(
            new InvalidModel({ model, message: "must have an upstream id such as owner/name or owner/name:version" })
          )
        }
        return Effect.map(Parameters.decode(VideoInput.Parameters, model), (parameters) =>
          video(http, upstream, model, parameters)
        )
      })
    )
}
