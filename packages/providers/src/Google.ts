/**
 * Google's video models on the Gemini API: Gemini Omni, by background interactions.
 *
 * Protocol: https://ai.google.dev/gemini-api/docs/omni and
 * https://ai.google.dev/gemini-api/docs/interactions. Errors:
 * https://ai.google.dev/gemini-api/docs/troubleshooting. Prices:
 * https://ai.google.dev/gemini-api/docs/pricing.
 *
 * @since 0.1.0
 */
import { Duration, Effect, Schema, Stream } from "effect"
import { HttpClientRequest } from "effect/http"
import { type Adapter, InvalidModel, type Upstream } from "./Adapter.ts"
import * as Catalogue from "./Catalogue.ts"
import * as ModelParameters from "./internal/parameters.ts"
import * as VideoInput from "./internal/videoInput.ts"
import type { VideoModel } from "./Model.ts"
import * as Offer from "./Offer.ts"
import type { Credential, VideoOffer } from "./Offer.ts"
import { BadResponse, invalidRequest, OutOfCredit, ProviderError, type Reason, Unauthorized } from "./ProviderError.ts"
import * as SafeMessage from "./SafeMessage.ts"
import * as UpstreamHttp from "./UpstreamHttp.ts"
import type { JobHandle, SubmittedVideo, VideoRequest, VideoStatus } from "./Video.ts"

// Configuration

const { aspect_ratios, default_duration, default_resolution, durations, options, prompt_optional, resolutions } =
  VideoInput.Parameters.fields

/**
 * The `parameters` of a model.
 *
 * @since 0.1.0
 */
export const Parameters = Schema.Struct({
  durations,
  default_duration,
  resolutions,
  default_resolution,
  aspect_ratios,
  prompt_optional,
  options
})

/** The names of Google's fields are the same for all models, and every video has audio. */
const inputOf = (parameters: typeof Parameters.Type): VideoInput.Parameters => ({
  ...parameters,
  fields: {
    duration: "duration",
    resolution: "resolution",
    aspect_ratio: "aspect_ratio",
    seed: "seed",
    first_frame: "image"
  },
  duration_form: "string_s",
  resolution_names: { "4K": "4k" },
  audio: true
})

// Request mapping

const dataUri = /^data:(image\/[\w.+-]+);base64,([A-Za-z0-9+/]+={0,2})$/

/** Images are sent inline. Google does not fetch URLs. */
const imagesOf = ({ frame_images = [] }: VideoRequest) =>
  frame_images.map(({ image_url: { url } }) => {
    const [, mime_type, data] = dataUri.exec(url) ?? []
    return { type: "image", mime_type, data }
  })

const bodyOf = (model: VideoModel, parameters: VideoInput.Parameters, request: VideoRequest) => {
  const written = VideoInput.inputOf(parameters, request)
  const { aspect_ratio, duration, image: _image, prompt, resolution, seed, ...options } = written
  const images = imagesOf(request)
  return {
    ...options,
    model: model.upstreamId,
    input: [...images, ...(prompt === undefined ? [] : [{ type: "text", text: prompt }])],
    // Otherwise the response comes when the video is made.
    background: true,
    store: true,
    response_format: { type: "video", delivery: "uri", duration, resolution, aspect_ratio },
    generation_config: { seed, video_config: { task: images.length > 0 ? "image_to_video" : "text_to_video" } }
  }
}

// Response mapping

const Id = Schema.String.check(Schema.isPattern(/^[\w-][\w.~=+-]{0,1023}$/))

const isHandle = Schema.is(Id)

const Created = Schema.Struct({ id: Id })

const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const Interaction = Schema.Struct({
  status: Schema.String,
  steps: nullable(
    Schema.Array(
      Schema.Struct({
        type: Schema.String,
        content: nullable(Schema.Array(Schema.Struct({ type: Schema.String, uri: nullable(Schema.String) })))
      })
    )
  ),
  errors: nullable(Schema.Array(Schema.Struct({ message: nullable(Schema.String) }))),
  usage: nullable(
    Schema.Struct({ total_input_tokens: nullable(Schema.Finite), total_output_tokens: nullable(Schema.Finite) })
  )
})

type Interaction = typeof Interaction.Type

const linksOf = ({ steps }: Interaction): ReadonlyArray<string> =>
  (steps ?? []).flatMap(({ content, type }) =>
    type === "model_output"
      ? (content ?? []).flatMap(({ type, uri }) => (type === "video" && typeof uri === "string" ? [uri] : []))
      : []
  )

/** The link to the bytes. Without `alt=media` it describes the file. */
const downloadOf = (link: string): string | undefined => {
  const url = URL.parse(link)
  url?.searchParams.set("alt", "media")
  return url?.href
}

/** What the bill is made of, for reconciliation. */
const tokensOf = ({ usage }: Interaction): Readonly<Record<string, number>> => ({
  ...(typeof usage?.total_input_tokens === "number" ? { input_tokens: usage.total_input_tokens } : {}),
  ...(typeof usage?.total_output_tokens === "number" ? { output_tokens: usage.total_output_tokens } : {})
})

const failed = (message: string): VideoStatus => ({ status: "failed", message })

const badResponse = (description: string, status?: number) =>
  new ProviderError({ reason: new BadResponse({ description }), ...(status === undefined ? {} : { status }) })

// Error mapping

/** Google reports a wrong key, and an account without billing, as a 400. */
const reasonOf = ({ codes, status }: UpstreamHttp.Failure): Reason | undefined => {
  if (codes.some((code) => code.startsWith("API_KEY_"))) return new Unauthorized()
  if (status === 400 && codes.includes("FAILED_PRECONDITION")) return new OutOfCredit()
  return undefined
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
      ? Effect.succeed(`interactions/${encodeURIComponent(handle)}`)
      : Effect.fail(badResponse("no handle of Google"))
  const read = (handle: JobHandle, credential: Credential) =>
    Effect.flatMap(path(handle), (path) => http.json(call(HttpClientRequest.get(path), credential), Interaction)).pipe(
      Effect.mapError((error) =>
        // Nothing of the caller's is in this request.
        error.reason._tag === "InvalidRequest" && !/invalid interaction/i.test(error.reason.message)
          ? badResponse("status 400", error.status)
          : error
      )
    )
  const check = (request: VideoRequest) =>
    Effect.suspend(() => {
      const linked = imagesOf(request).findIndex(({ data }) => data === undefined)
      return VideoInput.check(name, model, parameters, request).pipe(
        Effect.andThen(
          linked < 0
            ? Effect.void
            : Effect.fail(
                invalidRequest(
                  `frame_images.${linked}.image_url.url: ${model.publicId} takes images as data:image/…;base64, URIs only`
                )
              )
        )
      )
    })

  return {
    ...Offer.ofModel(model),
    kind: "video",
    provider: name,
    credential,
    pricing: model.pricing,
    capabilities: VideoInput.capabilitiesOf(parameters),
    isIdempotent: false,
    pollInterval: Duration.seconds(5),
    quote: (request) => VideoInput.costOf(model, parameters, request),
    check,
    submit: Effect.fn("Google.submit")(function* ({ request }, credential) {
      yield* check(request)
      const body = HttpClientRequest.bodyJsonUnsafe(bodyOf(model, parameters, request))
      return (yield* http.json(call(body(HttpClientRequest.post("interactions")), credential), Created)).id
    }),
    poll: Effect.fn("Google.poll")(
      function* (
        { handle, request }: SubmittedVideo,
        credential: Credential
      ): Effect.fn.Return<VideoStatus, ProviderError> {
        const interaction = yield* read(handle, credential)
        const outputs = linksOf(interaction).length
        switch (interaction.status) {
          case "queued":
          case "in_progress":
            return { status: "in_progress" }
          case "completed": {
            // The model answers in words if it may not make the video.
            if (outputs === 0) return failed("the provider made no video, as when its safety filters reject the input")
            const charge = VideoInput.chargeOf(model, parameters, request, outputs)
            const usage = { ...charge.usage, ...tokensOf(interaction) }
            return { status: "completed", outputs, charge: { ...charge, usage } }
          }
          case "failed": {
            const said = interaction.errors?.[0]?.message ?? ""
            return failed(SafeMessage.make(said) ?? "the provider could not make the video")
          }
          case "cancelled":
          case "incomplete":
          case "budget_exceeded":
          case "requires_action":
          case "requires_continuation":
            return failed("the provider ended the job without a video")
          default:
            return yield* badResponse("an unknown status")
        }
      },
      // An id that Google does not know is a 400.
      Effect.catchIf(
        ({ reason }) => reason._tag === "InvalidRequest",
        () => Effect.succeed(failed("the provider no longer has the job"))
      )
    ),
    content: ({ handle, index }, credential) =>
      Stream.unwrap(
        Effect.map(read(handle, credential), (interaction) => {
          const url = downloadOf(linksOf(interaction)[index] ?? "")
          return url === undefined
            ? Stream.fail(badResponse(`no output ${index}`))
            : http.download({ url, credential, model: model.upstreamId })
        })
      ),
    cancel: Effect.fn("Google.cancel")(function* (handle: JobHandle, credential: Credential) {
      const request = HttpClientRequest.post(`${yield* path(handle)}/cancel`)
      yield* http.json(call(request, credential), Schema.Unknown).pipe(
        // What is over cannot be canceled.
        Effect.catchIf(
          ({ status }) => status === 400 || status === 404,
          () => Effect.void
        )
      )
    })
  }
}

/**
 * Google: `GEMINI_API_KEY`, `GEMINI_BASE_URL`.
 *
 * @example
 * ```ts
 * import { Redacted } from "effect"
 * import * as Google from "@model-gateway/providers/Google"
 * import { gatewayCredential } from "@model-gateway/providers/Offer"
 *
 * declare const apiKey: string
 *
 * const upstream = {
 *   name: "google",
 *   baseUrl: "https://generativelanguage.googleapis.com/v1beta",
 *   credential: gatewayCredential(Redacted.make(apiKey))
 * }
 * const offers = Google.adapter.offers(upstream, Google.adapter.models)
 * ```
 *
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "google",
  title: "Google",
  variables: { apiKey: "GEMINI_API_KEY", baseUrl: "GEMINI_BASE_URL" },
  defaultBaseUrl: "https://generativelanguage.googleapis.com/v1beta",
  credential: "required",
  kinds: ["video"],
  models: Catalogue.of("google"),
  offers: Effect.fnUntraced(function* (upstream, models) {
    const { baseUrl, timeLimit } = upstream
    const authentication = { header: "x-goog-api-key" }
    const http = yield* UpstreamHttp.make({ baseUrl, timeLimit, authentication, reasonOf })
    return yield* Effect.forEach(models, (model) =>
      model.kind === "video"
        ? Effect.map(ModelParameters.decode(Parameters, model), (parameters) =>
            video(http, upstream, model, inputOf(parameters))
          )
        : Effect.fail(new InvalidModel({ model, message: "must be a video model" }))
    )
  })
}
