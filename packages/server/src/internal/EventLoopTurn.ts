/** What happens within one turn of the event loop. */
import { performance } from "node:perf_hooks"

/** A count that starts again with each turn. */
export interface Counter {
  readonly add: () => void
  readonly count: () => number
}

/** The number of the turn. Unlike a timer, reading it does not cause another turn. */
const current = (): number => performance.nodeTiming.uvMetricsInfo.loopCount

/** Makes a counter. */
export const counter = (): Counter => {
  let turn = current()
  let count = 0
  const inThisTurn = (): number => {
    const now = current()
    if (now !== turn) {
      turn = now
      count = 0
    }
    return count
  }
  return {
    add: () => {
      count = inThisTurn() + 1
    },
    count: inThisTurn
  }
}
