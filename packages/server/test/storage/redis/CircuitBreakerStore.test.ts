import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Exit, Scope } from "effect"
import { consecutive } from "effect/persistence/CircuitBreaker"
import * as TestRedis from "./TestRedis.ts"

const key = "sandbox/bm25"

type Process = Effect.Success<ReturnType<typeof TestRedis.process>>

const result =
  (outcome: "Success" | "Failure", openFor: Duration.Duration = Duration.hours(1)) =>
  ({ circuits }: Process, generation: number) =>
    circuits.record({ key, generation, outcome, tripPolicy: consecutive(1), openFor })

/** One call with this outcome. */
const call = (process: Process, outcome: "Success" | "Failure", openFor?: Duration.Duration) =>
  Effect.scoped(
    Effect.flatMap(process.circuits.admit(key), ({ generation }) => result(outcome, openFor)(process, generation))
  )

const rejected = ({ circuits }: Process) =>
  Effect.scoped(circuits.admit(key)).pipe(
    Effect.as("admitted"),
    Effect.catch(({ reason }) => Effect.succeed(reason._tag))
  )

describe.skipIf(TestRedis.isMissing)("CircuitBreakerStore on Redis", () => {
  it.live("opens a circuit for the other process too", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server()
      const [first, second] = yield* Effect.all([TestRedis.process(redis.url), TestRedis.process(redis.url)])
      expect(yield* rejected(second)).toBe("admitted")
      yield* call(first, "Failure")
      expect(yield* rejected(second)).toBe("CircuitOpen")
      expect((yield* second.circuits.state(key))._tag).toBe("Open")
    })
  )

  it.live("admits one probe over both processes, and closes for both when it succeeds", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server()
      const [first, second] = yield* Effect.all([TestRedis.process(redis.url), TestRedis.process(redis.url)])
      yield* call(first, "Failure", Duration.millis(1))
      yield* Effect.sleep("10 millis")
      const probing = yield* Scope.make()
      const admissions = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? first : second)),
        (process) =>
          Effect.map(Effect.exit(Scope.provide(process.circuits.admit(key), probing)), (exit) => ({ process, exit })),
        { concurrency: "unbounded" }
      )
      const admitted = admissions.flatMap(({ exit, process }) =>
        Exit.isSuccess(exit) ? [{ process, generation: exit.value.generation }] : []
      )
      expect(admitted).toHaveLength(1)
      expect([yield* rejected(first), yield* rejected(second)]).toEqual(["CircuitHalfOpen", "CircuitHalfOpen"])
      for (const { generation, process } of admitted) yield* result("Success")(process, generation)
      yield* Scope.close(probing, Exit.void)
      expect([yield* rejected(first), yield* rejected(second)]).toEqual(["admitted", "admitted"])
    })
  )

  it.live("records a call where it was admitted, whatever happens to Redis meanwhile", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server()
      const process = yield* TestRedis.process(redis.url)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const shared = yield* process.circuits.admit(key)
          yield* Effect.promise(redis.kill)
          const own = yield* process.circuits.admit(key)
          // Redis admitted it and cannot be told. The circuit of the process has nothing to do with
          // it.
          yield* result("Failure")(process, shared.generation)
          expect(yield* rejected(process)).toBe("admitted")
          yield* Effect.promise(redis.start)
          yield* process.until(true)
          yield* result("Failure")(process, own.generation)
          expect(yield* rejected(process)).toBe("admitted")
          yield* Effect.promise(redis.kill)
          yield* process.until(false)
          expect(yield* rejected(process)).toBe("CircuitOpen")
        })
      )
      expect(yield* process.missed("circuit")).toBeGreaterThan(0)
    })
  )

  it.live("forgets a circuit an hour after its last use", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server()
      const process = yield* TestRedis.process(redis.url)
      yield* call(process, "Success")
      const left = Number(yield* TestRedis.run(redis, "PTTL", `model-gateway:circuit:${key}`))
      expect(left).toBeGreaterThan(0)
      expect(left).toBeLessThanOrEqual(3_600_000)
    })
  )
})
