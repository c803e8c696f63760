/**
 * Both forms of a transcription request, brought to one: audio that can be read, and the same fields.
 */
import { BadRequest, type Issue, phrases } from "@model-gateway/core/GatewayError"
import type * as Transcription from "@model-gateway/core/Transcription"
import * as AudioDuration from "@model-gateway/providers/AudioDuration"
import * as AudioSource from "@model-gateway/providers/AudioSource"
import { Effect, type FileSystem, Stream } from "effect"
import { createHash } from "node:crypto"
import * as BodyLimit from "../http/BodyLimit.ts"
import type { RequestContext } from "../http/RequestContext.ts"

/** A request in either form. */
export type Payload = Transcription.Request | Transcription.Form

/** A request whichever form it came in. */
export interface Input {
  readonly model: string
  readonly audio: AudioSource.AudioSource
  /** As the JSON form declares it; a file tells by its contents. */
  readonly format: Transcription.AudioFormat | undefined
  /** The field that holds the audio, for issues. */
  readonly field: "input_audio.data" | "file"
  readonly language: string | undefined
  readonly verbose: boolean
  readonly temperature: number | undefined
  readonly granularities: ReadonlyArray<Transcription.TimestampGranularity>
  readonly provider: Transcription.Request["provider"]
  /** What makes two requests the same. */
  readonly fingerprint: Effect.Effect<ReadonlyArray<string | Uint8Array>>
}

/** A 400 with its issue. */
export const refuse = (...issues: readonly [Issue, ...ReadonlyArray<Issue>]): BadRequest =>
  new BadRequest({
    error: {
      message: `${phrases[400]}: ${issues[0].path}: ${issues[0].message}`,
      metadata: { issues }
    }
  })

const base64 = /^[A-Za-z0-9+/]+={0,2}$/

const notBase64 = refuse({ path: "input_audio.data", message: "Expected base64" })

/** Strict: the platform's own decoder passes over whatever is no base64. */
const decode = (data: string): Effect.Effect<Uint8Array, BadRequest> =>
  data.length % 4 === 0 && base64.test(data) ? Effect.sync(() => Buffer.from(data, "base64")) : Effect.fail(notBase64)

const listOf = (
  granularities: Transcription.Form["timestamp_granularities[]"]
): ReadonlyArray<Transcription.TimestampGranularity> | undefined =>
  typeof granularities === "string" ? [granularities] : granularities

const common = (payload: Payload, granularities: ReadonlyArray<Transcription.TimestampGranularity> | undefined) => ({
  model: payload.model,
  language: payload.language?.toLowerCase(),
  verbose: payload.response_format === "verbose_json",
  temperature: payload.temperature,
  granularities: granularities ?? (["segment"] as const),
  provider: payload.provider
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
  yield* BodyLimit.holdFile(file.path)
  const audio = yield* AudioSource.fromPath(file.path)
  return {
    ...common({ ...fields, file }, listOf(fields["timestamp_granularities[]"])),
    audio,
    format: undefined,
    field: "file" as const,
    fingerprint: Effect.map(hashOf(audio), (hash) => [JSON.stringify(fields), hash])
  }
})

const fromJson = Effect.fnUntraced(function* (request: Transcription.Request) {
  const { input_audio, ...fields } = request
  const bytes = yield* decode(input_audio.data)
  return {
    ...common(request, request.timestamp_granularities),
    audio: AudioSource.fromBytes(bytes),
    format: input_audio.format,
    field: "input_audio.data" as const,
    fingerprint: Effect.sync(() => [JSON.stringify(fields), input_audio.format, bytes])
  }
})

/** Reads either form. Base64 that is none is a 400; a file that is larger than the operation takes is refused as {@link BodyLimit.holdFile} does. */
export const fromPayload = (
  payload: Payload
): Effect.Effect<Input, BadRequest, FileSystem.FileSystem | RequestContext> =>
  "file" in payload ? fromForm(payload) : fromJson(payload)

/** Format and length of the audio, by its contents. Audio that is none, or another than was declared, is a 400. */
export const measure = ({ audio, field, format }: Input): Effect.Effect<AudioDuration.Measured, BadRequest> =>
  AudioDuration.measure(audio, format).pipe(
    Effect.catchTags({
      NotAudio: (error) => Effect.fail(refuse({ path: field, message: error.message })),
      WrongFormat: (error) => Effect.fail(refuse({ path: "input_audio.format", message: error.message })),
      Unreadable: (error) => Effect.die(error)
    })
  )
