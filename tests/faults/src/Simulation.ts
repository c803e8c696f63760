/**
 * Time and the scheduling of fibers, under the control of the test.
 *
 * Time stands still until every fiber waits, and then jumps to the next moment for which one waits.
 * Hours of retries pass in milliseconds. Fibers run in turn, so on a store that answers at once the
 * same choices lead to the same run.
 */
import { Clock, Context, Duration, Effect, Random, Scheduler } from "effect"
import type * as Dice from "../../../packages/server/test/Dice.ts"

interface Sleeper {
  readonly at: number
  readonly order: number
  readonly wake: () => void
}

/** Whose fibers these are. When it is no longer alive, none of them runs again. */
export interface Alive {
  readonly isAlive: () => boolean
}

/** The simulation. */
export interface Simulation {
  /** Epoch milliseconds. */
  readonly now: () => number
  /** What the fibers of one process run with: its clock, its scheduler, and its random source. */
  readonly contextOf: (process: Alive, dice: Dice.Dice) => Context.Context<never>
  /**
   * Sleeps on the clock of the process, in milliseconds, whichever clock is in the context: some
   * statements run with the machine's.
   */
  readonly sleep: (process: Alive, millis: number) => Effect.Effect<void>
  /** Counts work outside of this process, such as a query to a database, until it is called. */
  readonly external: () => () => void
  /** Runs until every fiber waits. */
  readonly settle: () => Promise<void>
  /**
   * Jumps to the next moment for which a fiber waits. False if no fiber waits for a moment before
   * `until`.
   */
  readonly step: (until: number) => Promise<boolean>
}

const macrotask = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Options of a simulation. */
export interface Options {
  /**
   * Turns of the event loop without any work, after which every fiber waits. More where answers
   * come over a socket.
   */
  readonly quietTurns: number
}

/** How long a store may take before time goes on without it: it may wait for a lock. */
const patienceMillis = 100

/** Makes a simulation that starts at this time. */
export const make = (startsAt: number, { quietTurns }: Options): Simulation => {
  let time = startsAt
  let order = 0
  let sleepers: Array<Sleeper> = []
  let pending = 0
  let ran = 0
  let outside = 0

  const millisToNanos = (millis: number) => BigInt(Math.round(millis * 1e6))

  const clockOf = ({ isAlive }: Alive): Clock.Clock => ({
    // As of a real system clock, whole milliseconds.
    currentTimeMillisUnsafe: () => Math.floor(time),
    currentTimeMillis: Effect.sync(() => Math.floor(time)),
    currentTimeNanosUnsafe: () => millisToNanos(time),
    currentTimeNanos: Effect.sync(() => millisToNanos(time)),
    monotonicTimeNanosUnsafe: () => millisToNanos(time - startsAt),
    monotonicTimeNanos: Effect.sync(() => millisToNanos(time - startsAt)),
    sleep: (duration) => {
      const millis = Duration.toMillis(duration)
      if (millis <= 0) return Effect.yieldNow
      return Effect.callback<void>((resume) => {
        if (!isAlive() || !Number.isFinite(millis)) return
        const sleeper: Sleeper = {
          at: time + millis,
          order: order++,
          wake: () => {
            if (isAlive()) resume(Effect.void)
          }
        }
        sleepers.push(sleeper)
        return Effect.sync(() => {
          sleepers = sleepers.filter((one) => one !== sleeper)
        })
      })
    }
  })

  const inner = new Scheduler.MixedScheduler()

  const schedulerOf = ({ isAlive }: Alive): Scheduler.Scheduler => ({
    executionMode: "async",
    shouldYield: (fiber) => inner.shouldYield(fiber),
    makeDispatcher() {
      const dispatcher = inner.makeDispatcher()
      return {
        scheduleTask(task, priority) {
          pending++
          dispatcher.scheduleTask(() => {
            pending--
            ran++
            if (isAlive()) task()
          }, priority)
        },
        flush: () => dispatcher.flush()
      }
    }
  })

  const settle = async () => {
    let quiet = 0
    let seen = ran
    let since: number | undefined
    while (quiet < quietTurns) {
      await macrotask()
      if (pending > 0 || ran !== seen) {
        quiet = 0
        seen = ran
        since = undefined
      } else if (outside > 0) {
        since ??= performance.now()
        if (performance.now() - since > patienceMillis) return
        quiet = 0
      } else quiet++
    }
  }

  /** Waits for work outside of this process while nothing else can happen. */
  const answered = async (): Promise<boolean> => {
    const end = performance.now() + 5000
    const seen = ran
    while (outside > 0 && ran === seen && performance.now() < end) await settle()
    return ran !== seen
  }

  return {
    now: () => Math.floor(time),
    contextOf: (process, dice) =>
      Context.make(Clock.Clock, clockOf(process)).pipe(
        Context.add(Scheduler.Scheduler, schedulerOf(process)),
        Context.add(Random.Random, dice.random)
      ),
    sleep: (process, millis) => clockOf(process).sleep(Duration.millis(millis)),
    external: () => {
      outside++
      let isOver = false
      return () => {
        if (!isOver) outside--
        isOver = true
      }
    },
    settle,
    step: async (until) => {
      const next = sleepers.reduce<Sleeper | undefined>(
        (first, one) =>
          first === undefined || one.at < first.at || (one.at === first.at && one.order < first.order) ? one : first,
        undefined
      )
      if (next === undefined || next.at > until) {
        if (outside > 0 && (await answered())) return true
        time = Math.max(time, until)
        return false
      }
      time = Math.max(time, next.at)
      sleepers = sleepers.filter((one) => one !== next)
      next.wake()
      await settle()
      return true
    }
  }
}
