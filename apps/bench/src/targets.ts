/** What the paid path is to reach, relative to something that is measured in the same rounds. */
import { type Spread, spread, table } from "./rounds.ts"

export interface Target {
  readonly name: string
  readonly at: "most" | "least"
  readonly bound: number
}

/** The ratios. */
export const targets = {
  cpuAt64: { name: "64 at once: CPU, × Portkey", at: "most", bound: 0.6 },
  cpuAt1: { name: "one at a time: CPU, × Portkey", at: "most", bound: 1 },
  p50At1: { name: "one at a time: p50, × Portkey", at: "most", bound: 1 },
  keyAt64: { name: "64 at once: CPU with Idempotency-Key, × without", at: "most", bound: 1.2 },
  randomKeyAt64: { name: "64 at once: CPU with a random Idempotency-Key, × without", at: "most", bound: 1.2 },
  keyAt1: { name: "one at a time: CPU with Idempotency-Key, × without", at: "most", bound: 1.2 },
  randomKeyAt1: { name: "one at a time: CPU with a random Idempotency-Key, × without", at: "most", bound: 1.2 },
  rerank: { name: "paid rerank in the sandbox: CPU of bare node:http, × ours", at: "least", bound: 0.16 },
  key: { name: "GET /key: CPU of bare node:http, × ours", at: "least", bound: 0.33 },
  sums: { name: "requests/s with the sums of the day, × without", at: "least", bound: 0.97 }
} as const satisfies Readonly<Record<string, Target>>

/** Memory of the executable, in MiB. */
export const limits = {
  idleMebibytes: 150,
  /** After 100,000 paid requests, and after any number. */
  loadedMebibytes: 300
} as const

/** Of a start of the executable. */
export const startTargets = {
  healthz: { name: "ms to the first /healthz", at: "most", bound: 600 },
  idle: { name: "RSS when idle, MiB", at: "most", bound: limits.idleMebibytes }
} as const satisfies Readonly<Record<string, Target>>

/**
 * `within the spread` if at least a quarter of the rounds reached the bound, but not half of them.
 */
export type Verdict = "reached" | "within the spread" | "missed"

export interface Judged extends Target {
  readonly ratio: Spread
  readonly verdict: Verdict
}

/** Judges the ratios of all rounds. */
export const judge = (target: Target, ratios: ReadonlyArray<number>): Judged => {
  const ratio = spread(ratios)
  const reaches = (value: number) => (target.at === "most" ? value <= target.bound : value >= target.bound)
  const best = target.at === "most" ? ratio.lower : ratio.upper
  return {
    ...target,
    ratio,
    verdict: reaches(ratio.median) ? "reached" : reaches(best) ? "within the spread" : "missed"
  }
}

/** A ratio of two contenders, round by round. */
export const ratios = (above: ReadonlyArray<number>, below: ReadonlyArray<number>): ReadonlyArray<number> =>
  above.map((value, round) => value / (below[round] ?? Number.NaN))

/** What was to be reached, and whether it was. */
export const judgedTable = (judged: ReadonlyArray<Judged>, digits = 3): string =>
  table(
    "To reach",
    ["lower quartile", "median", "upper quartile", "bound", ""],
    judged.map(({ at, bound, name, ratio, verdict }) => [
      name,
      ...[ratio.lower, ratio.median, ratio.upper].map((value) => value.toFixed(digits)),
      `${at === "most" ? "≤" : "≥"} ${bound}`,
      verdict
    ])
  )
