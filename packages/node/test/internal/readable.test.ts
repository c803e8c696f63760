import { Context, Effect, Stream } from "effect"
import { once } from "node:events"
import { setImmediate as nextTurn } from "node:timers/promises"
import { expect, it, onTestFinished } from "vitest"
import { toReadable } from "../../src/internal/readable.ts"

it("fails a stream that is aborted, and leaves no rejection if it cannot be closed", async () => {
  const unhandled: Array<unknown> = []
  const note = (reason: unknown) => void unhandled.push(reason)
  // Those of the test runner would fail the run, whatever is expected here.
  const others = process.listeners("unhandledRejection")
  process.removeAllListeners("unhandledRejection").on("unhandledRejection", note)
  onTestFinished(() => {
    process.off("unhandledRejection", note)
    for (const other of others) process.on("unhandledRejection", other)
  })
  const abort = new AbortController()
  const closed = new EventTarget()
  const stream = Stream.make(1).pipe(
    Stream.concat(Stream.never),
    Stream.ensuring(
      Effect.suspend(() => {
        closed.dispatchEvent(new Event("closed"))
        return Effect.die(new Error("it cannot be closed"))
      })
    )
  )
  const reader = toReadable(stream, Context.empty(), new Set(), abort.signal).getReader()
  expect(await reader.read()).toEqual({ done: false, value: 1 })
  const waiting = reader.read()
  const closing = once(closed, "closed")
  abort.abort(new Error("no longer needed"))
  await expect(waiting).rejects.toThrow("no longer needed")
  await closing
  for (let turn = 0; turn < 5; turn++) await nextTurn()
  expect(unhandled).toEqual([])
})
