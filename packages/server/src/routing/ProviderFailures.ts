/**
 * Maps failures of providers to the contract's errors. The only place that decides their status.
 */
import {
  BadGateway,
  BadRequest,
  Forbidden,
  GatewayTimeout,
  InternalServerError,
  type Metadata,
  NotFound,
  PayloadTooLarge,
  PaymentRequired,
  phrases,
  ProviderOverloaded,
  ServiceUnavailable,
  TooManyRequests,
  Unauthorized,
  UpstreamTimeout
} from "@model-gateway/core/GatewayError"
import type { Reason, Simulated } from "@model-gateway/providers/ProviderError"
import { Duration } from "effect"
import type { Attempt, RoutingFailure } from "./Router.ts"

/** How a rerank can fail because of its providers. */
export type RerankFailure =
  | BadRequest
  | Unauthorized
  | PaymentRequired
  | Forbidden
  | NotFound
  | PayloadTooLarge
  | TooManyRequests
  | InternalServerError
  | BadGateway
  | ServiceUnavailable
  | UpstreamTimeout
  | ProviderOverloaded

/** How a transcription can fail because of its providers. */
export type TranscriptionFailure = RerankFailure | GatewayTimeout

const seconds = (duration: Duration.Duration): number => Math.max(1, Math.ceil(Duration.toSeconds(duration)))

interface Details {
  readonly attempts: ReadonlyArray<Attempt>
  readonly provider?: string | undefined
  readonly retryAfter?: Duration.Duration | undefined
}

const metadataOf = ({ attempts, provider, retryAfter }: Details): Metadata => ({
  ...(provider === undefined ? {} : { provider }),
  attempts: attempts.map(({ outcome, provider, seconds }) => ({ provider, outcome, seconds })),
  ...(retryAfter === undefined ? {} : { retry_after: seconds(retryAfter) })
})

const error = (message: string, details: Details) => ({ error: { message, metadata: metadataOf(details) } })

const simulated = (reason: Simulated, details: Details): TranscriptionFailure => {
  const message = `${phrases[reason.status]} (simulated)`
  const waiting = reason.retryAfter === undefined ? undefined : { retry_after: seconds(reason.retryAfter) }
  const plain = { error: waiting === undefined ? { message } : { message, metadata: waiting } }
  switch (reason.status) {
    case 400:
      return new BadRequest({ error: { message, metadata: { issues: [{ path: "model", message: "simulated" }] } } })
    case 401:
      return new Unauthorized(plain)
    case 402:
      return new PaymentRequired(plain)
    case 403:
      return new Forbidden(plain)
    case 404:
      return new NotFound(plain)
    case 413:
      return new PayloadTooLarge(plain)
    case 429:
      return new TooManyRequests(plain)
    case 500:
      return new InternalServerError(plain)
    case 502:
      return new BadGateway(error(message, details))
    case 503:
      return new ServiceUnavailable(plain)
    case 504:
      return new GatewayTimeout(plain)
    case 524:
      return new UpstreamTimeout(error(message, details))
    case 529:
      return new ProviderOverloaded(error(message, { ...details, retryAfter: reason.retryAfter }))
  }
}

const fromReason = (reason: Reason, details: Details): TranscriptionFailure => {
  switch (reason._tag) {
    case "InvalidRequest":
      return new BadRequest({
        error: {
          message: `${phrases[400]}: ${reason.message}`,
          metadata: {
            issues: [{ path: "", message: reason.message }],
            ...metadataOf({ attempts: [], provider: details.provider })
          }
        }
      })
    case "InputTooLarge":
      return new PayloadTooLarge(error(`${phrases[413]}: ${reason.message}`, { ...details, attempts: [] }))
    // The catalogue lists the model, so it is the gateway that is wrong, not the caller.
    case "UnknownModel":
    case "Unauthorized":
    case "OutOfCredit":
    case "Unavailable":
    case "BadResponse":
      return new BadGateway(error(phrases[502], details))
    case "RateLimited":
    case "Overloaded":
      return new ProviderOverloaded(
        error(`${phrases[529]}: it is overloaded`, { ...details, retryAfter: reason.retryAfter ?? Duration.seconds(1) })
      )
    case "Timeout":
      return new UpstreamTimeout(error(phrases[524], details))
    case "Simulated":
      return simulated(reason, details)
  }
}

/** The error of a transcription that no provider served. The service's own deadline is a 504. */
export const forTranscription = (failure: RoutingFailure): TranscriptionFailure => {
  switch (failure._tag) {
    case "AttemptsFailed":
      return fromReason(failure.reason, failure)
    case "NoneUp":
      return new ServiceUnavailable(error(`${phrases[503]}: no provider of this model is available`, failure))
    case "DeadlinePassed":
      return new GatewayTimeout(error(phrases[504], failure))
  }
}

/** The error of a rerank that no provider served. It has no 504, so every timeout is a 524. */
export const forRerank = (failure: RoutingFailure): RerankFailure => {
  const found = forTranscription(failure)
  return found instanceof GatewayTimeout ? new UpstreamTimeout(error(phrases[524], failure)) : found
}
