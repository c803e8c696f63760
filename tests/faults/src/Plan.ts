/**
 * What happens in one run: operations of callers and faults, chosen by the seed before the run.
 *
 * A plan is data and does not depend on what the service answers. So a part of a failing plan can
 * be run again, to find the shortest one that fails.
 */
import * as Dice from "../../../packages/server/test/Dice.ts"

/** What a caller does. Numbers of jobs, files and so on count those that exist when it happens. */
export type Action =
  | { readonly kind: "rerank"; readonly documents: number }
  | { readonly kind: "transcription"; readonly seconds: number }
  | { readonly kind: "video"; readonly model: "film" | "reel"; readonly seconds: number }
  | { readonly kind: "poll"; readonly job: number; readonly wait: number }
  | { readonly kind: "cancel"; readonly job: number }
  | { readonly kind: "watch"; readonly job: number }
  | { readonly kind: "upload"; readonly bytes: number }
  | { readonly kind: "download"; readonly file: number }
  | { readonly kind: "delete file"; readonly file: number }
  | { readonly kind: "limit"; readonly limit: number | null; readonly reset: "daily" | null }
  | { readonly kind: "guardrail limit"; readonly limit: number | null }
  | { readonly kind: "credits"; readonly amount: number }
  | { readonly kind: "delete key" }
  /** The paid request of an earlier operation again, with its idempotency key. */
  | { readonly kind: "repeat"; readonly of: number }

/** An operation: an action at a time. */
export interface Operation {
  /** Its number in the full plan. */
  readonly id: number
  /** Milliseconds since the start. */
  readonly at: number
  readonly key: number
  readonly action: Action
  /** Whether a paid request has an idempotency key. */
  readonly isIdempotent: boolean
  /** Whether a video job reports its end to the receiver of webhooks. */
  readonly hasCallback: boolean
  /** How often the caller tries again after a lost or failed answer. */
  readonly retries: number
  /** The caller disconnects after this many milliseconds. */
  readonly disconnectsAfter: number | undefined
  /** The connection breaks after the service has sent the first answer. */
  readonly losesAnswer: boolean
}

/** Where a fault can occur. The points of each kind are counted across all processes. */
export const points = ["statement", "commit", "upstream", "objects", "webhook"] as const

/** Where a fault can occur. */
export type Point = (typeof points)[number]

/** What happens at the point. */
export type Consequence =
  /** It fails, and nothing took effect. */
  | { readonly kind: "fails" }
  /** It takes effect, and the answer is lost. */
  | { readonly kind: "answer lost" }
  | { readonly kind: "delay"; readonly millis: number }
  /** The process dies before or after it takes effect. Another one starts later. */
  | { readonly kind: "kill"; readonly when: "before" | "after"; readonly restartsAfter: number }
  /** From here on, every point of this kind fails. */
  | { readonly kind: "outage"; readonly millis: number }

/** A fault: what happens at the point with this number. */
export interface Fault {
  readonly id: number
  readonly point: Point
  readonly nth: number
  readonly consequence: Consequence
}

/** An instruction to stop or kill one process at a time. */
export interface Stop {
  readonly id: number
  readonly at: number
  readonly isGraceful: boolean
  readonly restartsAfter: number
}

/** A plan. */
export interface Plan {
  readonly seed: number
  readonly startsAt: number
  readonly processes: number
  /** Length of the part with operations and faults, in milliseconds. */
  readonly length: number
  readonly operations: ReadonlyArray<Operation>
  readonly faults: ReadonlyArray<Fault>
  readonly stops: ReadonlyArray<Stop>
}

export type Store = "sqlite" | "postgres"

const keys = 4

const action = (dice: Dice.Dice, id: number): Action => {
  const roll = dice.next()
  if (roll < 0.24) return { kind: "rerank", documents: dice.int(1, 350) }
  if (roll < 0.36) return { kind: "transcription", seconds: dice.int(1, 9) }
  if (roll < 0.52) return { kind: "video", model: dice.pick(["film", "film", "reel"]), seconds: dice.int(1, 10) }
  if (roll < 0.58) return { kind: "poll", job: dice.int(0, 20), wait: dice.pick([0, 0, 5, 30]) }
  if (roll < 0.63) return { kind: "cancel", job: dice.int(0, 20) }
  if (roll < 0.66) return { kind: "watch", job: dice.int(0, 20) }
  if (roll < 0.74) return { kind: "upload", bytes: dice.int(1, 3000) }
  if (roll < 0.77) return { kind: "download", file: dice.int(0, 20) }
  if (roll < 0.82) return { kind: "delete file", file: dice.int(0, 20) }
  if (roll < 0.85) {
    return { kind: "limit", limit: dice.pick([null, 0, 5_000, 60_000, 300_000]), reset: dice.pick([null, "daily"]) }
  }
  if (roll < 0.87) return { kind: "guardrail limit", limit: dice.pick([null, 20_000, 200_000]) }
  if (roll < 0.9) return { kind: "credits", amount: dice.int(1, 300_000) }
  if (roll < 0.91) return { kind: "delete key" }
  return { kind: "repeat", of: dice.int(0, Math.max(0, id - 1)) }
}

const consequenceAt = (dice: Dice.Dice, point: Point, store: Store): Consequence => {
  const restartsAfter = dice.pick([10, 500, 3_000, 15_000, 45_000])
  const kill: Consequence = { kind: "kill", when: dice.chance(0.5) ? "before" : "after", restartsAfter }
  const delay: Consequence = { kind: "delay", millis: dice.pick([5, 200, 2_000, 9_000, 30_000]) }
  const outage: Consequence = { kind: "outage", millis: dice.pick([300, 3_000, 20_000]) }
  const fails: Consequence = { kind: "fails" }
  const lost: Consequence = { kind: "answer lost" }
  switch (point) {
    case "statement":
    case "commit":
      // SQLite is a library: a commit that took effect cannot report a failure, and a statement
      // does not wait while other fibers run.
      return store === "sqlite"
        ? dice.pick<Consequence>([fails, fails, kill, kill, outage])
        : dice.pick<Consequence>([fails, lost, kill, kill, delay, outage])
    case "upstream":
      return dice.pick<Consequence>([fails, fails, lost, lost, delay, delay, kill, kill, outage])
    case "objects":
      return dice.pick<Consequence>([fails, lost, delay, kill, kill, outage])
    case "webhook":
      return dice.pick<Consequence>([fails, lost, lost, delay, kill, outage])
  }
}

/** How far points of each kind are counted in a typical run. */
const reach: Readonly<Record<Point, number>> = { statement: 700, commit: 70, upstream: 60, objects: 12, webhook: 12 }

/** The plan of a seed. */
export const make = (seed: number, store: Store): Plan => {
  const dice = Dice.make(seed, "plan")
  const length = dice.pick([10_000, 30_000, 60_000, 120_000])
  const count = dice.int(10, 60)
  // Most runs start in the middle of a day; some just before the end of a day, week or month.
  const startsAt = dice.pick([
    Date.UTC(2026, 2, 11, 10),
    Date.UTC(2026, 2, 11, 23, 59, 40),
    Date.UTC(2026, 4, 31, 23, 59, 45)
  ])
  const operations = Array.from({ length: count }, (_, id): Operation => {
    // Some come in bursts.
    const at = dice.chance(0.3) ? Math.floor(length / 3) + dice.int(0, 20) : dice.int(0, length)
    return {
      id,
      at,
      key: dice.int(0, keys - 1),
      action: action(dice, id),
      isIdempotent: dice.chance(0.6),
      hasCallback: dice.chance(0.8),
      retries: dice.int(0, 4),
      disconnectsAfter: dice.chance(0.1) ? dice.int(0, 8_000) : undefined,
      losesAnswer: dice.chance(0.08)
    }
  })
  const faults = Array.from({ length: dice.int(0, 12) }, (_, id): Fault => {
    const point = dice.pick(points)
    // Low numbers more often, because short runs do not reach high ones.
    const nth = 1 + Math.floor(reach[point] * dice.next() ** 1.5)
    return { id, point, nth, consequence: consequenceAt(dice, point, store) }
  })
  const stops = Array.from({ length: dice.pick([0, 0, 1, 2]) }, (_, id): Stop => ({
    id,
    at: dice.int(0, length),
    isGraceful: dice.chance(0.4),
    restartsAfter: dice.pick([10, 2_000, 35_000])
  }))
  return { seed, startsAt, processes: store === "sqlite" ? 1 : 2, length, operations, faults, stops }
}
