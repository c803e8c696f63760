/**
 * Measures how late the event loop is. A process that gets no CPU cannot end a call in time. What
 * this measures while a call runs is therefore added to the time that the call may take.
 */
const interval = 10

/** Timers of Node are late by up to this in a process that has enough CPU. */
const ordinary = 5

export interface Lateness {
  /** Milliseconds since the start. */
  readonly read: () => number
  readonly stop: () => void
}

export const start = (): Lateness => {
  let total = 0
  let expected = performance.now() + interval
  const late = () => {
    const by = performance.now() - expected
    return by > ordinary ? by : 0
  }
  const timer = setInterval(() => {
    total += late()
    expected = performance.now() + interval
  }, interval)
  return { read: () => total + late(), stop: () => clearInterval(timer) }
}
