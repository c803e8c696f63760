/**
 * Maps failures of providers to the contract's errors. The only place that decides their status.
 */
import {
  type ErrorClass,
  type GatewayError,
  InternalServerError,
  type Metadata,
  ofStatus,
  phrases
} from "@model-gateway/core/GatewayError"
import { rerankOperation } from "@model-gateway/core/Rerank"
import { transcribeOperation } from "@model-gateway/core/Transcription"
import type { Reason, Simulated } from "@model-gateway/offers/ProviderError"
import { Duration } from "effect"
import type { ProviderAttempt } from "../accounting/ProviderAttempt.ts"
import * as Issues from "../internal/Issues.ts"
import type { RoutingFailure } from "./Router.ts"

/** How a rerank can fail because of its providers. */
export type RerankFailure = (typeof rerankOperation.error)[number]["Type"]

/** How a transcription can fail because of its providers. */
export type TranscriptionFailure = (typeof transcribeOperation.error)[number]["Type"]

type Status = keyof typeof phrases

/** What to answer, regardless of the operation. */
interface Answer {
  readonly status: Status
  /** The status for operations that do not have `status`. Default: 500. */
  readonly otherwise?: Status
  /** Follows the status's phrase in the message. */
  readonly detail?: string
  readonly metadata?: Metadata
}

interface Details {
  readonly attempts: ReadonlyArray<ProviderAttempt>
  readonly provider?: string | undefined
  readonly isByok?: boolean
  readonly retryAfter?: Duration.Duration | undefined
}

const seconds = (duration: Duration.Duration): number => Math.max(1, Math.ceil(Duration.toSeconds(duration)))

const metadataOf = ({ attempts, provider, retryAfter }: Details): Metadata => ({
  ...(provider === undefined ? {} : { provider }),
  attempts: attempts.map((attempt) => ({ ...attempt })),
  ...(retryAfter === undefined ? {} : { retry_after: seconds(retryAfter) })
})

const ofSimulated = ({ retryAfter, status }: Simulated, details: Details): Answer => {
  const answer = { status, detail: " (simulated)" }
  switch (status) {
    case 400:
      return { ...answer, metadata: { issues: [{ path: "model", message: "simulated" }] } }
    case 502:
    case 524:
    case 529:
      return { ...answer, metadata: metadataOf({ ...details, retryAfter }) }
    default:
      return retryAfter === undefined ? answer : { ...answer, metadata: { retry_after: seconds(retryAfter) } }
  }
}

/** What the caller can correct, if the attempt was made with a provider key. */
const ownDetail = ({ isByok, provider }: Details, what: string): Pick<Answer, "detail"> =>
  isByok === true && provider !== undefined ? { detail: `: ${provider} ${what}` } : {}

const ofReason = (reason: Reason, details: Details): Answer => {
  switch (reason._tag) {
    case "InvalidRequest":
      return {
        status: 400,
        detail: `: ${reason.message}`,
        metadata: {
          ...Issues.metadataOf(reason.issues ?? [{ path: "", message: reason.message }]),
          ...metadataOf({ attempts: [], provider: details.provider })
        }
      }
    case "InputTooLarge":
      return {
        status: 413,
        detail: `: ${reason.message}`,
        metadata: {
          ...(reason.issues === undefined ? {} : Issues.metadataOf(reason.issues)),
          ...metadataOf({ ...details, attempts: [] })
        }
      }
    // The catalog lists the model, so it is the gateway that is wrong, not the caller.
    case "UnknownModel":
    case "Unavailable":
    case "ConnectionLost":
    case "BadResponse":
      return { status: 502, metadata: metadataOf(details) }
    case "Unauthorized":
      return { status: 502, ...ownDetail(details, "rejected your provider key"), metadata: metadataOf(details) }
    case "OutOfCredit":
      return {
        status: 502,
        ...ownDetail(details, "has no credit left for the account of your provider key"),
        metadata: metadataOf(details)
      }
    case "RateLimited":
    case "Overloaded":
      return {
        status: 529,
        detail: ": it is overloaded",
        metadata: metadataOf({ ...details, retryAfter: reason.retryAfter ?? Duration.seconds(1) })
      }
    case "Timeout":
      return { status: 524, metadata: metadataOf(details) }
    case "Simulated":
      return ofSimulated(reason, details)
  }
}

const ofFailure = (failure: RoutingFailure, attempts: ReadonlyArray<ProviderAttempt>): Answer => {
  switch (failure._tag) {
    case "AttemptsFailed":
      return ofReason(failure.reason, { attempts, provider: failure.provider, isByok: failure.isByok })
    case "NoneUp": {
      const metadata = metadataOf({ attempts, retryAfter: failure.retryAfter })
      return { status: 503, detail: ": no provider of this model is available", metadata }
    }
    case "DeadlinePassed":
      return { status: 504, otherwise: 524, metadata: metadataOf({ attempts, provider: failure.provider }) }
  }
}

/** Restricts an answer to the statuses that the operation has. */
const toError =
  <E extends GatewayError>(errors: ReadonlyArray<ErrorClass<E>>) =>
  ({ detail = "", metadata, otherwise = 500, status }: Answer): E | InternalServerError => {
    const error = (status: Status) =>
      ofStatus(errors, status, {
        message: `${phrases[status]}${detail}`,
        ...(metadata === undefined ? {} : { metadata })
      })
    return error(status) ?? error(otherwise) ?? new InternalServerError({ error: { message: phrases[500] } })
  }

const toRerankError = toError<RerankFailure>(rerankOperation.error)
const toTranscriptionError = toError<TranscriptionFailure>(transcribeOperation.error)

/** Makes the error of a request that no provider served from the failure and all attempts. */
export type ToError<E> = (failure: RoutingFailure, attempts: ReadonlyArray<ProviderAttempt>) => E

/** The error of a transcription that no provider served. The service's own deadline is a 504. */
export const forTranscription: ToError<TranscriptionFailure> = (failure, attempts) =>
  toTranscriptionError(ofFailure(failure, attempts))

/** The error of a rerank that no provider served. It has no 504, so every timeout is a 524. */
export const forRerank: ToError<RerankFailure> = (failure, attempts) => toRerankError(ofFailure(failure, attempts))

/** The error that a sandbox model stands for, restricted to the statuses that the operation has. */
export const forSimulated = <E extends GatewayError>(
  errors: ReadonlyArray<ErrorClass<E>>,
  reason: Simulated
): E | InternalServerError => toError(errors)(ofSimulated(reason, { attempts: [] }))
