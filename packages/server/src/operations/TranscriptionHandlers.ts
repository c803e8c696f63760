/**
 * POST `/audio/transcriptions`.
 *
 * Specification: "4. POST /audio/transcriptions", "Transcription response".
 */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import type * as Transcription from "@model-gateway/core/Transcription"
import * as AudioDuration from "@model-gateway/offers/AudioDuration"
import * as LanguageCode from "@model-gateway/offers/LanguageCode"
import type { TranscriptionOffer } from "@model-gateway/offers/Offer"
import { ignored, type TranscriptionRequest, unsupported } from "@model-gateway/offers/Transcription"
import { Effect, FileSystem, Path } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { currentCaller, type Caller } from "../access/Caller.ts"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as FairShare from "../internal/FairShare.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as BodyLimit from "../http/BodyLimit.ts"
import { Admission } from "../admission/Admission.ts"
import type { Candidate } from "../routing/Candidate.ts"
import { ModelCatalogue } from "../routing/ModelCatalogue.ts"
import * as OwnKeys from "../routing/OwnKeys.ts"
import * as Candidates from "../routing/Candidates.ts"
import * as ProviderFailures from "../routing/ProviderFailures.ts"
import { Router } from "../routing/Router.ts"
import * as TranscriptionBody from "./TranscriptionBody.ts"
import * as TranscriptionInput from "./TranscriptionInput.ts"
import * as Warnings from "../routing/Warnings.ts"

type Transcribed = Effect.Success<ReturnType<TranscriptionOffer["run"]>>

const toResponse = (
  input: TranscriptionInput.Input,
  duration: number,
  warnings: Warnings.Warnings,
  { answer, charge }: Transcribed,
  cost: MicroCredits.MicroCredits
): typeof Transcription.Response.Type => {
  const { input_tokens, output_tokens } = charge.usage
  const base: typeof Transcription.Response.Type = {
    text: answer.text,
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
  const said = answer.language ?? input.language
  const language = said === undefined ? undefined : (LanguageCode.iso6391(said) ?? said)
  return {
    ...base,
    task: "transcribe",
    ...(language === undefined ? {} : { language }),
    duration,
    segments: answer.segments,
    ...(answer.words === undefined || !input.granularities.includes("word") ? {} : { words: answer.words })
  }
}

/** What the offer ignores of the request, a sentence for each. */
const ignoredBy = (offer: TranscriptionOffer, request: TranscriptionRequest): ReadonlyArray<string> => [
  ...ignored(request, offer.capabilities, offer.publicId),
  ...(offer.ignored?.(request) ?? [])
]

const encode = (response: typeof Transcription.Response.Type): string => JSON.stringify(response)

const make = Effect.gen(function* () {
  const admission = yield* Admission
  const catalogue = yield* ModelCatalogue
  const ownKeys = yield* OwnKeys.OwnKeys
  const router = yield* Router
  const fileSystem = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { deadlines } = yield* GatewayServerConfig

  const serve = (
    caller: Caller,
    input: TranscriptionInput.Input,
    seconds: number,
    requestFor: (offer: TranscriptionOffer) => TranscriptionRequest,
    candidates: ReadonlyArray<Candidate<TranscriptionOffer>>,
    idempotencyKey: string | undefined
  ) =>
    admission.serve(
      {
        caller,
        operation: "transcription",
        model: input.model,
        quotes: Candidates.quotesOf(candidates, (offer) => offer.quote(requestFor(offer))),
        idempotencyKey,
        payload: input.fingerprint,
        encode,
        input: { seconds },
        trace: input.trace,
        user: input.user
      },
      ({ attempts, isOwnOnly }) =>
        router
          .route({
            owner: caller.key.hash,
            candidates: isOwnOnly ? candidates.filter(OwnKeys.isByok) : candidates,
            attempts,
            units: seconds,
            attemptTimeout: deadlines.transcriptionAttempt,
            deadline: deadlines.transcription,
            call: ({ credential, offer }) => offer.run(requestFor(offer), credential)
          })
          .pipe(
            Effect.mapError(ProviderFailures.forTranscription),
            Effect.map(({ answer: transcribed, candidate }) => ({
              answer: (cost: MicroCredits.MicroCredits) =>
                toResponse(
                  input,
                  seconds,
                  Warnings.ofSentences(
                    ignoredBy(candidate.offer, requestFor(candidate.offer)),
                    transcribed.answer.warnings
                  ),
                  transcribed,
                  cost
                ),
              outcome: {
                ...transcribed.charge,
                provider: candidate.offer.provider,
                upstreamModel: candidate.offer.upstreamId,
                isByok: OwnKeys.isByok(candidate)
              }
            }))
          )
    )

  /** Measuring happens before payment, so one key gets only one of the threads. */
  const measuring = FairShare.make({ capacity: AudioDuration.concurrency, perOwner: 1 })

  return Effect.fnUntraced(
    function* (request: HttpServerRequest.HttpServerRequest, idempotencyKey: string | undefined) {
      const caller = yield* currentCaller
      const body = yield* TranscriptionBody.read(request, yield* BodyLimit.ofRequest)
      if (body === undefined) return HttpServerResponse.empty({ status: 415 })
      const input = yield* TranscriptionInput.fromBody(body)
      yield* Candidates.allowModel(input.model, caller.guardrail)
      const entry = catalogue.transcription(input.model)
      if (entry === undefined) return yield* Candidates.unknownModel(catalogue, "transcription", input.model)
      const allowed = yield* Candidates.allowed(entry, { preferences: input.provider, guardrail: caller.guardrail })
      yield* Candidates.passable(allowed, input.provider)
      const own = yield* ownKeys.of(caller)
      // Measuring takes work, so it comes after the checks that need no price.
      if (!OwnKeys.hasOwn(allowed, own)) yield* admission.canPay(caller, input.model, allowed, idempotencyKey)
      const { duration, format } = yield* measuring.hold(caller.key.hash, 1)(TranscriptionInput.measure(input))
      const requestFor = ({ provider }: TranscriptionOffer): TranscriptionRequest => {
        const options = input.provider?.options?.[provider]
        return {
          audio: { source: input.audio, format, durationSeconds: duration, field: input.field },
          // No granularity at all would read as `json`.
          timestamp_granularities: !input.verbose
            ? []
            : input.granularities.length === 0
              ? ["segment"]
              : input.granularities,
          ...(input.language === undefined ? {} : { language: input.language }),
          ...(input.temperature === undefined ? {} : { temperature: input.temperature }),
          ...(options === undefined ? {} : { options })
        }
      }
      const wanted = {
        format,
        formatField: input.format === undefined ? input.field : "input_audio.format",
        audioField: input.field,
        bytes: yield* Effect.orDie(input.audio.size),
        seconds: duration,
        verbose: input.verbose
      }
      const able = yield* Candidates.supporting(allowed, ({ capabilities, publicId }) =>
        unsupported(wanted, capabilities, publicId)
      )
      const candidates = yield* Candidates.ranked(able, {
        preferences: input.provider,
        observed: router.observed,
        own,
        isFreeTier: caller.key.isFreeTier,
        quote: (offer) => offer.quote(requestFor(offer)),
        ignored: (offer) => ignoredBy(offer, requestFor(offer))
      })
      return yield* serve(caller, input, duration, requestFor, candidates, idempotencyKey)
    },
    Effect.provideService(FileSystem.FileSystem, fileSystem),
    Effect.provideService(Path.Path, path)
  )
})

/** The `transcription` group of the contract. */
export const layer = HttpApiBuilder.group(GatewayApi, "transcription", (handlers) =>
  Effect.map(make, (transcribe) =>
    handlers.handleRaw("transcribe", ({ headers, request }) => transcribe(request, headers["idempotency-key"]))
  )
)
