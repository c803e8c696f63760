/** Finds a shorter plan that breaks the same invariant, by running parts of the plan again. */
import type { Plan } from "./Plan.ts"
import type { Result } from "./Run.ts"

/** A failing plan, and what its run found. */
export interface Failure {
  readonly plan: Plan
  readonly result: Result
}

const lists = ["faults", "stops", "operations"] as const

/** Without some of the entries of a list, most of them first. */
const parts = (plan: Plan, list: (typeof lists)[number], size: number): ReadonlyArray<Plan> => {
  const length = plan[list].length
  return Array.from({ length: Math.ceil(length / size) }, (_, part) => ({
    ...plan,
    [list]: plan[list].filter((_entry, at) => Math.floor(at / size) !== part)
  }))
}

/** Tries at most `maxTried` shorter plans. */
export const shrink = async (
  failure: Failure,
  run: (plan: Plan) => Promise<Result>,
  maxTried: number
): Promise<Failure> => {
  const invariant = failure.result.violations[0]?.invariant
  let best = failure
  let tried = 0
  for (const list of lists) {
    for (let size = Math.max(1, best.plan[list].length); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      // Each success starts over with the shorter plan, as its parts have moved.
      for (let at = 0; at < Math.ceil(best.plan[list].length / size) && tried < maxTried;) {
        const plan = parts(best.plan, list, size)[at]
        if (plan === undefined) break
        tried++
        const result = await run(plan)
        if (result.violations.some((one) => one.invariant === invariant)) best = { plan, result }
        else at++
      }
    }
  }
  return best
}
