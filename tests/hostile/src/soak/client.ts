/**
 * The client of the soak: one process that makes all calls over one layer, and ends by itself when
 * the layer is closed.
 */
import { ClientError, GatewayConfig, type Operation, RetryPolicy } from "@model-gateway/core"
import { NodeGateway } from "@model-gateway/node"
import { Cause, Effect, Exit, Fiber, Predicate, Redacted } from "effect"
import { HttpClient } from "effect/http"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setImmediate, setTimeout as sleep } from "node:timers/promises"
import { Pool } from "undici"
import * as Random from "../fuzz/random.ts"
import * as Calls from "./calls.ts"
import * as Lateness from "./lateness.ts"
import { type ClientMessage, type ClientOptions, type SampleReport } from "./messages.ts"
import { bytesOf } from "./payload.ts"

const { limits, maxPauseMillis, milliseconds, origin, seed, workers } = JSON.parse(
  process.argv[2] ?? ""
) as ClientOptions

const send = (message: ClientMessage): void => void process.send?.(message)

const lateness = Lateness.start()
const pools = new Set<Pool>()

let attempts = 0
let retries = 0
let renewals = 0

const layer = NodeGateway.layer({
  baseUrl: `${origin}/api/v1`,
  credential: Effect.map(GatewayConfig.RefusedToken, (refused) => {
    if (refused !== undefined) renewals++
    return Redacted.make(`mg_ek_soak${renewals}`)
  }),
  retryPolicy: RetryPolicy.make({
    maxRetries: 4,
    attemptTimeout: limits.attempt,
    deadline: limits.deadline,
    stallTimeout: limits.stall,
    maxRetryAfter: limits.maxRetryAfter
  }),
  // The default would run out: here a third of the requests fails.
  retryBudget: { capacity: 100, perSecond: 20 },
  transformClient: HttpClient.transform((response) =>
    Effect.flatMap(RetryPolicy.CurrentAttempt, (attempt) => {
      attempts++
      if (attempt !== undefined && attempt.number > 1) retries++
      return response
    })
  ),
  pool: {
    agent: {
      factory: (origin, options) => {
        const pool = new Pool(origin, options)
        pools.add(pool)
        return pool
      }
    }
  }
})

const isAllowed = (operation: Operation.Operation, error: unknown): boolean =>
  error instanceof ClientError.TransportError ||
  error instanceof ClientError.TimeoutError ||
  error instanceof ClientError.InvalidResponse ||
  operation.error.some((schema) => typeof schema === "function" && error instanceof schema)

const tagOf = (error: unknown): string => {
  const tag = Predicate.hasProperty(error, "_tag") ? String(error._tag) : "no error"
  return Predicate.hasProperty(error, "limit") ? `${tag} (${String(error.limit)})` : tag
}

/**
 * Milliseconds, without the time in which an upload moves. A job takes 3 seconds at most, and each
 * of the requests that follow it has the deadline of a call. A download has no limit as a whole.
 */
const limitOf = {
  call: limits.deadline,
  watch: 5000 + 2 * (limits.deadline + 1000),
  download: 5 * (limits.deadline + limits.stall)
}

let calls = 0

/** The idempotency key that the error of a call names. */
const keyOf = <E>({ reasons }: Cause.Cause<E>): string | undefined => {
  const error = reasons.find(Cause.isFailReason)?.error
  const key = Predicate.hasProperty(error, "idempotencyKey") ? error.idempotencyKey : undefined
  return typeof key === "string" ? key : undefined
}

/** Runs one call as a fiber of its own, which its caller may interrupt at any time. */
const runner =
  (random: Random.Random): Calls.Run =>
  (id, call) =>
    Effect.gen(function* () {
      const attempt = (effect: typeof call.effect, isRepeat: boolean) =>
        Effect.gen(function* () {
          calls++
          const [startedAt, late] = [performance.now(), lateness.read()]
          const cancelAfter = random.chance(0.1) ? random.below(random.pick([10, 100, 1000, 5000])) : undefined
          const fiber = yield* Effect.forkChild(effect)
          const ended =
            cancelAfter === undefined
              ? yield* Fiber.await(fiber)
              : yield* Effect.raceFirst(Fiber.await(fiber), Effect.as(Effect.sleep(cancelAfter), undefined))
          const cancelledAt = performance.now()
          if (ended === undefined) yield* Fiber.interrupt(fiber)
          const exit = ended ?? (yield* Fiber.await(fiber))
          const report = (outcome: string, problem: string | undefined, answer?: string) =>
            send({
              type: "call",
              id,
              name: call.name,
              outcome,
              answer,
              milliseconds: performance.now() - (ended === undefined ? cancelledAt : startedAt),
              // A call that is interrupted ends at once.
              limit: ended === undefined ? 0 : limitOf[call.limit],
              late: lateness.read() - late,
              isRepeat,
              problem
            })
          if (Exit.isSuccess(exit)) report("success", call.problem(exit.value), call.answer?.(exit.value))
          else if (ended === undefined && Cause.hasInterruptsOnly(exit.cause)) report("cancelled", undefined)
          else {
            const failure = exit.cause.reasons.length === 1 ? exit.cause.reasons.find(Cause.isFailReason) : undefined
            const isExpected = failure !== undefined && isAllowed(call.operation, failure.error)
            const problem =
              isExpected && (call.repeat === undefined || keyOf(exit.cause) !== undefined)
                ? undefined
                : `it ended with ${Cause.pretty(exit.cause)}`
            report(tagOf(failure?.error), problem)
          }
          return exit
        })

      const first = yield* attempt(call.effect, false)
      if (Exit.isSuccess(first)) return first.value
      const key = keyOf(first.cause)
      if (call.repeat === undefined || key === undefined || random.chance(0.5)) return undefined
      const second = yield* attempt(call.repeat(key), true)
      return Exit.isSuccess(second) ? second.value : undefined
    })

const collectGarbage = async (): Promise<void> => {
  if (globalThis.gc === undefined) throw new Error("The soak's client needs --expose-gc")
  for (let times = 0; times < 3; times++) {
    await globalThis.gc({ execution: "async", type: "major" })
    await setImmediate()
  }
}

const sample = async (): Promise<SampleReport> => {
  await collectGarbage()
  // The agent replaces a pool that has no connection.
  for (const pool of pools) if (pool.destroyed) pools.delete(pool)
  const { external, heapUsed } = process.memoryUsage()
  const open = [...pools].map(({ stats }) => stats)
  return {
    type: "sample",
    heap: heapUsed,
    external,
    calls,
    sockets: open.reduce((sum, { connected }) => sum + connected, 0),
    requests: open.reduce((sum, { size }) => sum + size, 0)
  }
}

/** All calls of a quarter. It ends when its last call has. */
const quarter = (number: number, disk: Calls.OnDisk): Effect.Effect<void, never, Calls.Client> => {
  const until = performance.now() + milliseconds / 4
  return Effect.forEach(
    Array.from({ length: workers }, (_, worker) => worker),
    (worker) =>
      Effect.gen(function* () {
        const random = Random.make(seed, number * 1000 + worker)
        const run = runner(random)
        for (let count = 0; performance.now() < until; count++) {
          yield* Calls.next(`call-${number}-${worker}-${count}`, random, disk, run)
          yield* Effect.sleep(random.below(maxPauseMillis))
        }
      }),
    { concurrency: "unbounded", discard: true }
  )
}

const folder = mkdtempSync(join(tmpdir(), "model-gateway-soak-"))
const path = join(folder, "audio.wav")
const bytes = bytesOf("audio", 1_500_000)
writeFileSync(path, bytes)

await Effect.runPromise(
  Effect.gen(function* () {
    const disk = yield* Calls.onDisk(path, bytes)
    for (let number = 0; number < 4; number++) {
      yield* quarter(number, disk)
      send(yield* Effect.promise(sample))
    }
  }).pipe(Effect.provide(layer))
)
rmSync(folder, { recursive: true })
lateness.stop()

/**
 * What the channel to the parent and the standard output need, and the objects of finished reads of
 * files, which Node keeps to use them again.
 */
const expected = new Set(["PipeWrap", "TTYWrap", "FileHandleReadWrap"])
const resources = () => process.getActiveResourcesInfo().filter((name) => !expected.has(name))
// The operating system reports a closed socket a moment later.
for (let times = 0; times < 50 && resources().length > 0; times++) await setImmediate()
if (resources().length > 0) await sleep(500)
send({ type: "end", attempts, retries, renewals, resources: resources() })
process.disconnect?.()
