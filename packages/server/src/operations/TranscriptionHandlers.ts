/**
 * POST `/audio/transcriptions`.
 *
 * Specification: "4. POST /audio/transcriptions", "Transcription response".
 */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import type * as Transcription from "@model-gateway/core/Transcription"
import * as AudioDuration from "@model-gateway/providers/AudioDuration"
import { cost, type TranscriptionModel } from "@model-gateway/providers/Model"
import type { Provider, TranscriptionResponse } from "@model-gateway/providers/Provider"
import { Effect, FileSystem, Path } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { currentCaller, type Caller } from "../access/Caller.ts"
import * as MicroCredits from "@model-gateway/providers/MicroCredits"
import * as FairShare from "../internal/FairShare.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as BodyLimit from "../http/BodyLimit.ts"
import * as Issues from "../http/Issues.ts"
import { Admission } from "../admission/Admission.ts"
import { type Endpoint, ModelCatalogue } from "../routing/ModelCatalogue.ts"
import * as Candidates from "../routing/Candidates.ts"
import * as ProviderFailures from "../routing/ProviderFailures.ts"
import { Router } from "../routing/Router.ts"
import * as TranscriptionBody from "./TranscriptionBody.ts"
import * as TranscriptionInput from "./TranscriptionInput.ts"

type TranscriptionEndpoint = Endpoint<TranscriptionModel>

const capable = (provider: Provider) =>
  provider.transcribe ??
  (() =>
    Effect.die(
      new Error(`The provider ${provider.name} lists a transcription model but does not implement transcription`)
    ))

/**
 * The endpoints that support the request. If there are none, a 400 that names what is not
 * supported.
 */
const able = Effect.fnUntraced(function* (
  endpoints: ReadonlyArray<TranscriptionEndpoint>,
  { field, format, model, verbose }: TranscriptionInput.Input,
  measured: AudioDuration.Measured
) {
  const ofFormat = endpoints.filter(({ model }) => model.capabilities.audio_formats.includes(measured.format))
  if (ofFormat.length === 0) {
    const known = [...new Set(endpoints.flatMap(({ model }) => model.capabilities.audio_formats))].join(", ")
    return yield* Issues.invalid([
      {
        path: format === undefined ? field : "input_audio.format",
        message: `the model "${model}" accepts ${known}, not ${measured.format}`
      }
    ])
  }
  const ofShape = verbose ? ofFormat.filter(({ model }) => model.capabilities.verbose) : ofFormat
  if (ofShape.length === 0) {
    return yield* Issues.invalid([
      { path: "response_format", message: `no provider of the model "${model}" supports verbose_json` }
    ])
  }
  return ofShape
})

const toResponse = (
  input: TranscriptionInput.Input,
  answer: TranscriptionResponse,
  seconds: number,
  charged: number
): Transcription.Response => {
  const { input_tokens, output_tokens } = answer.usage ?? {}
  const base: Transcription.Response = {
    text: answer.text,
    usage: {
      cost: MicroCredits.toCredits(charged),
      seconds,
      ...(input_tokens === undefined ? {} : { input_tokens }),
      ...(output_tokens === undefined ? {} : { output_tokens }),
      ...(input_tokens === undefined || output_tokens === undefined
        ? {}
        : { total_tokens: input_tokens + output_tokens })
    }
  }
  if (!input.verbose) return base
  const language = answer.language ?? input.language
  return {
    ...base,
    task: "transcribe",
    ...(language === undefined ? {} : { language }),
    duration: seconds,
    segments: answer.segments,
    ...(answer.words === undefined || !input.granularities.includes("word") ? {} : { words: answer.words })
  }
}

const usageOf = (seconds: number, { usage }: TranscriptionResponse): Readonly<Record<string, number>> => ({
  seconds,
  ...(usage?.input_tokens === undefined ? {} : { input_tokens: usage.input_tokens }),
  ...(usage?.output_tokens === undefined ? {} : { output_tokens: usage.output_tokens })
})

const encode = (response: Transcription.Response): string => JSON.stringify(response)

const make = Effect.gen(function* () {
  const admission = yield* Admission
  const catalogue = yield* ModelCatalogue
  const router = yield* Router
  const fileSystem = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { deadlines } = yield* GatewayServerConfig

  const serve = (
    caller: Caller,
    input: TranscriptionInput.Input,
    measured: AudioDuration.Measured,
    candidates: ReadonlyArray<TranscriptionEndpoint>,
    idempotencyKey: string | undefined
  ) => {
    const seconds = measured.duration
    const priceOf = ({ model }: TranscriptionEndpoint) => MicroCredits.make(cost(model.pricing, seconds))
    return admission.serve(
      {
        caller,
        operation: "transcription",
        model: input.model,
        isFree: candidates.some(({ model }) => model.free),
        amount: MicroCredits.make(Math.max(...candidates.map(priceOf))),
        idempotencyKey,
        payload: input.fingerprint,
        encode,
        trace: input.trace,
        user: input.user
      },
      () =>
        router
          .route({
            candidates,
            units: seconds,
            attemptTimeout: deadlines.transcriptionAttempt,
            deadline: deadlines.transcription,
            call: ({ model, provider }) => {
              const options = input.provider?.options?.[provider.name]
              return capable(provider)({
                model: model.id,
                audio: { source: input.audio, format: measured.format, durationSeconds: seconds },
                timestamp_granularities: input.verbose ? input.granularities : [],
                ...(input.language === undefined ? {} : { language: input.language }),
                ...(input.temperature === undefined ? {} : { temperature: input.temperature }),
                ...(options === undefined ? {} : { options })
              })
            }
          })
          .pipe(
            Effect.mapError(ProviderFailures.forTranscription),
            Effect.map(({ answer, attempts, endpoint }) => {
              const charged = priceOf(endpoint)
              return {
                attempts,
                answer: toResponse(input, answer, seconds, charged),
                outcome: {
                  cost: charged,
                  provider: endpoint.provider.name,
                  upstreamModel: endpoint.model.id,
                  usage: usageOf(seconds, answer)
                }
              }
            })
          )
    )
  }

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
      const selected = yield* Candidates.select(entry, {
        preferences: input.provider,
        guardrail: caller.guardrail,
        observed: router.observed
      })
      // Measuring takes work, so it comes after the checks that need no price.
      yield* admission.withinRate
      if (selected.some(({ model }) => !model.free)) yield* admission.notExhausted(caller)
      const measured = yield* measuring.hold(caller.key.hash, 1)(TranscriptionInput.measure(input))
      const candidates = yield* able(selected, input, measured)
      return yield* serve(caller, input, measured, candidates, idempotencyKey)
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
