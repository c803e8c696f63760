/** Whatever can go wrong in the page, as a sentence with what to do. */
import type { Audio, AudioRecorder, LongLivedKey } from "@model-gateway/browser"
import type { GatewayConfig } from "@model-gateway/core"
import { Cause, type Exit } from "effect"
import { explain, type Hints } from "../Explanation.ts"
import type { Step, StepError } from "../Program.ts"

/** What the page shows of a failure. */
export interface Problem {
  readonly sentence: string
  /** The error's name in the program. */
  readonly tag: string
  /** What to hand on when asking for help, where the gateway gave one. */
  readonly requestId: string | undefined
}

/** Everything that an action of the page can fail with. */
export type PageError =
  | StepError
  | Audio.UnsupportedAudio
  | AudioRecorder.RecordingFailed
  | LongLivedKey.LongLivedKeyRefused
  | GatewayConfig.InvalidBaseUrl
  | UnreadableAudio

/** The browser makes no sound of what was recorded. */
export class UnreadableAudio extends Error {
  readonly _tag = "UnreadableAudio"
  override readonly message = "The browser cannot read this recording. Record it again, or choose an audio file."
}

/** A problem that was found before anything was sent. */
export const local = (sentence: string): Problem => ({ sentence, tag: "NotSent", requestId: undefined })

/** Whether `local` made it. */
export const isLocal = ({ tag }: Problem): boolean => tag === "NotSent"

const hints: Hints = {
  baseUrl: `${location.origin}/api/v1`,
  unreachable: "see that it still runs (npm start) and that this machine has a network, then try again",
  key: "give an API key at the top of the page; npm start shows one on its first run",
  managementKey: "give a management key in the Guardrails panel; npm start shows one on its first run",
  model: {
    rerank: "choose another model in the form",
    transcription: "choose another model in the form",
    video: "choose another model in the form"
  },
  credits: "add credits to the workspace (model-gateway credits add --amount 10) or raise the limit",
  save: "free some memory and make it again"
}

/** Explains what an action of that step failed with. */
export const of = (step: Step, error: PageError): Problem => {
  switch (error._tag) {
    case "UnsupportedAudio":
    case "RecordingFailed":
    case "LongLivedKeyRefused":
    case "InvalidBaseUrl":
    case "UnreadableAudio":
      return { sentence: error.message, tag: error._tag, requestId: undefined }
    default:
      return explain(step, error, hints)
  }
}

/** A failed exit's problem; undefined where it was merely interrupted. */
export const ofExit = (step: Step, exit: Exit.Failure<unknown, PageError>): Problem | undefined => {
  const failure = exit.cause.reasons.find(Cause.isFailReason)
  if (failure !== undefined) return of(step, failure.error)
  return Cause.hasInterruptsOnly(exit.cause)
    ? undefined
    : {
        sentence: "This page has a fault and could not go on: reload it and try again, and tell whoever runs it.",
        tag: "Defect",
        requestId: undefined
      }
}
