/**
 * Errors as people read them: one sentence that says what is wrong and what to do, and what to tell
 * the operator of the gateway.
 */
import type { Models } from "./Inputs.ts"
import type { Step, StepError } from "./Program.ts"

/** What to do about an error, where that depends on where the program runs. */
export interface Hints {
  /** The gateway that was asked. */
  readonly baseUrl: string
  /** Nobody answers there. */
  readonly unreachable: string
  /** An ordinary key is missing or refused. */
  readonly key: string
  /** A management key is missing or refused. */
  readonly managementKey: string
  /** The gateway has no such model. */
  readonly model: { readonly [S in keyof Models]: string }
  /** Credits or a limit are used up. */
  readonly credits: string
  /** The video cannot be kept. */
  readonly save: string
}

/** An error, explained. */
export interface Explanation {
  readonly sentence: string
  /** The error's name in the program: what `Effect.catchTag` takes. */
  readonly tag: StepError["_tag"]
  /** What to quote when asking for help. Undefined: the gateway sent none. */
  readonly requestId: string | undefined
}

/** Explains what a step failed with. */
export const explain = (step: Step, error: StepError, hints: Hints): Explanation => ({
  sentence: sentence(step, error, hints),
  tag: error._tag,
  requestId: "requestId" in error ? error.requestId : undefined
})

const sentence = (step: Step, error: StepError, hints: Hints): string => {
  const [kind, key] = step === "guardrail" ? ["management key", hints.managementKey] : ["key", hints.key]
  switch (error._tag) {
    case "TransportError":
      switch (error.reason) {
        case "connection":
          return `No gateway answers at ${hints.baseUrl}${code(error.underlying)}: ${hints.unreachable}.`
        case "credential":
          return `This step needs a ${kind} and there is none: ${key}.`
        case "request":
          return `${error.message}.`
      }
      break
    case "TimeoutError":
      if (error.limit === "stall") {
        return `Nothing moved to or from the gateway for ${error.milliseconds / 1000} s: check the network, then try again.`
      }
      return `The gateway at ${hints.baseUrl} did not answer within ${error.milliseconds / 1000} s: try again, or check the load of the gateway.`
    case "InvalidResponse":
      return `The response from ${hints.baseUrl} is not from a model gateway (status ${error.status}, ${error.description}): check the address, which ends in /api/v1.`
    case "BadRequest": {
      const issues = error.issues.map(({ message, path }) => (path === "" ? message : `${path}: ${message}`))
      return issues.length === 0
        ? `The gateway rejected the request (${error.error.message}): change the request.`
        : `The gateway rejected the request: correct ${issues.join("; ")}.`
    }
    case "Unauthorized":
      return `The gateway refuses the ${kind} (${error.error.message}): ${key}.`
    case "PaymentRequired":
      return `The key cannot pay for this request (${error.error.message}): ${hints.credits}.`
    case "Forbidden":
      return `This key may not do this (${error.error.message}): ${step === "guardrail" ? key : "use another key, or change what its guardrail allows"}.`
    case "NotFound":
      return step === "rerank" || step === "transcription" || step === "video"
        ? `The gateway does not have the model (${error.error.message}): ${hints.model[step]}.`
        : `It does not exist (${error.error.message}): somebody else may have deleted it. Try again.`
    case "PayloadTooLarge":
      return `The request is too large (${error.error.message}): send less.`
    case "TooManyRequests":
    case "ServiceUnavailable":
    case "ProviderOverloaded":
      return `The gateway cannot serve this request now (${error.error.message}): try again ${later(error.retryAfter)}.`
    case "BadGateway":
      return `The provider behind the gateway failed (${error.error.message}): try again, or use another model.`
    case "GatewayTimeout":
    case "UpstreamTimeout":
      return `The provider behind the gateway took too long (${error.error.message}): try again, or send less.`
    case "InternalServerError":
      return `The gateway failed (${error.error.message}): tell its operator, and quote the request id.`
    case "VideoNotCompleted":
      return error.job.status === "failed"
        ? `The video could not be made (${error.job.error ?? "no reason given"}): change the request, or use another model.`
        : `The video was not made, because its job ${error.job.status === "cancelled" ? "was cancelled" : "expired"}: submit it again.`
    case "VideoNotSaved":
      return `The video was made but could not be saved at ${error.location}${code(error.cause)}: ${hints.save}.`
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
