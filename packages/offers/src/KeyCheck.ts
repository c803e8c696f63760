/**
 * Tries a key of a provider with the smallest request that one of its models takes: one short
 * document to rank, or a fifth of a second of silence. The provider bills it.
 *
 * @since 0.1.0
 */
import { Effect } from "effect"
import * as AudioSource from "./AudioSource.ts"
import type * as MicroCredits from "./MicroCredits.ts"
import type { Credential, Offer, RerankOffer, TranscriptionOffer } from "./Offer.ts"
import type { ProviderError, Reason } from "./ProviderError.ts"

/**
 * The offers that can be tried.
 *
 * @category models
 * @since 0.1.0
 */
export type Cheap = RerankOffer | TranscriptionOffer

/**
 * What a call says of a key.
 *
 * @category models
 * @since 0.1.0
 */
export interface Result {
  /** Whether the provider takes the key. Undefined: its answer does not say. */
  readonly isAccepted: boolean | undefined
  /** `Success`, or why the call failed. */
  readonly outcome: "Success" | Reason["_tag"]
  /** The HTTP status of the provider's error. */
  readonly status: number | undefined
  /** What the provider says of the error. */
  readonly message: string | undefined
}

const seconds = 0.2
const sampleRate = 16_000

/** Silence as a WAV file of one channel with 16 bits. */
const silence = (): Uint8Array => {
  const bytes = sampleRate * seconds * 2
  const wav = Buffer.alloc(44 + bytes)
  wav.write("RIFF", 0, "latin1")
  wav.writeUInt32LE(36 + bytes, 4)
  wav.write("WAVEfmt ", 8, "latin1")
  wav.writeUInt32LE(16, 16)
  wav.writeUInt16LE(1, 20)
  wav.writeUInt16LE(1, 22)
  wav.writeUInt32LE(sampleRate, 24)
  wav.writeUInt32LE(sampleRate * 2, 28)
  wav.writeUInt16LE(2, 32)
  wav.writeUInt16LE(16, 34)
  wav.write("data", 36, "latin1")
  wav.writeUInt32LE(bytes, 40)
  return wav
}

const rerankRequest = { query: "ping", documents: [{ text: "pong" }] }

const transcriptionRequest = () => ({
  audio: { source: AudioSource.fromBytes(silence()), format: "wav" as const, durationSeconds: seconds },
  timestamp_granularities: []
})

const quoteOf = (offer: Cheap): MicroCredits.MicroCredits =>
  offer.kind === "rerank" ? offer.quote(rerankRequest) : offer.quote(transcriptionRequest())

/**
 * The offer whose smallest request costs the least. Undefined: none is cheap enough, because all
 * are for videos.
 *
 * @category getters
 * @since 0.1.0
 */
export const cheapest = (offers: ReadonlyArray<Offer>): Cheap | undefined =>
  offers.filter((offer) => offer.kind !== "video").toSorted((one, other) => quoteOf(one) - quoteOf(other))[0]

/** Whether the provider takes the key that failed with an error. */
const isAccepted = ({ reason }: ProviderError): boolean | undefined => {
  switch (reason._tag) {
    case "Unauthorized":
    case "OutOfCredit":
      return false
    case "InvalidRequest":
    case "InputTooLarge":
    case "RateLimited":
    case "Overloaded":
      return true
    default:
      return undefined
  }
}

const failed = (error: ProviderError): Result => ({
  isAccepted: isAccepted(error),
  outcome: error.reason._tag,
  status: error.status,
  message: error.message
})

const succeeded: Result = { isAccepted: true, outcome: "Success", status: undefined, message: undefined }

/**
 * The time limit of {@link check}.
 *
 * @category constants
 * @since 0.1.0
 */
export const timeLimit = "20 seconds"

/**
 * Calls the offer once with the key. A call that takes longer than {@link timeLimit} ends as
 * `Timeout`.
 *
 * @category calls
 * @since 0.1.0
 */
export const check = (offer: Cheap, credential: Credential): Effect.Effect<Result> => {
  const call: Effect.Effect<unknown, ProviderError> =
    offer.kind === "rerank" ? offer.run(rerankRequest, credential) : offer.run(transcriptionRequest(), credential)
  return call.pipe(
    Effect.as(succeeded),
    Effect.catchTag("ProviderError", (error) => Effect.succeed(failed(error))),
    Effect.timeoutOrElse({
      duration: timeLimit,
      orElse: () =>
        Effect.succeed<Result>({ isAccepted: undefined, outcome: "Timeout", status: undefined, message: undefined })
    })
  )
}
