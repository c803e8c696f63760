/**
 * fal's video models, through its queue.
 *
 * Protocol: https://fal.ai/docs/api-reference/inference-api. Errors:
 * https://fal.ai/docs/documentation/model-apis/errors. Fields and prices stand on the page of each
 * model, such as https://fal.ai/models/fal-ai/veo3.1/llms.txt.
 *
 * @since 0.1.0
 */
import { Effect, Result, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import type { Adapter, Upstream } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import { nullable } from "./internal/nullable.ts"
import * as VideoEndpoints from "./internal/videoEndpoints.ts"
import * as VideoJobs from "./internal/videoJobs.ts"
import * as VideoUpscale from "./internal/videoUpscale.ts"
import type { VideoModel } from "@model-gateway/offers/Model"
import type { VideoOffer } from "@model-gateway/offers/Offer"
import type * as Passthrough from "@model-gateway/offers/Passthrough"
import { OutOfCredit, type ProviderError, type Reason } from "@model-gateway/offers/ProviderError"
import type * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
import type { VideoRequest } from "@model-gateway/offers/Video"

// Request mapping

/** With it, the result is the file itself instead of a link. */
const refused: Passthrough.Declaration["refused"] = { response: ["sync_mode"] }

type Parameters = VideoEndpoints.Parameters | VideoUpscale.Parameters

/** The path of the request, if it is not the model's own, and its body. */
const submissionOf = (
  parameters: Parameters,
  request: VideoRequest
): { readonly path: string | undefined; readonly input: Schema.JsonObject } =>
  "upscale" in parameters
    ? { path: undefined, input: VideoUpscale.inputOf(parameters, request) }
    : VideoEndpoints.submissionOf(parameters, request)

// Response mapping

/**
 * fal says where a job is asked about: not below the path that it was submitted to. The handle
 * keeps these URLs.
 */
const Handle = Schema.Struct({
  status_url: Schema.String,
  response_url: Schema.String,
  cancel_url: Schema.String,
  /** The length of the video that is upscaled. */
  seconds: Schema.optionalKey(Schema.Finite)
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
  video: nullable(File),
  videos: nullable(Schema.Array(File))
})

const linksOf = ({ video, videos }: typeof Output.Type): ReadonlyArray<string> =>
  (video === undefined || video === null ? (videos ?? []) : [video]).map(({ url }) => url)

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

/** A settings file gets the errors of the schema that it means. */
const parametersOf = ({ parameters = {} }: VideoModel): Schema.Codec<Parameters, unknown> =>
  "upscale" in parameters ? VideoUpscale.Parameters : VideoEndpoints.Parameters

/** Whether a URL is at the upstream, so that it may get the credential. */
const isAt = (baseUrl: string) => {
  const { origin } = new URL(baseUrl)
  return (url: string): boolean => URL.parse(url)?.origin === origin
}

const video = (
  http: UpstreamHttp.UpstreamHttp,
  upstream: Upstream,
  model: VideoModel,
  parameters: Parameters
): VideoOffer => {
  const isOwn = isAt(upstream.baseUrl)
  const result = ({ response_url }: Handle, send: VideoJobs.Send) => send(HttpClientRequest.get(response_url), Output)
  return VideoJobs.offer(http, upstream, model, {
    module: "Fal",
    input:
      "upscale" in parameters
        ? VideoUpscale.of(upstream.name, model, parameters, refused)
        : VideoEndpoints.of(upstream.name, model, parameters, refused),
    isHandle: (handle): handle is Handle =>
      isHandle(handle) && [handle.status_url, handle.response_url, handle.cancel_url].every(isOwn),
    notAHandle: "a URL of the job is not at the host of the base URL",
    submit: (request, send) => {
      const { input, path = model.upstreamId } = submissionOf(parameters, request)
      const submitted = send(HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(path), input), Handle)
      return "upscale" in parameters
        ? Effect.map(submitted, (handle) => ({ ...handle, seconds: VideoUpscale.secondsOf(parameters, request) }))
        : submitted
    },
    poll: Effect.fnUntraced(function* (
      job: Handle,
      send: VideoJobs.Send
    ): Effect.fn.Return<VideoJobs.Status, ProviderError> {
      const { error, status } = yield* send(HttpClientRequest.get(job.status_url), Status)
      if (status !== "COMPLETED") return { status: "in_progress" }
      // A failed job is completed too. Its result says why it has failed.
      const fetched = yield* Effect.result(result(job, send))
      if (Result.isSuccess(fetched)) return { status: "completed", outputs: linksOf(fetched.success).length }
      const isFailed = error !== undefined && error !== null
      const message = failureOf(fetched.failure) ?? (isFailed ? "the provider could not make the video" : undefined)
      return message === undefined ? yield* fetched.failure : VideoJobs.failed(message)
    }),
    links: (job, send) => Effect.map(result(job, send), linksOf),
    cancel: ({ cancel_url }) => HttpClientRequest.put(cancel_url),
    notCancelable: [400, 404]
  })
}

/**
 * fal: `FAL_KEY`, `FAL_BASE_URL`.
 *
 * `parameters` of a model describe its input; see the guide.
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "fal",
  title: "fal",
  variables: { apiKey: "FAL_KEY", baseUrl: "FAL_BASE_URL" },
  defaultBaseUrl: "https://queue.fal.run",
  credential: "required",
  kinds: ["video"],
  ...Catalog.of("fal"),
  offers: VideoJobs.offers({
    authentication: { header: "authorization", scheme: "Key" },
    reasonOf,
    upstreamId: { pattern: /^[\w.-]+(?:\/[\w.-]+)+$/, example: "fal-ai/veo3.1" },
    parameters: parametersOf,
    offer: video
  })
}
