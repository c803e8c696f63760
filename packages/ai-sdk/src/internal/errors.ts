/** The errors of the client as those of the SDK. */
import { AISDKError, APICallError, InvalidArgumentError, LoadAPIKeyError, LoadSettingError } from "@ai-sdk/provider"
import type { ClientError } from "@model-gateway/core/ClientError"
import type { InvalidBaseUrl } from "@model-gateway/core/GatewayConfig"
import { EnvelopeError, type GatewayError } from "@model-gateway/core/GatewayError"
import type { NotCompleted } from "@model-gateway/core/VideoProgress"
import type { ConfigError } from "effect/Config"
import * as Data from "effect/Data"

/** Every failure of a call. */
export type Failure = GatewayError | ClientError | NotCompleted

/**
 * A failure after which the SDK must not call again, whatever its status: the client has retried it
 * already, or may not. `reason` continues the message.
 */
export class Final extends Data.TaggedError("Final")<{
  readonly failure: Exclude<Failure, NotCompleted>
  readonly reason: string
}> {}

/** Where a request was sent, and what of it an error may show: never its content. */
export interface Sent {
  readonly url: string
  readonly modelId: string | undefined
  readonly responseHeaders: Record<string, string> | undefined
}

export const ofFailure = (failure: Failure | Final, sent: Sent): Error => {
  if (failure._tag === "Final") return ofCall(failure.failure, sent, failure)
  if (failure._tag === "VideoNotCompleted") {
    return new AISDKError({ name: "ModelGateway_VideoNotCompletedError", message: failure.message, cause: failure })
  }
  if (failure._tag === "TransportError" && failure.reason !== "connection") {
    return failure.reason === "credential"
      ? new LoadAPIKeyError({ message: failure.message })
      : new InvalidArgumentError({ argument: "headers", message: failure.message, cause: failure })
  }
  return ofCall(failure, sent)
}

const ofCall = (failure: Exclude<Failure, NotCompleted>, sent: Sent, final?: Final): APICallError => {
  // The raw body is gone. The envelope is what the service said, with the id of the request.
  const envelope =
    failure instanceof EnvelopeError
      ? { error: failure.error, service_metadata: failure.service_metadata, user_id: failure.user_id }
      : undefined
  return new APICallError({
    message: final === undefined ? failure.message : `${failure.message.replace(/\.$/, "")}. ${final.reason}`,
    url: sent.url,
    requestBodyValues: { model: sent.modelId },
    ...(failure.status === undefined ? undefined : { statusCode: failure.status }),
    ...(sent.responseHeaders === undefined ? undefined : { responseHeaders: sent.responseHeaders }),
    ...(envelope === undefined ? undefined : { responseBody: JSON.stringify(envelope), data: envelope }),
    cause: failure,
    isRetryable: final === undefined && failure.isRetryable
  })
}

const keyVariable = "MODEL_GATEWAY_API_KEY"

/** The error of a provider that cannot be configured. `isGiven`: the base URL is an option. */
export const ofConfig = (error: ConfigError | InvalidBaseUrl, isGiven: boolean): Error => {
  if (error._tag === "InvalidBaseUrl") {
    return isGiven
      ? new InvalidArgumentError({ argument: "baseURL", message: error.message })
      : new LoadSettingError({ message: `MODEL_GATEWAY_BASE_URL: ${error.message}` })
  }
  return error.message.includes(keyVariable)
    ? new LoadAPIKeyError({
        message: `The API key of the model gateway is missing. Pass it as "apiKey", or set ${keyVariable}.`
      })
    : new LoadSettingError({ message: error.message })
}
