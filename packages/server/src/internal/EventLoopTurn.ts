/** What happens within one turn of the event loop. */
import { performance } from "node:perf_hooks"

/** Knows whether items come one at a time. */
export interface Arrivals {
  /** Counts an item. */
  readonly add: () => void
  /**
   * Whether no other item is expected in this turn: none came, or one did, and the last turn with
   * items had one too. So under load the first of many is not taken for the only one.
   */
  readonly isAlone: () => boolean
}

/** The number of the turn. Unlike a timer, reading it does not cause another turn. */
const current = (): number => performance.nodeTiming.uvMetricsInfo.loopCount

/** Makes the counters. */
export const arrivals = (): Arrivals => {
  let turn = current()
  let count = 0
  let before = 0
  const enter = (): void => {
    const now = current()
    if (now === turn) return
    turn = now
    if (count > 0) before = count
    count = 0
  }
  return {
    add: () => {
      enter()
      count++
    },
    isAlone: () => {
      enter()
      return count === 0 || (count === 1 && before <= 1)
    }
  }
}
