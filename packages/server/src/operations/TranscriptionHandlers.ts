/**
 * Transcribing audio.
 *
 * Specification: "POST /audio/transcriptions", "Transcription response".
 */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import type * as Transcription from "@model-gateway/core/Transcription"
import * as AudioDuration from "@model-gateway/offers/AudioDuration"
import * as LanguageCode from "@model-gateway/offers/LanguageCode"
import type { TranscriptionOffer } from "@model-gateway/offers/Offer"
import {
  ignored,
  type TranscriptionRequest,
  type TranscriptionResponse,
  unsupported
} from "@model-gateway/offers/Transcription"
import { Effect, FileSystem, Path } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as FairShare from "@model-gateway/offers/FairShare"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as BodyLimit from "../http/BodyLimit.ts"
import * as RequestServices from "../http/RequestServices.ts"
import * as PaidWork from "../admission/PaidWork.ts"
import * as Candidates from "../routing/Candidates.ts"
import { ModelCatalog } from "../routing/ModelCatalog.ts"
import * as ProviderFailures from "../routing/ProviderFailures.ts"
import * as TranscriptionBody from "../http/TranscriptionBody.ts"
import * as TranscriptionInput from "../http/TranscriptionInput.ts"

const toResponse = (
  input: TranscriptionInput.Input,
  duration: number,
  { charge, result, warnings }: PaidWork.Done<TranscriptionOffer, TranscriptionResponse>,
  cost: MicroCredits.MicroCredits
): typeof Transcription.Response.Type => {
  const { input_tokens, output_tokens } = charge.usage
  const base: typeof Transcription.Response.Type = {
    text: result.text,
    usage: {
      cost: MicroCredits.toCredits(cost),
      // Not those of the charge: some providers bill whole seconds, or a minimum.
      seconds: duration,
      ...(input_tokens === undefined ? {} : { input_tokens }),
      ...(output_tokens === undefined ? {} : { output_tokens }),
      ...(input_tokens === undefined || output_tokens === undefined
        ? {}
        : { total_tokens: input_tokens + output_tokens })
    },
    ...warnings
  }
  if (!input.verbose) return base
  const said = result.language ?? input.language
  const language = said === undefined ? undefined : (LanguageCode.iso6391(said) ?? said)
  return {
    ...base,
    task: "transcribe",
    ...(language === undefined ? {} : { language }),
    duration,
    segments: result.segments,
    ...(result.words === undefined || !input.granularities.includes("word") ? {} : { words: result.words })
  }
}

/** What a transcription asks of offers, wherever its audio is. */
export interface Asked {
  readonly audio: TranscriptionRequest["audio"]
  readonly verbose: boolean
  readonly granularities: TranscriptionRequest["timestamp_granularities"]
  readonly language?: string | undefined
  readonly temperature?: number | undefined
  readonly provider?: (typeof Transcription.Request.Type)["provider"]
}

/** The request as an offer receives it. */
export const requestFor =
  ({ audio, granularities, language, provider: preferences, temperature, verbose }: Asked) =>
  ({ provider }: TranscriptionOffer): TranscriptionRequest => {
    const options = preferences?.options?.[provider]
    return {
      audio,
      // No granularity at all would read as `json`.
      timestamp_granularities: !verbose ? [] : granularities.length === 0 ? ["segment"] : granularities,
      ...(language === undefined ? {} : { language }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(options === undefined ? {} : { options })
    }
  }

/** What the offer ignores of the request, a sentence for each. */
export const ignoredBy = (offer: TranscriptionOffer, request: TranscriptionRequest): ReadonlyArray<string> => [
  ...ignored(request, offer.capabilities, offer.publicId),
  ...(offer.ignored?.(request) ?? [])
]

const encode = (response: typeof Transcription.Response.Type): string => JSON.stringify(response)

const make = Effect.gen(function* () {
  const catalog = yield* ModelCatalog
  const fileSystem = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { deadlines } = yield* GatewayServerConfig
  const { permit, requirePayable, serve } = yield* PaidWork.makeServed<
    TranscriptionRequest,
    TranscriptionResponse,
    TranscriptionOffer,
    ProviderFailures.TranscriptionFailure
  >({
    kind: "transcription",
    find: catalog.transcription,
    ignored: ignoredBy,
    attemptTimeout: deadlines.transcriptionAttempt,
    deadline: deadlines.transcription,
    toError: ProviderFailures.forTranscription
  })

  /** Measuring happens before payment, so one key gets only one of the threads. */
  const measuring = FairShare.make({ capacity: AudioDuration.concurrency, perOwner: 1 })

  return Effect.fnUntraced(
    function* (request: HttpServerRequest.HttpServerRequest, idempotencyKey: string | undefined) {
      const body = yield* TranscriptionBody.read(request, yield* BodyLimit.ofRequest)
      if (body === undefined) return HttpServerResponse.empty({ status: 415 })
      const input = yield* TranscriptionInput.fromBody(body)
      const permitted = yield* permit(input)
      // Measuring takes work, so it comes after the checks that need no price.
      yield* requirePayable(permitted, idempotencyKey)
      const { duration, format } = yield* measuring.withAmount(
        permitted.caller.key.hash,
        1
      )(TranscriptionInput.measure(input))
      const wanted = {
        format,
        formatField: input.format === undefined ? input.field : "input_audio.format",
        audioField: input.field,
        bytes: yield* Effect.orDie(input.audio.size),
        seconds: duration,
        verbose: input.verbose
      }
      return yield* serve(permitted, {
        supporting: (offers) =>
          Candidates.supporting(offers, ({ capabilities, publicId }) => unsupported(wanted, capabilities, publicId)),
        requestFor: requestFor({
          ...input,
          audio: { source: input.audio, format, durationSeconds: duration, field: input.field }
        }),
        idempotencyKey,
        payload: input.fingerprint,
        encode,
        input: { seconds: duration },
        units: duration,
        toAnswer: (done, cost) => toResponse(input, duration, done, cost)
      })
    },
    Effect.provideService(FileSystem.FileSystem, fileSystem),
    Effect.provideService(Path.Path, path)
  )
})

/** The `transcription` group of the contract. */
export const layer = RequestServices.group(make, (transcribe) =>
  HttpApiBuilder.group(GatewayApi, "transcription", (handlers) =>
    handlers.handleRaw("transcribe", ({ headers, request }) => transcribe(request, headers["idempotency-key"]))
  )
)
