/** Explains all errors of the page: a message that says what is wrong and what to do. */
import type { Audio, AudioRecorder, LongLivedKey } from "@model-gateway/browser"
import type { GatewayConfig } from "@model-gateway/core"
import { Cause, type Exit } from "effect"
import { explain, type Advice } from "../Explanation.ts"
import type { Step, StepError } from "../Program.ts"
import { baseUrl } from "./baseUrl.ts"

/** What the page shows about an error. */
export interface Problem {
  readonly message: string
  /** The error's `_tag`. */
  readonly tag: string
  /** Identifies the request for support. Undefined: the gateway sent none. */
  readonly requestId: string | undefined
}

/** All errors of the page. */
export type PageError =
  | StepError
  | Audio.UnsupportedAudio
  | AudioRecorder.RecordingFailed
  | LongLivedKey.LongLivedKeyRefused
  | GatewayConfig.InvalidBaseUrl
  | UnreadableAudio

/** The browser cannot decode the recording. */
export class UnreadableAudio extends Error {
  readonly _tag = "UnreadableAudio"
  override readonly message = "The browser cannot read this recording. Record it again, or choose an audio file."
}

/** A problem with the input of a form, for which no request was sent. */
export const notSent = (message: string): Problem => ({ message, tag: "NotSent", requestId: undefined })

/** Whether {@link notSent} made the problem. */
export const isNotSent = ({ tag }: Problem): boolean => tag === "NotSent"

const advice: Advice = {
  baseUrl,
  unreachable: "check that it is running (npm start), then try again",
  key: "enter an API key at the top of the page (npm start prints one on its first run)",
  managementKey: "enter a management key in the Guardrails panel (npm start prints one on its first run)",
  model: {
    rerank: "choose another model in the form",
    transcription: "choose another model in the form",
    video: "choose another model in the form"
  },
  credits: "add credits to the workspace (npm run gateway -- credits add --amount 10) or raise the limit",
  save: "free some memory and try again"
}

/** Explains an error of a step. */
export const fromError = (step: Step, error: PageError): Problem => {
  switch (error._tag) {
    case "UnsupportedAudio":
    case "RecordingFailed":
    case "LongLivedKeyRefused":
    case "InvalidBaseUrl":
    case "UnreadableAudio":
      return { message: error.message, tag: error._tag, requestId: undefined }
    default:
      return explain(step, error, advice)
  }
}

/** Explains the failure of a task. Undefined: the task was canceled. */
export const fromExit = (step: Step, exit: Exit.Failure<unknown, PageError>): Problem | undefined => {
  const failure = exit.cause.reasons.find(Cause.isFailReason)
  if (failure !== undefined) return fromError(step, failure.error)
  return Cause.hasInterruptsOnly(exit.cause)
    ? undefined
    : {
        message: "An unexpected error occurred: reload the page and try again. If it occurs again, tell the operator.",
        tag: "Defect",
        requestId: undefined
      }
}
