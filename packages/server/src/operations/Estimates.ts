/**
 * What a request would cost: the steps of its operation up to the candidates, and their quotes. No
 * provider is called, and nothing is reserved.
 */
import type { BadRequest } from "@model-gateway/core/GatewayError"
import type * as Estimate from "@model-gateway/core/Estimate"
import type { Request as VideoRequestOfCaller } from "@model-gateway/core/Video"
import * as AudioSource from "@model-gateway/offers/AudioSource"
import type { RerankOffer, TranscriptionOffer, VideoOffer } from "@model-gateway/offers/Offer"
import type { RerankRequest } from "@model-gateway/offers/Rerank"
import { type TranscriptionRequest, unsupported } from "@model-gateway/offers/Transcription"
import type { VideoRequest } from "@model-gateway/offers/Video"
import { Effect } from "effect"
import * as PaidWork from "../admission/PaidWork.ts"
import * as Issues from "../internal/Issues.ts"
import * as Candidates from "../routing/Candidates.ts"
import { ModelCatalog } from "../routing/ModelCatalog.ts"
import * as VideoAcceptance from "../video/VideoAcceptance.ts"
import * as VideoRequests from "../video/VideoRequest.ts"
import * as RerankHandlers from "./RerankHandlers.ts"
import * as TranscriptionHandlers from "./TranscriptionHandlers.ts"

/** The audio, of which only the length is known. Nothing reads it. */
const noAudio = AudioSource.fromBytes(new Uint8Array())

const transcriptionChoice = (
  request: typeof Estimate.TranscriptionRequest.Type
): PaidWork.Choice<TranscriptionOffer, TranscriptionRequest, BadRequest> => {
  const { format, seconds } = request
  const verbose = request.response_format === "verbose_json"
  return {
    supporting: (offers) =>
      Candidates.supporting(offers, ({ capabilities, publicId }) =>
        unsupported(
          {
            format: format ?? capabilities.audio_formats[0] ?? "wav",
            formatField: "format",
            audioField: "seconds",
            bytes: 0,
            seconds,
            verbose
          },
          capabilities,
          publicId
        )
      ),
    requestFor: TranscriptionHandlers.requestFor({
      ...request,
      verbose,
      granularities: request.timestamp_granularities ?? ["segment"],
      audio: { source: noAudio, format: format ?? "wav", durationSeconds: seconds }
    })
  }
}

/** A refusal of the operation names its own fields. Here they are below `request`. */
const belowRequest = (refusal: BadRequest): BadRequest =>
  refusal.issues.length === 0
    ? refusal
    : Issues.invalid(refusal.issues.map(({ message, path }) => ({ message, path: `request.${path}` })))

/** Makes the estimates over the catalog in the context. */
export const make = Effect.gen(function* () {
  const catalog = yield* ModelCatalog
  const rerank = yield* PaidWork.makeEstimated<RerankRequest, RerankOffer>({ kind: "rerank", find: catalog.rerank })
  const transcription = yield* PaidWork.makeEstimated<TranscriptionRequest, TranscriptionOffer>({
    kind: "transcription",
    find: catalog.transcription,
    ignored: TranscriptionHandlers.ignoredBy
  })
  const video = yield* PaidWork.makeEstimated<VideoRequest, VideoOffer>({ kind: "video", find: catalog.video })

  const videoEstimate = (wanted: typeof VideoRequestOfCaller.Type) =>
    Effect.andThen(
      VideoAcceptance.check(wanted),
      video(wanted, {
        supporting: VideoAcceptance.supporting(catalog, wanted, { acceptsSimulated: true }),
        requestFor: (offer) => VideoRequests.forOffer(wanted, offer)
      })
      // Only a model that answers with a status could fail with it.
    ).pipe(Effect.catchTag("PaymentRequired", Effect.die))

  const estimateOf = (estimated: typeof Estimate.Request.Type) => {
    switch (estimated.operation) {
      case "rerank":
        return rerank(estimated.request, RerankHandlers.choiceOf(estimated.request))
      case "transcription":
        return transcription(estimated.request, transcriptionChoice(estimated.request))
      case "video":
        return videoEstimate(estimated.request)
    }
  }

  return (estimated: typeof Estimate.Request.Type) =>
    Effect.catchTag(estimateOf(estimated), "BadRequest", (error) => Effect.fail(belowRequest(error)))
})
