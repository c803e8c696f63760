import { Scheduler } from "effect"

/**
 * Makes a scheduler whose waiting fibers continue in one callback of the event loop. Effect's own
 * makes a queue and a callback for each fiber that yields.
 */
export const make = (): Scheduler.Scheduler => {
  const scheduler = new Scheduler.MixedScheduler()
  const dispatcher = scheduler.makeDispatcher()
  return {
    executionMode: scheduler.executionMode,
    shouldYield: (fiber) => scheduler.shouldYield(fiber),
    makeDispatcher: () => dispatcher
  }
}
