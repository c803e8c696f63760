/**
 * Converts both forms of a transcription request to the same fields, with audio that can be read.
 */
import type { BadRequest } from "@model-gateway/core/GatewayError"
import type * as Transcription from "@model-gateway/core/Transcription"
import * as AudioDuration from "@model-gateway/offers/AudioDuration"
import * as AudioSource from "@model-gateway/offers/AudioSource"
import { Effect, type FileSystem, Stream } from "effect"
import { createHash } from "node:crypto"
import * as Issues from "../internal/Issues.ts"
import type * as TranscriptionBody from "./TranscriptionBody.ts"

/** A request, from JSON or a form. */
export interface Input {
  readonly model: string
  readonly audio: AudioSource.AudioSource
  /** The format that a JSON body declares. For a form, it is detected from the file's content. */
  readonly format: Transcription.AudioFormat | undefined
  /** The field that contains the audio, for issues. */
  readonly field: "input_audio.data" | "file"
  readonly language: string | undefined
  readonly verbose: boolean
  readonly temperature: number | undefined
  readonly granularities: ReadonlyArray<Transcription.TimestampGranularity>
  readonly provider: (typeof Transcription.Request.Type)["provider"]
  readonly trace: (typeof Transcription.Request.Type)["trace"]
  readonly user: (typeof Transcription.Request.Type)["user"]
  /** Identifies the request for idempotency. */
  readonly fingerprint: Effect.Effect<ReadonlyArray<string | Uint8Array>>
}

const listOf = (
  granularities: Transcription.Form["timestamp_granularities[]"]
): ReadonlyArray<Transcription.TimestampGranularity> | undefined =>
  typeof granularities === "string" ? [granularities] : granularities

const common = (
  payload: typeof Transcription.Request.Type | Transcription.Form,
  granularities: ReadonlyArray<Transcription.TimestampGranularity> | undefined
) => ({
  model: payload.model,
  language: payload.language?.toLowerCase(),
  verbose: payload.response_format === "verbose_json",
  temperature: payload.temperature,
  granularities: granularities ?? (["segment"] as const),
  provider: payload.provider,
  trace: payload.trace,
  user: payload.user
})

const hashOf = (audio: AudioSource.AudioSource): Effect.Effect<Uint8Array> =>
  Effect.orDie(
    Effect.map(
      Stream.runFold(
        audio.stream,
        () => createHash("sha256"),
        (hash, chunk) => hash.update(chunk)
      ),
      (hash) => hash.digest()
    )
  )

const fromForm = Effect.fnUntraced(function* ({ file, ...fields }: Transcription.Form) {
  const audio = yield* AudioSource.fromPath(file.path)
  return {
    ...common({ ...fields, file }, listOf(fields["timestamp_granularities[]"])),
    audio,
    format: undefined,
    field: "file" as const,
    fingerprint: Effect.map(hashOf(audio), (hash) => [JSON.stringify(fields), hash])
  }
})

const fromJson = Effect.fnUntraced(function* ({ audioPath, request }: TranscriptionBody.JsonRequest) {
  const { input_audio, ...fields } = request
  const audio = yield* AudioSource.fromPath(audioPath)
  return {
    ...common(request, request.timestamp_granularities),
    audio,
    format: input_audio.format,
    field: "input_audio.data" as const,
    fingerprint: Effect.map(hashOf(audio), (hash) => [JSON.stringify(fields), input_audio.format, hash])
  }
})

/** Converts either form to the same fields. */
export const fromBody = (body: TranscriptionBody.Body): Effect.Effect<Input, never, FileSystem.FileSystem> =>
  body._tag === "Form" ? fromForm(body.form) : fromJson(body)

/**
 * Detects format and length of the audio from its content. Content that is not audio, or not of the
 * declared format, is a 400.
 */
export const measure = ({ audio, field, format }: Input): Effect.Effect<AudioDuration.Measured, BadRequest> =>
  AudioDuration.measure(audio, format).pipe(
    Effect.catchTags({
      NotAudio: (error) => Effect.fail(Issues.invalid([{ path: field, message: error.message }])),
      WrongFormat: (error) => Effect.fail(Issues.invalid([{ path: "input_audio.format", message: error.message }])),
      Unreadable: (error) => Effect.die(error)
    })
  )
