/** The lines that the terminal prints for the outcome of a step. */
import type { CurrentKey, Transcription } from "@model-gateway/core"
import type { Explanation } from "../Explanation.ts"
import type { Assignment, Done, FinishedVideo, Ranking, StoredFile } from "../Program.ts"
import { timedWords } from "../TimedWords.ts"
import { amount, credits, period, size } from "../Texts.ts"
import { bar, clean, clip, type Style, wrap } from "./Style.ts"

/** The result of a successful step. */
export const done = (outcome: Done, style: Style, width: number): ReadonlyArray<string> => {
  switch (outcome.step) {
    case "file":
      return file(outcome.result)
    case "key":
      return key(outcome.result)
    case "rerank":
      return ranking(outcome.result, style, width)
    case "transcription":
      return transcript(outcome.result, style, width)
    case "video":
      return video(outcome.result, style)
    case "guardrail":
      return assignment(outcome.result)
  }
}

/** The error of a failed step. */
export const failed = (
  { message, requestId, tag }: Explanation,
  style: Style,
  width: number
): ReadonlyArray<string> => [
  ...wrap(clean(message), width),
  style.dim([tag, ...(requestId === undefined ? [] : [`request id ${clean(requestId)}`])].join(" · "))
]

const file = ({ deletion, file }: StoredFile) => [
  `${clean(file.filename)} (${size(file.size_bytes)}) was stored as ${clean(file.id)},`,
  `and deleted again (confirmed in the ${deletion._shape} shape).`
]

const key = (record: CurrentKey.KeyRecord) => [
  `${clean(record.label)} has used ${credits(record.usage)}, ${amount(record.usage_daily)} of them today.`,
  record.limit === null
    ? "It has no spending limit."
    : `${amount(record.limit_remaining ?? 0)} of its limit of ${credits(record.limit)}${period(record.limit_reset)} remain.`,
  `Free requests today: ${record.free_model_daily_requests.used} of ${record.free_model_daily_requests.limit}.`
]

const ranking = ({ query, response }: Ranking, style: Style, width: number) => {
  const best = Math.max(...response.results.map(({ relevance_score }) => relevance_score))
  const cells = 12
  return [
    `“${clean(query)}”`,
    ...response.results.map(({ document, index, relevance_score }) => {
      const drawn = bar(best > 0 ? relevance_score / best : 0, cells)
      const text = clip(clean(document.text ?? `document ${index}`), width - cells - 10)
      return `${relevance_score.toFixed(3).padStart(6)} ${style.green(drawn)}${" ".repeat(cells - drawn.length)}  ${text}`
    }),
    ...paid(response.usage?.cost, style)
  ]
}

const transcript = (response: Transcription.Response, style: Style, width: number) => {
  const times = timedWords(response)
    .map(({ start, word }) => `${start.toFixed(1)}s ${clean(word)}`)
    .join("  ")
  const source = response.duration === undefined ? "" : `, from ${response.duration.toFixed(1)} s of audio`
  return [
    `“${clean(response.text)}”${source}.`,
    ...(times === "" ? [] : [style.dim(clip(times, width))]),
    ...paid(response.usage?.cost, style)
  ]
}

const video = ({ job, saved }: FinishedVideo, style: Style) => [
  `Saved to ${saved.location} (${size(saved.bytes)}).`,
  ...paid(job.usage?.cost ?? undefined, style)
]

const assignment = ({ guardrail, keys, response }: Assignment) => [
  `Assigned “${clean(guardrail.name)}” to ${response.assigned_count} of ${keys.length} keys.${
    guardrail.limit_usd === null
      ? ""
      : ` Its limit is ${credits(guardrail.limit_usd)}${period(guardrail.reset_interval)}.`
  }`,
  `Keys created for this step, and deleted again: ${keys.map(({ label }) => clean(label)).join(" and ")}.`
]

const paid = (cost: number | undefined, style: Style): ReadonlyArray<string> =>
  cost === undefined ? [] : [style.dim(cost === 0 ? "It was free." : `It cost ${credits(cost)}.`)]
