/** Texts of the terminal and the page: titles of the steps, amounts and sizes. */
import type { CurrentKey } from "@model-gateway/core"
import type { Step } from "./Program.ts"

/** The title of each step. */
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

/** How often a limit resets, such as ` a day`. Other services may have more periods. */
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

/** An amount of credits. The smallest unit is a micro-credit. */
export const amount = (value: number): string => String(Number(value.toFixed(6)))

/** An amount with its unit, such as `2 credits`. */
export const credits = (value: number): string => `${amount(value)} ${value === 1 ? "credit" : "credits"}`

/** A size, such as `1.2 kB`. */
export const size = (bytes: number): string =>
  bytes < 1000
    ? `${bytes} bytes`
    : bytes < 1_000_000
      ? `${(bytes / 1000).toFixed(1)} kB`
      : `${(bytes / 1e6).toFixed(1)} MB`
