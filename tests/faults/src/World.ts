/**
 * What outlives the processes of the service in one run: time, faults, and the record of what
 * happened.
 */
import { Effect } from "effect"
import { createHash } from "node:crypto"
import * as Dice from "../../../packages/server/test/Dice.ts"
import type { Consequence, Plan, Point } from "./Plan.ts"
import * as Simulation from "./Simulation.ts"

/** A process of the service, as the points where it meets the outside see it. */
export interface Process {
  readonly name: string
  readonly isAlive: () => boolean
  /** Nothing that the process does takes effect from now on. */
  readonly kill: (restartsAfter: number) => void
}

/** What a run counts. */
export interface Counts {
  readonly points: Record<Point, number>
  faults: number
  kills: number
  starts: number
  operations: number
}

/** The world of one run. */
export interface World {
  readonly plan: Plan
  readonly simulation: Simulation.Simulation
  readonly counts: Counts
  /** What happened, in plain words. */
  readonly log: (line: string) => void
  readonly lines: ReadonlyArray<string>
  /** Adds a detail that is only compared between two runs of a seed. */
  readonly detail: (line: string) => void
  /** Hash of everything that was logged, also of the details. */
  readonly digest: () => string
  /** A broken promise of the service. */
  readonly violated: (invariant: string, what: string) => void
  readonly violations: ReadonlyArray<Violation>
  /** Faults occur only while they are on. */
  readonly setFaults: (on: boolean) => void
  readonly hasFaults: () => boolean
  /**
   * Runs an effect of a process at a point where a fault can occur. `failure` is how it fails then.
   * Of a dead process nothing runs, and nothing returns.
   */
  readonly at: <A, E>(
    process: Process,
    point: Point,
    what: string,
    effect: Effect.Effect<A, E>,
    failure: Effect.Effect<A, E>
  ) => Effect.Effect<A, E>
  /**
   * Like `at`, for something synchronous. On a fault it throws what `failure` returns. If the
   * process is dead, it throws another error.
   */
  readonly atOnce: <A>(process: Process, point: Point, what: string, run: () => A, failure: () => unknown) => A
  /** A random source of its own. */
  readonly dice: (name: string) => Dice.Dice
}

/** An invariant that did not hold. */
export interface Violation {
  readonly invariant: string
  readonly what: string
}

const describe = (consequence: Consequence): string => {
  switch (consequence.kind) {
    case "fails":
      return "fails"
    case "answer lost":
      return "takes effect, and its answer is lost"
    case "delay":
      return `takes ${consequence.millis} ms`
    case "kill":
      return `kills the process ${consequence.when} it takes effect`
    case "outage":
      return `fails, and so do all for ${consequence.millis} ms`
  }
}

/** Makes the world of a plan. `details` keeps every line, to find where two runs part. */
export const make = (plan: Plan, options: Simulation.Options, details?: Array<string>): World => {
  const simulation = Simulation.make(plan.startsAt, options)
  const lines: Array<string> = []
  const hash = createHash("sha256")
  const violations: Array<Violation> = []
  const counts: Counts = {
    points: { statement: 0, commit: 0, upstream: 0, objects: 0, webhook: 0 },
    faults: 0,
    kills: 0,
    starts: 0,
    operations: 0
  }
  const faults = new Map(plan.faults.map(({ consequence, nth, point }) => [`${point} ${nth}`, consequence]))
  const outageUntil = new Map<Point, number>()
  let isOn = false

  const detail = (line: string) => {
    const timed = `${((simulation.now() - plan.startsAt) / 1000).toFixed(3)} ${line}`
    hash.update(timed).update("\n")
    details?.push(timed)
    return timed
  }
  const log = (line: string) => {
    lines.push(detail(line))
  }

  const ifAlive = <A, E>(process: Process, effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() =>
      process.isAlive()
        ? Effect.flatMap(Effect.exit(effect), (exit) => (process.isAlive() ? exit : Effect.never))
        : Effect.never
    )

  /** Counts a point, and says what happens there. Undefined: no fault. */
  const consequenceAt = (process: Process, point: Point, what: string): Consequence | undefined => {
    const nth = ++counts.points[point]
    const place = `${process.name} ${point} ${nth} (${what})`
    detail(place)
    if ((outageUntil.get(point) ?? 0) > simulation.now()) return { kind: "fails" }
    const fault = faults.get(`${point} ${nth}`)
    if (fault === undefined) return undefined
    counts.faults++
    log(`FAULT ${place} ${describe(fault)}`)
    if (fault.kind === "outage") outageUntil.set(point, simulation.now() + fault.millis)
    return fault
  }

  const at = <A, E>(
    process: Process,
    point: Point,
    what: string,
    effect: Effect.Effect<A, E>,
    failure: Effect.Effect<A, E>
  ): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      if (!process.isAlive()) return Effect.never
      if (!isOn) return ifAlive(process, effect)
      const fault = consequenceAt(process, point, what)
      if (fault === undefined) return ifAlive(process, effect)
      switch (fault.kind) {
        case "fails":
        case "outage":
          return failure
        case "answer lost":
          return Effect.flatMap(Effect.exit(ifAlive(process, effect)), () => failure)
        case "delay":
          return Effect.andThen(simulation.sleep(process, fault.millis), ifAlive(process, effect))
        case "kill": {
          const dies = Effect.suspend(() => {
            if (process.isAlive()) process.kill(fault.restartsAfter)
            return Effect.never
          })
          return fault.when === "before" ? dies : Effect.flatMap(Effect.exit(ifAlive(process, effect)), () => dies)
        }
      }
    })

  const atOnce = <A>(process: Process, point: Point, what: string, run: () => A, failure: () => unknown): A => {
    const ifAlive = () => {
      if (!process.isAlive()) throw new Error(`${process.name} is dead`)
      return run()
    }
    const fault = process.isAlive() && isOn ? consequenceAt(process, point, what) : undefined
    if (fault === undefined || fault.kind === "delay") return ifAlive()
    if (fault.kind === "kill") {
      if (fault.when === "after") run()
      process.kill(fault.restartsAfter)
      return ifAlive()
    }
    if (fault.kind === "answer lost") run()
    throw failure()
  }

  return {
    plan,
    simulation,
    counts,
    log,
    lines,
    detail,
    digest: () => hash.copy().digest("hex"),
    violated: (invariant, what) => {
      if (violations.some((one) => one.invariant === invariant && one.what === what)) return
      violations.push({ invariant, what })
      log(`VIOLATED ${invariant}: ${what}`)
    },
    violations,
    setFaults: (on) => {
      isOn = on
      if (!on) outageUntil.clear()
    },
    hasFaults: () => isOn,
    at,
    atOnce,
    dice: (name) => Dice.make(plan.seed, name)
  }
}
