/** How steps, money and sizes are named, wherever they are shown. */
import type { CurrentKey } from "@model-gateway/core"
import type { Step } from "./Program.ts"

/** What each step is called. */
export const titles: { readonly [S in Step]: string } = {
  file: "Store a file and delete it",
  key: "Read the key's usage",
  rerank: "Rank documents",
  transcription: "Transcribe a recording",
  video: "Make a video",
  guardrail: "Assign two keys to a guardrail"
}

/** The steps in their order. */
export const order = [
  "file",
  "key",
  "rerank",
  "transcription",
  "video",
  "guardrail"
] as const satisfies ReadonlyArray<Step>

/** ` a day`: how often a limit resets. Other services may know more periods. */
export const period = (reset: CurrentKey.KeyRecord["limit_reset"]): string => {
  switch (reset) {
    case null:
      return ""
    case "daily":
      return " a day"
    case "weekly":
      return " a week"
    case "monthly":
      return " a month"
    default:
      return ` (${reset})`
  }
}

/** Micro-credits are the least there is. */
export const amount = (value: number): string => String(Number(value.toFixed(6)))

/** `2 credits`. */
export const credits = (value: number): string => `${amount(value)} ${value === 1 ? "credit" : "credits"}`

/** `1.2 kB`. */
export const size = (bytes: number): string =>
  bytes < 1000
    ? `${bytes} bytes`
    : bytes < 1_000_000
      ? `${(bytes / 1000).toFixed(1)} kB`
      : `${(bytes / 1e6).toFixed(1)} MB`
