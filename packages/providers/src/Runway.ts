/**
 * Runway's video models: tasks that make a video from text, from frames or from references.
 *
 * Protocol: https://docs.dev.runwayml.com/api/. Errors:
 * https://docs.dev.runwayml.com/errors/errors/ and
 * https://docs.dev.runwayml.com/errors/task-failures/. Inputs:
 * https://docs.dev.runwayml.com/assets/inputs/. Prices:
 * https://docs.dev.runwayml.com/guides/pricing/.
 *
 * @since 0.1.0
 */
import { Duration, Effect, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import type { Adapter, Upstream } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import { nullable } from "./internal/nullable.ts"
import * as RunwayInput from "./internal/runwayInput.ts"
import * as VideoJobs from "./internal/videoJobs.ts"
import type { VideoModel } from "@model-gateway/offers/Model"
import type { VideoOffer } from "@model-gateway/offers/Offer"
import { OutOfCredit, Overloaded, type Reason } from "@model-gateway/offers/ProviderError"
import * as SafeMessage from "@model-gateway/offers/SafeMessage"
import type * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"

// Configuration

/**
 * The `parameters` of a model. It takes either `ratios`, which say the pixels, or `resolutions` and
 * `aspect_ratios`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Parameters = RunwayInput.Parameters

type Parameters = typeof Parameters.Type

// Response mapping

const Created = Schema.Struct({ id: Schema.String.check(Schema.isPattern(/^[\w-]{1,64}$/)) })

const Task = Schema.Struct({
  status: Schema.Literals(["PENDING", "THROTTLED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"]),
  progress: nullable(Schema.Finite),
  output: nullable(Schema.Array(Schema.String)),
  failure: nullable(Schema.String),
  failureCode: nullable(Schema.String),
  /** Final. Before the end there is an estimate only. */
  cost: nullable(Schema.Struct({ credits: nullable(Schema.Number) }))
})

type Task = typeof Task.Type

/** Runway asks not to show its codes to users. Its words for an invalid input help them. */
const failureOf = ({ failure, failureCode }: Task): string => {
  const code = failureCode ?? ""
  if (/(?:^|\.)SAFETY\./.test(`${code}.`)) {
    return code.startsWith("SAFETY.OUTPUT")
      ? "the provider's content moderation rejected the video"
      : "the provider's content moderation rejected the input"
  }
  const said = code.startsWith("ASSET.") ? SafeMessage.make(failure ?? "") : undefined
  if (code.startsWith("ASSET.")) return said ?? "the provider could not use an input file"
  return "the provider could not make the video"
}

/** What Runway billed, in micro-credits. Undefined if it does not say. */
const billedFor = ({ credit_price = 10_000 }: Parameters, { cost }: Task): number | undefined =>
  typeof cost?.credits === "number" ? credit_price * cost.credits : undefined

const statusOf = (parameters: Parameters, task: Task): VideoJobs.Status => {
  switch (task.status) {
    case "PENDING":
    case "THROTTLED":
    case "RUNNING":
      return { status: "in_progress", ...(typeof task.progress === "number" ? { progress: task.progress } : {}) }
    case "SUCCEEDED": {
      const billed = billedFor(parameters, task)
      return { status: "completed", outputs: task.output?.length ?? 0, ...(billed === undefined ? {} : { billed }) }
    }
    case "FAILED":
      return VideoJobs.failed(failureOf(task))
    case "CANCELLED":
      return VideoJobs.failed("the provider canceled the job")
  }
}

// Error mapping

/** Runway reports an empty account as a 400, and load that it sheds as a 502. */
const reasonOf = ({ message, retryAfter, status }: UpstreamHttp.Failure): Reason | undefined => {
  if (status === 400 && /\bcredits?\b/i.test(message ?? "")) return new OutOfCredit()
  if (status === 502) return new Overloaded(retryAfter === undefined ? {} : { retryAfter })
  return undefined
}

// Offers

const versioned = HttpClientRequest.setHeaders({ "x-runway-version": "2024-11-06" })

const video = (
  http: UpstreamHttp.UpstreamHttp,
  upstream: Upstream,
  model: VideoModel,
  parameters: Parameters
): VideoOffer => {
  const read = (id: string, send: VideoJobs.Send) => send(versioned(HttpClientRequest.get(`v1/tasks/${id}`)), Task)
  return VideoJobs.offer<string>(http, upstream, model, {
    module: "Runway",
    input: RunwayInput.of(upstream, model, parameters),
    pollInterval: Duration.seconds(5),
    issueOf: (request) => RunwayInput.issueOf(model, parameters, request),
    isHandle: Schema.is(Created.fields.id),
    notAHandle: "no handle of Runway",
    submit: (request, send) => {
      const operation = RunwayInput.hasFrames(request) ? "v1/image_to_video" : "v1/text_to_video"
      const body = HttpClientRequest.bodyJsonUnsafe(RunwayInput.bodyOf(model, parameters, request))
      return Effect.map(send(versioned(body(HttpClientRequest.post(operation))), Created), ({ id }) => id)
    },
    poll: (id, send) => Effect.map(read(id, send), (task) => statusOf(parameters, task)),
    links: (id, send) => Effect.map(read(id, send), ({ output }) => output ?? []),
    cancel: (id) => versioned(HttpClientRequest.delete(`v1/tasks/${id}`)),
    notCancelable: [404]
  })
}

/**
 * Runway: `RUNWAYML_API_SECRET`, `RUNWAYML_BASE_URL`.
 *
 * @example
 * ```ts
 * import { Redacted } from "effect"
 * import { gatewayCredential } from "@model-gateway/offers/Offer"
 * import * as Runway from "@model-gateway/providers/Runway"
 *
 * declare const apiKey: string
 *
 * const upstream = {
 *   name: "runway",
 *   baseUrl: "https://api.dev.runwayml.com",
 *   credential: gatewayCredential(Redacted.make(apiKey))
 * }
 * const offers = Runway.adapter.offers(upstream, Runway.adapter.models)
 * ```
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "runway",
  title: "Runway",
  variables: { apiKey: "RUNWAYML_API_SECRET", baseUrl: "RUNWAYML_BASE_URL" },
  defaultBaseUrl: "https://api.dev.runwayml.com",
  credential: "required",
  kinds: ["video"],
  ...Catalog.of("runway"),
  offers: VideoJobs.offers({ reasonOf, parameters: Parameters, offer: video })
}
