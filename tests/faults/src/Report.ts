/** What a failing seed prints. */
import type { Plan, Store } from "./Plan.ts"
import type { Result } from "./Run.ts"
import { type Failure, shrink } from "./Shrink.ts"

/** Lines before the first broken promise that are shown. */
const maxListed = 60

/** The command that runs a seed again. */
export const command = (seed: number, store: Store): string => `pnpm chaos --store ${store} --seed ${seed}`

const text = (seed: number, store: Store, failure: Failure): string => {
  const { plan, result } = failure
  const at = result.lines.findIndex((line) => line.includes(" VIOLATED "))
  const end = at === -1 ? result.lines.length : at + 1
  const shown = result.lines.slice(Math.max(0, end - maxListed), end)
  return [
    `Seed ${seed} on ${store} breaks:`,
    ...result.violations.map(({ invariant, what }) => `  ${invariant}: ${what}`),
    "",
    `The shortest plan that was found has ${plan.operations.length} operations, ${plan.faults.length} faults and ` +
      `${plan.stops.length} stops. Seconds since the start, and what happened:`,
    ...(shown.length < end ? ["  …"] : []),
    ...shown.map((line) => `  ${line}`),
    "",
    `Run it again with: ${command(seed, store)}`
  ].join("\n")
}

/** Shortens the plan of a failing run, and describes it. */
export const describe = async (
  failure: Failure,
  store: Store,
  run: (plan: Plan) => Promise<Result>,
  tries = 80
): Promise<string> => text(failure.plan.seed, store, await shrink(failure, run, tries))
