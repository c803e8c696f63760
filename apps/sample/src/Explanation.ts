/** Explains errors: what is wrong, what to do, and what to send to support. */
import type { Models } from "./Inputs.ts"
import type { Step, StepError } from "./Program.ts"

/** What to do about an error. This differs between the terminal and the page. */
export interface Advice {
  /** The gateway's address, which messages name. */
  readonly baseUrl: string
  /** No server is listening at that address. */
  readonly unreachable: string
  /** An ordinary key is missing or invalid. */
  readonly key: string
  /** A management key is missing or invalid. */
  readonly managementKey: string
  /** The gateway does not have the model. */
  readonly model: { readonly [S in keyof Models]: string }
  /** The credits or a limit are used up. */
  readonly credits: string
  /** The video cannot be saved. */
  readonly save: string
}

/** What a person reads about an error. */
export interface Explanation {
  /** One sentence: what is wrong, and what to do. */
  readonly message: string
  /** The error's `_tag`, for `Effect.catchTag`. */
  readonly tag: StepError["_tag"]
  /** Identifies the request for support. Undefined: the gateway sent none. */
  readonly requestId: string | undefined
}

/** Explains the error of a step. */
export const explain = (step: Step, error: StepError, advice: Advice): Explanation => ({
  message: messageOf(step, error, advice),
  tag: error._tag,
  requestId: "requestId" in error ? error.requestId : undefined
})

const messageOf = (step: Step, error: StepError, advice: Advice): string => {
  const [kind, key] = step === "guardrail" ? ["management key", advice.managementKey] : ["key", advice.key]
  switch (error._tag) {
    case "TransportError":
      switch (error.reason) {
        case "connection":
          return `Cannot connect to the gateway at ${advice.baseUrl}${code(error.underlying)}: ${advice.unreachable}.`
        case "credential":
          return `This step needs a ${kind}: ${key}.`
        case "request":
          return `${error.message}.`
      }
      break
    case "TimeoutError":
      if (error.limit === "stall") {
        return `No data was sent or received for ${error.milliseconds / 1000} s: check the network, then try again.`
      }
      return `The gateway at ${advice.baseUrl} did not answer within ${error.milliseconds / 1000} s: try again, or check the load of the gateway.`
    case "InvalidResponse":
      return `The response from ${advice.baseUrl} is not from a model gateway (status ${error.status}, ${error.description}): check the address, which ends in /api/v1.`
    case "BadRequest": {
      const issues = error.issues.map(({ message, path }) => (path === "" ? message : `${path}: ${message}`))
      return issues.length === 0
        ? `The gateway rejected the request (${error.error.message}): change the request.`
        : `The gateway rejected the request (${issues.join("; ")}): correct it.`
    }
    case "Unauthorized":
      return `The gateway rejected the ${kind} (${error.error.message}): ${key}.`
    case "PaymentRequired":
      return `The key cannot pay for this request (${error.error.message}): ${advice.credits}.`
    case "Forbidden":
      return `This key is not allowed to do this (${error.error.message}): ${step === "guardrail" ? key : "use another key, or change what its guardrail allows"}.`
    case "NotFound":
      return step === "rerank" || step === "transcription" || step === "video"
        ? `The gateway does not have the model (${error.error.message}): ${advice.model[step]}.`
        : `Not found (${error.error.message}): it may have been deleted. Try again.`
    case "PayloadTooLarge":
      return `The request is too large (${error.error.message}): send less.`
    case "TooManyRequests":
    case "ServiceUnavailable":
    case "ProviderOverloaded":
      return `The gateway cannot serve this request now (${error.error.message}): try again ${later(error.retryAfter)}.`
    case "BadGateway":
      return `The provider failed (${error.error.message}): try again, or use another model.`
    case "GatewayTimeout":
    case "UpstreamTimeout":
      return `The provider took too long (${error.error.message}): try again, or send less.`
    case "InternalServerError":
      return `The gateway failed (${error.error.message}): report the request id to its operator.`
    case "VideoNotCompleted":
      return error.job.status === "failed"
        ? `The video could not be made (${error.job.error ?? "no reason given"}): change the request, or use another model.`
        : `The video was not made, because its job ${error.job.status === "cancelled" ? "was cancelled" : "expired"}: submit it again.`
    case "VideoNotSaved":
      return `The video was made but could not be saved at ${error.location}${code(error.cause)}: ${advice.save}.`
  }
}

const later = (seconds: number | undefined): string => {
  if (seconds === undefined) return "later"
  if (seconds > 7200) return `in ${Math.ceil(seconds / 3600)} hours`
  if (seconds > 120) return `in ${Math.ceil(seconds / 60)} minutes`
  return seconds === 1 ? "in a second" : `in ${Math.ceil(seconds)} seconds`
}

/** The platform's error code in parentheses, such as ` (ECONNREFUSED)`. */
const code = (cause: unknown): string => {
  for (let at = cause; at instanceof Error; at = at.cause) {
    if ("code" in at && typeof at.code === "string") return ` (${at.code})`
  }
  return ""
}
