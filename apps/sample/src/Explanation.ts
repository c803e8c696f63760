/**
 * Errors as people read them: one sentence that says what is wrong and what to do, and what to hand on to whoever
 * runs the gateway.
 */
import type { Models } from "./Inputs.ts"
import type { Step, StepError } from "./Program.ts"

/** What to do about it, where the answer depends on where the program runs. */
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
  /** What to hand on when asking for help, where the gateway gave one. */
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
      return error.reason === "connection"
        ? `No gateway answers at ${hints.baseUrl}${code(error.cause)}: ${hints.unreachable}.`
        : `This step needs a ${kind} and there is none: ${key}.`
    case "TimeoutError":
      return `The gateway at ${hints.baseUrl} did not answer within ${error.milliseconds / 1000} s: try again, or see what keeps it busy.`
    case "InvalidResponse":
      return `What answered at ${hints.baseUrl} is no model gateway that this program knows (status ${error.status} with ${error.description}): check the address, which ends in /api/v1.`
    case "BadRequest": {
      const issues = error.issues.map(({ message, path }) => (path === "" ? message : `${path}: ${message}`))
      return issues.length === 0
        ? `The gateway does not take this request (${error.message}): change what is sent.`
        : `The gateway does not take this request: mend ${issues.join("; ")}.`
    }
    case "Unauthorized":
      return `The gateway refuses the ${kind} (${error.message}): ${key}.`
    case "PaymentRequired":
      return `This has to be paid for (${error.message}): ${hints.credits}.`
    case "Forbidden":
      return `This key may not do that (${error.message}): ${step === "guardrail" ? key : "use another key, or change what its guardrail allows"}.`
    case "NotFound":
      return step === "rerank" || step === "transcription" || step === "video"
        ? `The gateway does not have it (${error.message}): ${hints.model[step]}.`
        : `It is not there (${error.message}): somebody else may have deleted it, so try again.`
    case "PayloadTooLarge":
      return `That is more than the gateway takes at once (${error.message}): send less.`
    case "TooManyRequests":
    case "ServiceUnavailable":
    case "ProviderOverloaded":
      return `The gateway cannot take this now (${error.message}): try again ${later(error.retryAfter)}.`
    case "BadGateway":
      return `The provider behind the gateway failed (${error.message}): try again, or use another model.`
    case "GatewayTimeout":
    case "UpstreamTimeout":
      return `The provider behind the gateway took too long (${error.message}): try again, or send less.`
    case "InternalServerError":
      return `The gateway itself failed (${error.message}): tell whoever runs it, with the request id.`
    case "VideoNotMade":
      return error.job.status === "failed"
        ? `The video could not be made (${error.job.error ?? "no reason given"}): change the request, or use another model.`
        : `The video was not made, as its job was ${error.job.status === "cancelled" ? "cancelled" : "not begun or finished in time"}: submit it again.`
    case "VideoNotSaved":
      return `The video is made but could not be kept at ${error.location}${code(error.cause)}: ${hints.save}.`
  }
}

const later = (seconds: number | undefined): string =>
  seconds === undefined ? "in a while" : seconds === 1 ? "in a second" : `in ${Math.ceil(seconds)} seconds`

/** The platform's name for it, for those who know it: ` (ECONNREFUSED)`. */
const code = (cause: unknown): string => {
  for (let at = cause; at instanceof Error; at = at.cause) {
    if ("code" in at && typeof at.code === "string") return ` (${at.code})`
  }
  return ""
}
