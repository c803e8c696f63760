/** Drives a worker by the test's clock, and tells what came of it. */
import { isFinal } from "@model-gateway/core/Video"
import { Duration, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import { Accounting } from "../../src/accounting/Accounting.ts"
import { entries } from "../../src/accounting/Ledger.ts"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import { VideoQueue } from "../../src/video/VideoQueue.ts"
import { VideoWorker } from "../../src/video/VideoWorker.ts"
import * as TestLedger from "../accounting/TestLedger.ts"

/** Handles the next message that is due. */
export const next = Effect.gen(function* () {
  const queue = yield* VideoQueue
  const worker = yield* VideoWorker
  yield* queue.take(worker.handle)
})

/** The job as it stands. */
export const read = Effect.fnUntraced(function* (id: string) {
  const job = yield* (yield* VideoJobs).find(id)
  return job ?? (yield* Effect.die(new Error("no such job")))
})

/** What the workspace has, what of it is reserved, and how often it was charged. */
export const money = Effect.fnUntraced(function* (workspaceId: string) {
  const accounting = yield* Accounting
  const balance = yield* accounting.balanceOf(workspaceId)
  const usage = yield* TestLedger.usageOf({ workspaceId })
  return { balance: balance?.balance, reserved: balance?.reserved, rows: usage.length }
})

/** The entry of the workspace's only request that has ended. */
export const logged = Effect.fnUntraced(function* (workspaceId: string) {
  const [row] = yield* (yield* SqlClient)`SELECT * FROM usage_ledger WHERE workspace_id = ${workspaceId}`
  return row === undefined ? yield* Effect.die(new Error("no request has ended")) : entries.read(row)
})

/**
 * The {@link money} of a workspace of one credit: nothing spent, a job of 5 seconds under way, that
 * job charged.
 */
export const untouched = { balance: 1_000_000, reserved: 0, rows: 0 }
export const reserved = { balance: 1_000_000, reserved: 50_000, rows: 0 }
export const charged = { balance: 950_000, reserved: 0, rows: 1 }

const startWorkers = Effect.forEach([1, 2, 3], () => Effect.forkChild(Effect.forever(next)))

const settle = Effect.repeat(Effect.yieldNow, { times: 50 })

const macrotask = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

/**
 * Handles messages as they come due, until the condition holds. For workers that wait for more than
 * the test's clock, such as the decryption of a key, which takes real time.
 */
export const workUntil = Effect.fnUntraced(function* <E, R>(isSo: Effect.Effect<boolean, E, R>) {
  const workers = yield* startWorkers
  while (!(yield* isSo)) {
    yield* settle
    yield* macrotask
    yield* TestClock.adjust("250 millis")
  }
  yield* Fiber.interruptAll(workers)
})

/** Works until the job has ended. */
export const workUntilOver = (id: string) => workUntil(Effect.map(read(id), ({ status }) => isFinal(status)))

/**
 * Handles messages as they come due, for this long by the test's clock. The clock advances in small
 * steps, so that no worker sleeps too long.
 */
export const work = Effect.fnUntraced(function* (during: Duration.Input) {
  const workers = yield* startWorkers
  const total = Duration.toMillis(Duration.fromInputUnsafe(during))
  const step = Math.max(250, total / 1000)
  for (let elapsed = 0; elapsed < total; elapsed += step) {
    yield* settle
    yield* TestClock.adjust(Duration.millis(Math.min(step, total - elapsed)))
  }
  yield* settle
  yield* Fiber.interruptAll(workers)
})
