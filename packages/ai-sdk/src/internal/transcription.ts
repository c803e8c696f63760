/** The transcription models. */
import {
  InvalidArgumentError,
  type JSONObject,
  type JSONValue,
  type SharedV4Warning,
  type TranscriptionModelV4,
  type TranscriptionModelV4CallOptions
} from "@ai-sdk/provider"
import { GatewayClient } from "@model-gateway/core/GatewayClient"
import * as Transcription from "@model-gateway/core/Transcription"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"
import type { Final } from "./errors.ts"
import type { Exchange } from "./exchange.ts"
import * as Options from "./options.ts"
import { now, type Runner } from "./runner.ts"

/** Bytes, or the bytes of a text in base64. */
export const bytesOf = (data: Uint8Array | string, argument: string): Effect.Effect<Uint8Array, Error> => {
  if (typeof data !== "string") return Effect.succeed(data)
  const decoded = Base64.decode(data)
  return Result.isSuccess(decoded)
    ? Effect.succeed(decoded.success)
    : Effect.fail(new InvalidArgumentError({ argument, message: `"${argument}" is not base64.` }))
}

/** A form has a field for each item of a list, and objects as JSON text. */
const textsOf = (name: string, value: JSONValue | undefined): ReadonlyArray<readonly [string, string]> => {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value.flatMap((item: JSONValue) => textsOf(`${name}[]`, item))
  return [[name, typeof value === "object" ? JSON.stringify(value) : String(value)]]
}

const formOf = (fields: JSONObject, audio: Uint8Array, mediaType: string): FormData => {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    for (const [field, text] of textsOf(name, value)) form.append(field, text)
  }
  // Copied, because a Blob does not accept a view into shared memory. The service detects the
  // format from the content.
  form.append("file", new Blob([new Uint8Array(audio)], { type: mediaType }), "audio")
  return form
}

/** The service has more than one word for a language only if its provider does. */
const languageOf = (language: string | undefined): string | undefined =>
  language !== undefined && /^[a-z]{2}$/i.test(language) ? language.toLowerCase() : undefined

const timed = <Item extends { readonly start?: number; readonly end?: number }>(
  items: ReadonlyArray<Item>,
  textOf: (item: Item) => string | undefined
) =>
  items.flatMap((item) =>
    item.start === undefined || item.end === undefined
      ? []
      : [{ text: textOf(item) ?? "", startSecond: item.start, endSecond: item.end }]
  )

const field = "response_format"

interface Answer {
  readonly body: Transcription.Response
  readonly warnings: Array<SharedV4Warning>
}

export const make = ({ attempts, run }: Runner): ((modelId: string) => TranscriptionModelV4) => {
  /** The models whose providers return no timestamps. */
  const withoutTimestamps = new Set<string>()

  return (modelId) => {
    const attempt = attempts()

    const transcribe = (
      call: TranscriptionModelV4CallOptions,
      audio: Uint8Array,
      exchange: Exchange
    ): Effect.Effect<Answer, Transcription.Failure | Final, GatewayClient> => {
      const { headers, mediaType, providerOptions, timestampGranularities } = call
      const options = Options.fields(providerOptions)
      const isChosen = options[field] !== undefined
      const isVerbose = !isChosen && !withoutTimestamps.has(modelId)
      const asksForTimes = timestampGranularities !== undefined && timestampGranularities.length > 0
      const fields: JSONObject = {
        ...(isChosen ? undefined : { [field]: isVerbose ? "verbose_json" : "json" }),
        ...(asksForTimes && (isVerbose || isChosen) ? { timestamp_granularities: timestampGranularities } : undefined),
        ...options,
        model: modelId
      }
      // The service refuses a key that it knows with another request.
      const idempotencyKey =
        exchange.idempotencyKey === undefined || isVerbose || isChosen
          ? exchange.idempotencyKey
          : `${exchange.idempotencyKey}-json`
      return attempt({ identity: headers, content: fields, input: call.audio, idempotencyKey }, (idempotencyKey) =>
        Effect.flatMap(GatewayClient, (client) =>
          client.call(Transcription.transcribeOperation, { idempotencyKey, form: formOf(fields, audio, mediaType) })
        )
      ).pipe(
        Effect.map((body): Answer => ({
          body,
          warnings:
            asksForTimes && !isVerbose && !isChosen
              ? [
                  {
                    type: "unsupported",
                    feature: "timestampGranularities",
                    details: `No provider of the model "${modelId}" returns timestamps.`
                  }
                ]
              : []
        })),
        Effect.catchTag("BadRequest", (error) => {
          if (!isVerbose || !error.issues.some(({ path }) => path === field)) return Effect.fail(error)
          withoutTimestamps.add(modelId)
          return Effect.suspend(() => transcribe(call, audio, exchange))
        })
      )
    }

    return {
      specificationVersion: "v4",
      provider: `${Options.name}.transcription`,
      modelId,
      doGenerate: (options) =>
        run(
          {
            path: Transcription.transcribeOperation.path,
            modelId,
            abortSignal: options.abortSignal,
            headers: options.headers
          },
          Effect.fnUntraced(function* (exchange) {
            const audio = yield* bytesOf(options.audio, "audio")
            const { body, warnings } = yield* transcribe(options, audio, exchange)
            const { duration, language, segments = [], text, usage, words } = body
            return {
              text,
              segments: timed(segments, (segment) => segment.text),
              ...(words === undefined ? undefined : { words: timed(words, ({ word }) => word) }),
              language: languageOf(language),
              durationInSeconds: duration ?? usage?.seconds,
              warnings: [...warnings, ...Options.warningsOf(body.warnings)],
              ...(usage === undefined ? undefined : { usage }),
              providerMetadata: {
                [Options.name]: { requestId: Options.requestIdOf(exchange), cost: usage?.cost, usage }
              },
              response: { timestamp: yield* now, modelId, ...Options.headersOf(exchange), body }
            }
          })
        )
    }
  }
}
