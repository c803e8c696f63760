import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import * as ResponseMemory from "../src/ResponseMemory.ts"

const mebibyte = 1024 * 1024

/** Acquires memory for an answer of this many bytes until the deferred is done. */
const acquiring = (
  memory: ResponseMemory.ResponseMemory,
  upstream: string,
  bytes: number,
  acquired: Array<string>,
  end: Deferred.Deferred<void>
) =>
  Effect.forkChild(
    memory.withLease(upstream, ({ acquire }) =>
      acquire(bytes).pipe(
        Effect.tap(() => Effect.sync(() => acquired.push(upstream))),
        Effect.andThen(Deferred.await(end))
      )
    ),
    { startImmediately: true }
  )

it.effect("gives an upstream a quarter of the memory, and an answer counts four times its length", () =>
  Effect.gen(function* () {
    const memory = ResponseMemory.make(64 * mebibyte)
    const acquired: Array<string> = []
    const end = yield* Deferred.make<void>()
    const bad = []
    for (let n = 0; n < 5; n++) bad.push(yield* acquiring(memory, "bad", mebibyte, acquired, end))
    expect(acquired).toEqual(["bad", "bad", "bad", "bad"])
    // Others have their own share. A longer answer than the share takes all of it.
    const other = yield* acquiring(memory, "other", 100 * mebibyte, acquired, end)
    expect(acquired.at(-1)).toBe("other")
    yield* Fiber.interrupt(bad[0] ?? other)
    expect(acquired.filter((upstream) => upstream === "bad")).toHaveLength(5)
    yield* Deferred.succeed(end, undefined)
    yield* Effect.forEach([...bad.slice(1), other], Fiber.join)
    const all = yield* acquiring(memory, "bad", 4 * mebibyte, acquired, yield* Deferred.make<void>())
    expect(acquired).toHaveLength(7)
    yield* Fiber.interrupt(all)
  })
)

it.effect("gives the turn to one call at a time, and lets other work run before the next", () =>
  Effect.gen(function* () {
    const memory = ResponseMemory.make(mebibyte)
    const log: Array<string> = []
    const parse = (name: string) =>
      memory.withLease(name, ({ turn }) => Effect.map(turn, () => void log.push(`parse ${name}`)))
    const parses = yield* Effect.forEach(["a", "b", "c"], (name) => Effect.forkChild(parse(name)))
    let isOver = false
    const rounds = (): void => {
      log.push("other work")
      if (!isOver) setImmediate(rounds)
    }
    setImmediate(rounds)
    yield* Effect.forEach(parses, Fiber.join)
    isOver = true
    const parsed = log.filter((line) => line !== "other work")
    expect(parsed).toEqual(["parse a", "parse b", "parse c"])
    const between = log.slice(log.indexOf("parse a") + 1, log.indexOf("parse b"))
    expect(between).toContain("other work")
    expect(log.slice(log.indexOf("parse b") + 1, log.indexOf("parse c"))).toContain("other work")
  })
)
