/**
 * fal's video models, through its queue.
 *
 * Protocol: https://fal.ai/docs/api-reference/inference-api. Errors:
 * https://fal.ai/docs/documentation/model-apis/errors. Fields and prices stand on the page of each
 * model, such as https://fal.ai/models/fal-ai/veo3.1/llms.txt.
 *
 * @since 0.1.0
 */
import { Effect, Result, Schema, Stream } from "effect"
import { HttpClientRequest } from "effect/http"
import { type Adapter, InvalidModel, type Upstream } from "./Adapter.ts"
import * as Catalogue from "./Catalogue.ts"
import * as Parameters from "./internal/parameters.ts"
import * as VideoInput from "./internal/videoInput.ts"
import type { VideoModel } from "./Model.ts"
import * as Offer from "./Offer.ts"
import type { Credential, VideoOffer } from "./Offer.ts"
import { BadResponse, OutOfCredit, ProviderError, type Reason } from "./ProviderError.ts"
import * as UpstreamHttp from "./UpstreamHttp.ts"
import type { JobHandle, SubmittedVideo, VideoStatus, VideoSubmission } from "./Video.ts"

// Request mapping

const UpstreamId = Schema.String.check(Schema.isPattern(/^[\w.-]+(?:\/[\w.-]+)+$/))

// Response mapping

/**
 * fal says where a job is asked about: not below the path that it was submitted to. The handle keeps
 * these URLs.
 */
const Handle = Schema.Struct({
  status_url: Schema.String,
  response_url: Schema.String,
  cancel_url: Schema.String
})

type Handle = typeof Handle.Type

const isHandle = Schema.is(Handle)

const Status = Schema.Struct({
  status: Schema.Literals(["IN_QUEUE", "IN_PROGRESS", "COMPLETED"]),
  /** Why a completed job has failed. */
  error: Schema.optionalKey(Schema.Unknown)
})

const File = Schema.Struct({ url: Schema.String })

const Output = Schema.Struct({
  video: Schema.optionalKey(Schema.NullOr(File)),
  videos: Schema.optionalKey(Schema.NullOr(Schema.Array(File)))
})

const linksOf = ({ video, videos }: typeof Output.Type): ReadonlyArray<string> =>
  (video === undefined || video === null ? (videos ?? []) : [video]).map(({ url }) => url)

const badResponse = (description: string) => new ProviderError({ reason: new BadResponse({ description }) })

// Error mapping

/** fal locks an account without credit, which is a 403. */
const reasonOf = ({ message, status }: UpstreamHttp.Failure): Reason | undefined =>
  status === 403 && /\b(?:balance|locked|billing|credits?)\b/i.test(message ?? "") ? new OutOfCredit() : undefined

/** The message of a failed job, if its result says that the job has failed. */
const failureOf = ({ reason, status }: ProviderError): string | undefined => {
  if (reason._tag === "InvalidRequest" || reason._tag === "InputTooLarge") return reason.message
  // A result that is not there is a lost job, and other failures may be those of the call itself.
  return status !== undefined && status >= 400 && status < 500 && ![401, 403, 404, 408, 429].includes(status)
    ? "the provider could not make the video"
    : undefined
}

// Offers

/** Whether a URL is at the upstream, so that it may get the credential. */
const isAt = (baseUrl: string) => {
  const { origin } = new URL(baseUrl)
  return (url: string): boolean => URL.parse(url)?.origin === origin
}

const video = (
  http: UpstreamHttp.UpstreamHttp,
  { baseUrl, credential, name }: Upstream,
  model: VideoModel,
  parameters: VideoInput.Parameters
): VideoOffer => {
  const isOwn = isAt(baseUrl)
  const call = (request: HttpClientRequest.HttpClientRequest, credential: Credential) => ({
    request: HttpClientRequest.acceptJson(request),
    credential,
    model: model.upstreamId
  })
  const own = (handle: JobHandle): Effect.Effect<Handle, ProviderError> =>
    isHandle(handle) && [handle.status_url, handle.response_url, handle.cancel_url].every(isOwn)
      ? Effect.succeed(handle)
      : Effect.fail(badResponse("a URL of the job is not at the host of the base URL"))
  const result = (handle: Handle, credential: Credential) =>
    http.json(call(HttpClientRequest.get(handle.response_url), credential), Output)

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
    submit: Effect.fn("Fal.submit")(function* ({ request }: VideoSubmission, credential: Credential) {
      yield* VideoInput.check(name, model, parameters, request)
      const body = VideoInput.inputOf(parameters, request)
      const post = HttpClientRequest.post(model.upstreamId).pipe(HttpClientRequest.bodyJsonUnsafe(body))
      return yield* own(yield* http.json(call(post, credential), Handle))
    }),
    poll: Effect.fn("Fal.poll")(function* (
      { handle, request }: SubmittedVideo,
      credential: Credential
    ): Effect.fn.Return<VideoStatus, ProviderError> {
      const job = yield* own(handle)
      const { error, status } = yield* http.json(call(HttpClientRequest.get(job.status_url), credential), Status)
      if (status !== "COMPLETED") return { status: "in_progress" }
      // A failed job is completed too. Its result says why it has failed.
      const fetched = yield* Effect.result(result(job, credential))
      if (Result.isSuccess(fetched)) {
        const outputs = linksOf(fetched.success).length
        return { status: "completed", outputs, charge: VideoInput.chargeOf(model, parameters, request, outputs) }
      }
      const isFailed = error !== undefined && error !== null
      const message = failureOf(fetched.failure) ?? (isFailed ? "the provider could not make the video" : undefined)
      return message === undefined ? yield* fetched.failure : { status: "failed", message }
    }),
    content: ({ handle, index }, credential) =>
      Stream.unwrap(
        Effect.gen(function* () {
          const url = linksOf(yield* result(yield* own(handle), credential))[index]
          if (url === undefined) return yield* badResponse(`no output ${index}`)
          return http.download({ url, model: model.upstreamId })
        })
      ),
    cancel: Effect.fn("Fal.cancel")(function* (handle: JobHandle, credential: Credential) {
      const { cancel_url } = yield* own(handle)
      yield* http.json(call(HttpClientRequest.put(cancel_url), credential), Schema.Unknown).pipe(
        // What is over or unknown cannot be canceled.
        Effect.catchIf(
          ({ status }) => status === 400 || status === 404,
          () => Effect.void
        )
      )
    })
  }
}

/**
 * fal: `FAL_KEY`, `FAL_BASE_URL`.
 *
 * `parameters` of a model describe its input; see the guide.
 *
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "fal",
  title: "fal",
  variables: { apiKey: "FAL_KEY", baseUrl: "FAL_BASE_URL" },
  defaultBaseUrl: "https://queue.fal.run",
  credential: "required",
  kinds: ["video"],
  models: Catalogue.of("fal"),
  offers: (upstream, models) =>
    Effect.flatMap(
      UpstreamHttp.make({
        baseUrl: upstream.baseUrl,
        timeLimit: upstream.timeLimit,
        authentication: { header: "authorization", scheme: "Key" },
        reasonOf
      }),
      (http) =>
        Effect.forEach(models, (model) => {
          if (model.kind !== "video") return Effect.fail(new InvalidModel({ model, message: "must be a video model" }))
          if (!Schema.is(UpstreamId)(model.upstreamId)) {
            return Effect.fail(new InvalidModel({ model, message: "must have an upstream id such as fal-ai/veo3.1" }))
          }
          return Effect.map(Parameters.decode(VideoInput.Parameters, model), (parameters) =>
            video(http, upstream, model, parameters)
          )
        })
    )
}
