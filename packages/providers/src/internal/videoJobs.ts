/**
 * What adapters of upstreams that make videos by jobs share: an offer, assembled from the adapter's
 * own requests and responses, and the list of offers.
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import { type Duration, Effect, Schema, Stream } from "effect"
import { HttpClientRequest } from "effect/http"
import { type Adapter, decodeParameters, InvalidModel, type Upstream } from "@model-gateway/offers/Adapter"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { Model, VideoModel } from "@model-gateway/offers/Model"
import * as Offer from "@model-gateway/offers/Offer"
import type { Credential, VideoOffer } from "@model-gateway/offers/Offer"
import { type Charge, cost as costOf, flawOf } from "@model-gateway/offers/Pricing"
import { BadResponse, invalidFields, ProviderError } from "@model-gateway/offers/ProviderError"
import * as SafeMessage from "@model-gateway/offers/SafeMessage"
import type * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
import {
  ignored,
  type JobHandle,
  sized,
  type SubmittedVideo,
  type VideoRequest,
  type VideoStatus,
  type VideoSubmission
} from "@model-gateway/offers/Video"
import { overHttp } from "./offers.ts"
import type * as VideoInput from "./videoInput.ts"

/** Sends a request with the credential of the call, and returns the JSON of its response. */
export type Send = <A>(
  request: HttpClientRequest.HttpClientRequest,
  schema: Schema.ConstraintDecoder<A>
) => Effect.Effect<A, ProviderError>

/** Sends a request with the credential of the call, and returns the bytes of its response. */
export type Read = (request: HttpClientRequest.HttpClientRequest) => Stream.Stream<Uint8Array, ProviderError>

/** The status of a job. The charge of a completed one follows from the request. */
export type Status =
  | Exclude<VideoStatus, { readonly status: "completed" }>
  | {
      readonly status: "completed"
      readonly outputs: number
      /** What the upstream counted, beside seconds and videos. */
      readonly usage?: Charge["usage"]
      /**
       * What the upstream says that it billed, in micro-credits. Default: the price of the request,
       * also if the number cannot be right.
       */
      readonly billed?: number
    }

/** A failed job. */
export const failed = (message: string): Status => ({ status: "failed", message })

/** A bill of more than this many times the price of the request is a mistake of the upstream. */
const maxFactor = 10

/**
 * What is charged of what the upstream says that it billed. A bill that cannot be right does not
 * fail the job: the video is made.
 */
const chargedFor = (billed: number | undefined, price: Charge["cost"]): Charge["cost"] =>
  billed !== undefined && billed >= 0 && billed <= price * maxFactor ? costOf(1, billed) : price

/** The counts that can be right. The others would fail a job whose video is made. */
const countsOf = (usage: Charge["usage"] = {}): Charge["usage"] =>
  Object.fromEntries(
    Object.entries(usage).filter(
      ([name, count]) => flawOf({ cost: MicroCredits.zero, usage: { [name]: count } }) === undefined
    )
  )

/** A response that makes no sense. */
export const badResponse = (description: string, status?: number): ProviderError =>
  new ProviderError({ reason: new BadResponse({ description }), ...(status === undefined ? {} : { status }) })

/** What is an adapter's own. */
export interface Api<Handle extends JobHandle> {
  /** The name of the adapter's module, for spans. */
  readonly module: string
  /** What the model takes and costs. */
  readonly input: VideoInput.Input<Handle>
  readonly pollInterval?: Duration.Duration
  /** What the upstream does not take in a request that the parameters allow. */
  readonly issueOf?: (request: VideoRequest) => Issue | undefined
  /** Whether the adapter can have stored this handle. */
  readonly isHandle: (handle: JobHandle) => handle is Handle
  /** What is wrong otherwise. */
  readonly notAHandle: string
  /** Starts the job, and returns its handle. */
  readonly submit: (request: VideoRequest, send: Send) => Effect.Effect<JobHandle, ProviderError>
  readonly poll: (handle: Handle, send: Send, request: VideoRequest, read: Read) => Effect.Effect<Status, ProviderError>
  /** The links to the videos of a completed job, or their bytes. */
  readonly links:
    | ((handle: Handle, send: Send) => Effect.Effect<ReadonlyArray<string>, ProviderError>)
    | { readonly content: (handle: Handle, index: number, read: Read) => Stream.Stream<Uint8Array, ProviderError> }
  /** Whether a download needs the credential. Default: false. */
  readonly downloadsWithCredential?: boolean
  /** Default: the upstream cannot cancel a job, and bills it. */
  readonly cancel?: (handle: Handle) => HttpClientRequest.HttpClientRequest
  /**
   * The statuses by which the upstream says that a job is over or unknown, and cannot be canceled.
   * Default: none.
   */
  readonly notCancelable?: ReadonlyArray<number>
}

/** The offer of a model. No upstream of these documents an idempotency key. */
export const offer = <Handle extends JobHandle>(
  http: UpstreamHttp.UpstreamHttp,
  upstream: Upstream,
  model: VideoModel,
  api: Api<Handle>
): VideoOffer => {
  const { input, module } = api
  const { capabilities, passthrough } = input
  /** The upstreams take a resolution and an aspect ratio. */
  const withPair = (request: VideoRequest) => sized(request, capabilities)
  const call = (request: HttpClientRequest.HttpClientRequest, credential: Credential): UpstreamHttp.Call => ({
    request: HttpClientRequest.acceptJson(request),
    credential,
    model: model.upstreamId
  })
  const sendWith =
    (credential: Credential): Send =>
    (request, schema) =>
      http.json(call(request, credential), schema)
  const readWith =
    (credential: Credential): Read =>
    (request) =>
      http.stream(call(request, credential))
  const own = (handle: JobHandle): Effect.Effect<Handle, ProviderError> =>
    api.isHandle(handle) ? Effect.succeed(handle) : Effect.fail(badResponse(api.notAHandle))
  const check = Effect.fnUntraced(function* (request: VideoRequest) {
    const [first, ...others] = input.issues(request)
    if (first !== undefined) return yield* invalidFields([first, ...others])
    const issue = api.issueOf?.(withPair(request))
    if (issue !== undefined) yield* invalidFields([issue])
  })

  return {
    ...Offer.ofModel(model),
    kind: "video",
    provider: upstream.name,
    credential: upstream.credential,
    pricing: model.pricing,
    model,
    capabilities,
    passthrough,
    ignored: input.ignored ?? ((request) => ignored(request, capabilities, model.publicId)),
    isIdempotent: false,
    ...(api.pollInterval === undefined ? {} : { pollInterval: api.pollInterval }),
    quote: (request) => input.quote(withPair(request)),
    check,
    submit: Effect.fn(`${module}.submit`)(function* ({ request }: VideoSubmission, credential: Credential) {
      yield* check(request)
      return yield* own(yield* api.submit(withPair(request), sendWith(credential)))
    }),
    poll: Effect.fn(`${module}.poll`)(function* (
      { handle, request }: SubmittedVideo,
      credential: Credential
    ): Effect.fn.Return<VideoStatus, ProviderError> {
      const job = yield* own(handle)
      const status = yield* api.poll(job, sendWith(credential), withPair(request), readWith(credential))
      if (status.status === "failed") {
        const secrets = [credential.secret, upstream.credential?.secret]
        return { ...status, message: SafeMessage.withoutSecrets(status.message, secrets) }
      }
      if (status.status !== "completed") return status
      const { billed, outputs, usage } = status
      const charge = input.charge(withPair(request), job, outputs)
      return {
        status: "completed",
        outputs,
        charge: { cost: chargedFor(billed, charge.cost), usage: { ...charge.usage, ...countsOf(usage) } }
      }
    }),
    // Links expire, so they are asked for when they are needed.
    content: ({ handle, index }, credential) =>
      Stream.unwrap(
        Effect.gen(function* () {
          const job = yield* own(handle)
          if (typeof api.links === "object") return api.links.content(job, index, readWith(credential))
          const url = (yield* api.links(job, sendWith(credential)))[index]
          if (url === undefined) return yield* badResponse(`no output ${index}`)
          const link = { url, model: model.upstreamId }
          return http.download(api.downloadsWithCredential === true ? { ...link, credential } : link)
        })
      ),
    cancel: Effect.fn(`${module}.cancel`)(function* (handle: JobHandle, credential: Credential) {
      const job = yield* own(handle)
      if (api.cancel === undefined) return
      // The response may have no body.
      yield* Stream.runDrain(http.stream(call(api.cancel(job), credential))).pipe(
        Effect.catchIf(
          ({ status }) => status !== undefined && api.notCancelable?.includes(status) === true,
          () => Effect.void
        )
      )
    })
  }
}

/** How an adapter makes its offers. */
export interface Options<P, I> extends Pick<UpstreamHttp.Options, "authentication" | "reasonOf"> {
  /** The form of the upstream's ids, and an example of one. Default: any id. */
  readonly upstreamId?: { readonly pattern: RegExp; readonly example: string }
  /**
   * Whether the upstream reports tokens, so that a model may have a price per token. Default:
   * false.
   */
  readonly countsTokens?: boolean
  /** The schema of a model's `parameters`. */
  readonly parameters: Schema.Codec<P, I> | ((model: VideoModel) => Schema.Codec<P, I>)
  readonly offer: (http: UpstreamHttp.UpstreamHttp, upstream: Upstream, model: VideoModel, parameters: P) => VideoOffer
}

/** The `offers` of an adapter. */
export const offers = <P, I>({
  countsTokens = false,
  offer,
  parameters,
  upstreamId,
  ...options
}: Options<P, I>): Adapter["offers"] =>
  overHttp({
    ...options,
    isModel: (model: Model): model is VideoModel => model.kind === "video",
    expected: "must be a video model",
    offer: Effect.fnUntraced(function* (http: UpstreamHttp.UpstreamHttp, upstream: Upstream, model: VideoModel) {
      if (upstreamId?.pattern.test(model.upstreamId) === false) {
        return yield* new InvalidModel({ model, message: `must have an upstream id such as ${upstreamId.example}` })
      }
      if (model.pricing.unit === "video_token" && !countsTokens) {
        return yield* new InvalidModel({ model, message: "must have a price per second or video" })
      }
      const schema = Schema.isSchema(parameters) ? parameters : parameters(model)
      return offer(http, upstream, model, yield* decodeParameters(schema, model))
    })
  })
