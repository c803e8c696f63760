/**
 * Calls each upstream once with the gateway's own key, with the smallest request that it has: one
 * short document to rank, or a fifth of a second of silence.
 */
import * as AudioSource from "@model-gateway/offers/AudioSource"
import type * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { RerankOffer, TranscriptionOffer } from "@model-gateway/offers/Offer"
import type { ProviderError } from "@model-gateway/offers/ProviderError"
import { Effect } from "effect"
import type { Offered } from "../Offered.ts"
import { type Finding, ok, problem, skipped } from "./Finding.ts"

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

type Cheap = RerankOffer | TranscriptionOffer

const quoteOf = (offer: Cheap): MicroCredits.MicroCredits =>
  offer.kind === "rerank" ? offer.quote(rerankRequest) : offer.quote(transcriptionRequest())

const call = (offer: Cheap): Effect.Effect<unknown, ProviderError> => {
  const { credential } = offer
  if (credential === undefined) return Effect.void
  return offer.kind === "rerank" ? offer.run(rerankRequest, credential) : offer.run(transcriptionRequest(), credential)
}

const timeLimit = "20 seconds"

const resultOf = (name: string, { message, reason }: ProviderError): Finding => {
  switch (reason._tag) {
    case "Unauthorized":
    case "OutOfCredit":
      return problem("upstreams", `${name} refuses the key of the gateway: ${message}`, "model-gateway settings check")
    // It has accepted the key.
    case "InvalidRequest":
    case "InputTooLarge":
    case "RateLimited":
    case "Overloaded":
      return ok("upstreams", `${name} answers, and accepts the key of the gateway.`)
    default:
      return problem("upstreams", `${name} did not answer as it should: ${message}`)
  }
}

/** One finding for each upstream that the gateway has a key for. */
export const check = ({ offers, upstreams }: Offered["Service"]): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.forEach(
    upstreams.filter(({ credential }) => credential !== undefined),
    ({ name }) => {
      const [cheapest] = offers
        .filter((offer) => offer.kind !== "video")
        .filter(({ credential, provider }) => provider === name && credential !== undefined)
        .toSorted((one, other) => quoteOf(one) - quoteOf(other))
      if (cheapest === undefined) {
        return Effect.succeed(skipped("upstreams", `${name} has no call that is cheap enough to try its key.`))
      }
      return call(cheapest).pipe(
        Effect.as(ok("upstreams", `${name} answers, and accepts the key of the gateway.`)),
        Effect.catchTag("ProviderError", (error) => Effect.succeed(resultOf(name, error))),
        Effect.timeoutOrElse({
          duration: timeLimit,
          orElse: () => Effect.succeed(problem("upstreams", `${name} did not answer within ${timeLimit}.`))
        })
      )
    },
    { concurrency: 8 }
  )
