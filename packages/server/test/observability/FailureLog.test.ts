import { expect, it } from "@effect/vitest"
import { Effect, Exit, Logger, References, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as FailureLog from "../../src/observability/FailureLog.ts"
import * as Failures from "../../src/http/Failures.ts"
import { StorageError } from "../../src/storage/sql/StorageError.ts"

interface Line {
  readonly text: string
  readonly annotations: Readonly<Record<string, unknown>>
}

/** Runs the effect with a log whose interval is a minute; `lines` is what was written so far. */
const watched = <A, E>(use: (lines: ReadonlyArray<Line>) => Effect.Effect<A, E>) => {
  const lines: Array<Line> = []
  const logger = Logger.make<unknown, void>(({ fiber, logLevel, message }) => {
    const text = `${logLevel} ${Array.isArray(message) ? message.join(" ") : String(message)}`
    lines.push({ text, annotations: fiber.getRef(References.CurrentLogAnnotations) })
  })
  return use(lines).pipe(Effect.provide(FailureLog.layer()), Effect.provide(Logger.layer([logger])))
}

const full = (id: string): FailureLog.Occurrence => ({
  kind: "full",
  event: "object_store_failed",
  message: "the disk is full\n    at write",
  annotations: { request_id: id }
})

it.effect("the first of a kind is written at once and whole, and those that follow are counted once a minute", () =>
  watched((lines) =>
    Effect.gen(function* () {
      for (let i = 0; i < 100; i++) yield* FailureLog.report(full(`req_${i}`))
      expect(lines).toEqual([
        {
          text: "Error the disk is full\n    at write",
          annotations: { event: "object_store_failed", request_id: "req_0" }
        }
      ])
      yield* TestClock.adjust("59 seconds")
      expect(lines.length).toBe(1)
      yield* TestClock.adjust("11 seconds")
      expect(lines.slice(1)).toEqual([
        {
          text: "Error 99 more within 1m. The last one: the disk is full",
          annotations: { event: "object_store_failed", request_id: "req_99" }
        }
      ])
      yield* FailureLog.report(full("req_100"))
      yield* TestClock.adjust("70 seconds")
      expect(lines.slice(2).map(({ text }) => text)).toEqual(["Error 1 more within 1m. The last one: the disk is full"])
    })
  )
)

it.effect("a kind that stopped for a minute is logged again", () =>
  watched((lines) =>
    Effect.gen(function* () {
      yield* FailureLog.report(full("req_0"))
      yield* TestClock.adjust("70 seconds")
      expect(lines.length).toBe(1)
      yield* FailureLog.report(full("req_1"))
      expect(lines[1]).toEqual(
        lines[0] && { ...lines[0], annotations: { event: "object_store_failed", request_id: "req_1" } }
      )
    })
  )
)

it.effect("kinds are logged separately, each with its level", () =>
  watched((lines) =>
    Effect.gen(function* () {
      for (const kind of ["a", "b", "a", "b", "a"]) {
        yield* FailureLog.report({
          kind,
          event: kind === "a" ? "upstream_failed" : "request_error",
          message: `about ${kind}`
        })
      }
      expect(lines.map(({ text }) => text)).toEqual(["Warn about a", "Error about b"])
      yield* TestClock.adjust("70 seconds")
      expect(lines.slice(2).map(({ text }) => text)).toEqual([
        "Warn 2 more within 1m. The last one: about a",
        "Error 1 more within 1m. The last one: about b"
      ])
    })
  )
)

it.effect("ten thousand kinds do not make ten thousand lines", () =>
  watched((lines) =>
    Effect.gen(function* () {
      for (let i = 0; i < 10_000; i++)
        yield* FailureLog.report({ kind: `${i}`, event: "request_error", message: `about ${i}` })
      expect(lines.length).toBe(501)
      yield* TestClock.adjust("70 seconds")
      expect(lines.slice(501).map(({ text }) => text)).toEqual(["Error 9499 more within 1m. The last one: about 9999"])
    })
  )
)

it.effect("remaining counts are logged when the service stops", () =>
  watched((lines) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const log = yield* Scope.provide(FailureLog.make(), scope)
      for (let i = 0; i < 3; i++) yield* log.report(full(`req_${i}`))
      yield* Scope.close(scope, Exit.void)
      expect(lines.at(-1)?.text).toBe("Error 2 more within 1m. The last one: the disk is full")
    })
  )
)

it.effect("without the layer every failure is logged", () =>
  Effect.gen(function* () {
    const texts: Array<unknown> = []
    const logger = Logger.make<unknown, void>(({ message }) => void texts.push(message))
    yield* Effect.provide(
      Effect.andThen(FailureLog.report(full("a")), FailureLog.report(full("b"))),
      Logger.layer([logger])
    )
    expect(texts.length).toBe(2)
  })
)

it("the kind of an error is its type and place, not what differs each time", () => {
  const fromDisk = (path: string) => {
    const error = Object.assign(new Error(`ENOSPC: no space left on device, write '${path}'`), { code: "ENOSPC" })
    // As Node's file system makes them: without a stack of ours.
    error.stack = error.message
    return error
  }
  const fromHere = (message: string) => new Error(message)
  expect(Failures.kindOf(fromDisk("/a"))).toBe(Failures.kindOf(fromDisk("/b")))
  const [one, other] = ["a", "b"].map((message) => Failures.kindOf(fromHere(message)))
  expect(one).toBe(other)
  expect(one).not.toBe(Failures.kindOf(new Error("a")))
  expect(Failures.kindOf(fromDisk("/a"))).not.toContain("/a")
  const stored = (operation: string, message: string) => new StorageError({ operation, message, retryable: false })
  expect(Failures.kindOf(stored("a", "full"))).toBe(Failures.kindOf(stored("a", "full")))
  expect(Failures.kindOf(stored("a", "full"))).not.toBe(Failures.kindOf(stored("b", "full")))
  expect(Failures.kindOf(stored("a", "full"))).not.toBe(Failures.kindOf(stored("a", "locked")))
})
