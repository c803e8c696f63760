import { describe, expect, it } from "@effect/vitest"
import { Gateway, RetryPolicy } from "@model-gateway/core"
import { Clock, Effect, Fiber, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Stub from "./stub.ts"

const text = "0123456789"

const etag = '"v1"'

type Ending = "end" | "reset" | "silence"

interface Answer {
  readonly status?: number
  readonly headers?: { readonly [name: string]: string | undefined }
  /** The bytes that arrive, and what follows them. */
  readonly body: string
  readonly ending?: Ending
}

/** Each character arrives as a chunk of its own. */
const streamOf = (body: string, ending: Ending, onCancel: () => void) => {
  let at = 0
  return new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (at < body.length) return controller.enqueue(new TextEncoder().encode(body[at++]))
      if (ending === "end") return controller.close()
      if (ending === "reset") return controller.error(Stub.reset)
      return new Promise<void>(() => {})
    },
    cancel: onCancel
  })
}

/** A service that returns the answers in order. Default for a body: `text`, with an entity tag. */
const service = (answers: ReadonlyArray<Answer>) => {
  const cancelled: Array<number> = []
  const stub = Stub.make((_, number) => {
    const { body, headers, status = 200, ending = "end" } = answers[number - 1] ?? { body: "", status: 500 }
    if (status >= 400) return Stub.failure(status)
    const all = { etag, "content-length": String(text.length), ...headers }
    return new Response(
      streamOf(body, ending, () => cancelled.push(number)),
      {
        status,
        headers: Object.fromEntries(
          Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
        )
      }
    )
  })
  return { ...stub, cancelled }
}

/** The rest of `text`, as a service that has entity tags sends it. */
const rest = (start: number, answer: Partial<Answer> = {}): Answer => ({
  status: 206,
  body: text.slice(start),
  ...answer,
  headers: {
    "content-range": `bytes ${start}-${text.length - 1}/${text.length}`,
    "content-length": String(text.length - start),
    ...answer.headers
  }
})

interface Outcome {
  readonly bytes: string
  readonly error: unknown
}

/**
 * What arrives, and the error that ends it. The clock goes on while nothing else happens. `slowly`
 * is how long each chunk takes to be processed.
 */
const download = Effect.fnUntraced(function* (
  options: Parameters<Gateway.Gateway["Service"]["videoContent"]>[1] & { readonly slowly?: number } = {}
): Effect.fn.Return<Outcome, never, Gateway.Gateway> {
  const gateway = yield* Gateway.Gateway
  let bytes = ""
  const fiber = yield* gateway.videoContent("v_1", options).pipe(
    Stream.runForEach((chunk) => {
      bytes += new TextDecoder().decode(chunk)
      return options.slowly === undefined ? Effect.void : Effect.sleep(options.slowly)
    }),
    Effect.result,
    Effect.forkChild
  )
  while (fiber.pollUnsafe() === undefined) {
    yield* TestClock.adjust("1 second")
    yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
  }
  const result = yield* Fiber.join(fiber)
  return { bytes, error: Result.isFailure(result) ? result.failure : undefined }
})

const rangesOf = ({ sent }: ReturnType<typeof service>) =>
  sent.map(({ headers }) => [headers["range"], headers["if-range"]] as const)

describe("a download", () => {
  for (const ending of ["reset", "end", "silence"] as const) {
    const name = { reset: "a reset", end: "a body that ends early", silence: "a minute of silence" }[ending]
    it.effect(`continues after ${name} with the bytes that are missing`, () => {
      const stub = service([{ body: "0123", ending }, rest(4, { body: "45", ending }), rest(6)])
      return Effect.gen(function* () {
        expect(yield* download()).toEqual({ bytes: text, error: undefined })
        expect(rangesOf(stub)).toEqual([
          [undefined, undefined],
          ["bytes=4-", etag],
          ["bytes=6-", etag]
        ])
        expect(stub.sent.every(({ headers }) => headers["accept-encoding"] === "identity")).toBe(true)
        if (ending === "silence") {
          expect(stub.times()[1]).toBeGreaterThanOrEqual(60_000)
          expect(stub.times()[1]).toBeLessThan(70_000)
          expect(stub.cancelled).toEqual([1, 2])
        }
      }).pipe(stub.run())
    })
  }

  it.effect("continues a requested range within that range", () => {
    const part = (start: number, body: string, ending: Ending): Answer => ({
      status: 206,
      body,
      ending,
      headers: { "content-range": `bytes ${start}-7/10`, "content-length": String(8 - start) }
    })
    const stub = service([part(2, "234", "reset"), part(5, "567", "end")])
    return Effect.gen(function* () {
      expect(yield* download({ range: { start: 2, end: 7 } })).toEqual({ bytes: "234567", error: undefined })
      expect(rangesOf(stub)).toEqual([
        ["bytes=2-7", undefined],
        ["bytes=5-7", etag]
      ])
    }).pipe(stub.run())
  })

  it.effect("returns the whole content if the service ignores the range, also after a reset", () => {
    const stub = service([{ body: "012", ending: "reset" }, rest(3)])
    return Effect.gen(function* () {
      expect(yield* download({ range: { start: 2, end: 7 } })).toEqual({ bytes: text, error: undefined })
      expect(rangesOf(stub)[1]).toEqual(["bytes=3-", etag])
    }).pipe(stub.run())
  })

  it.effect("requests the rest of a range of which the service sends less", () => {
    const stub = service([
      { status: 206, body: "234", headers: { "content-range": "bytes 2-4/10", "content-length": "3" } },
      rest(5)
    ])
    return Effect.gen(function* () {
      expect(yield* download({ range: { start: 2 } })).toEqual({ bytes: "23456789", error: undefined })
    }).pipe(stub.run())
  })

  it.effect("begins again without conditions if no byte has arrived", () => {
    const other = '"v2"'
    const stub = service([
      { body: "", ending: "reset" },
      { body: "ab", headers: { etag: other, "content-length": "2" } }
    ])
    return Effect.gen(function* () {
      expect(yield* download()).toEqual({ bytes: "ab", error: undefined })
      expect(rangesOf(stub)[1]).toEqual([undefined, undefined])
    }).pipe(stub.run())
  })

  for (const weak of [undefined, 'W/"v1"']) {
    it.effect(`fails after a reset with the entity tag ${weak}, instead of mixing contents`, () => {
      const stub = service([{ body: "0123", ending: "reset", headers: { etag: weak } }, rest(4)])
      return Effect.gen(function* () {
        const { bytes, error } = yield* download()
        expect(bytes).toBe("0123")
        expect(error).toMatchObject({
          _tag: "TransportError",
          operation: "videoContent",
          attempts: 1,
          underlying: Stub.reset,
          isRetryable: true
        })
        expect(stub.sent).toHaveLength(1)
      }).pipe(stub.run())
    })
  }

  it.effect("never ends a short body as a success", () => {
    const stub = service([{ body: "0123", headers: { etag: undefined } }])
    return Effect.gen(function* () {
      const { error } = yield* download()
      expect(error).toMatchObject({ _tag: "TransportError", operation: "videoContent", attempts: 1 })
      expect(String(error)).toContain("the response ended after 4 bytes, before its end")
    }).pipe(stub.run())
  })

  it.effect("never ends a rest that is short as a success, if only the rest has a length", () => {
    const unknown = { "content-length": undefined }
    const stub = service([
      { body: "0123", ending: "reset", headers: unknown },
      rest(4, { body: "45", headers: unknown }),
      rest(6, { headers: unknown })
    ])
    return Effect.gen(function* () {
      expect(yield* download()).toEqual({ bytes: text, error: undefined })
      expect(rangesOf(stub)[2]).toEqual(["bytes=6-", etag])
    }).pipe(stub.run())
  })

  it.effect("fails if more bytes arrive than the headers say", () => {
    const stub = service([{ body: "0123456789ab" }])
    return Effect.gen(function* () {
      const { bytes, error } = yield* download()
      expect(bytes).toBe(text)
      expect(error).toMatchObject({ _tag: "InvalidResponse", operation: "videoContent", status: 200, attempts: 1 })
      expect(String(error)).toContain("more bytes than its headers say")
    }).pipe(stub.run())
  })

  it.effect("does not check the length of a body that was compressed on the way", () => {
    const stub = service([{ body: text, headers: { "content-encoding": "gzip", "content-length": "3" } }])
    return Effect.gen(function* () {
      expect(yield* download()).toEqual({ bytes: text, error: undefined })
    }).pipe(stub.run())
  })

  it.effect("of an empty content ends", () => {
    const stub = service([{ body: "", headers: { "content-length": "0" } }])
    return Effect.gen(function* () {
      expect(yield* download()).toEqual({ bytes: "", error: undefined })
    }).pipe(stub.run())
  })

  const changed = "because it has changed. Start the download again"
  const other = "another range of bytes than was requested"
  const wrong: ReadonlyArray<readonly [name: string, answer: Answer, message: string]> = [
    ["the whole content, because it has changed", { body: "abcdefghij", headers: { etag: '"v2"' } }, changed],
    ["another range", rest(3), other],
    ["a range of a content of another size", rest(4, { headers: { "content-range": "bytes 4-9/11" } }), other],
    ["a range with another entity tag", rest(4, { headers: { etag: '"v2"' } }), other],
    ["a range without a `Content-Range`", { status: 206, body: "456789" }, other],
    ["a range of another length than its `Content-Range`", rest(4, { headers: { "content-length": "5" } }), other]
  ]
  for (const [name, answer, message] of wrong) {
    it.effect(`fails if the rest is ${name}, without a byte of it`, () => {
      const stub = service([{ body: "0123", ending: "reset" }, answer])
      return Effect.gen(function* () {
        const { bytes, error } = yield* download()
        expect(bytes).toBe("0123")
        expect(error).toMatchObject({ _tag: "InvalidResponse", operation: "videoContent", attempts: 2 })
        expect(String(error)).toContain(message)
        expect(stub.cancelled).toContain(2)
      }).pipe(stub.run())
    })
  }

  it.effect("fails if the response has a range that was not requested", () => {
    const stub = service([rest(4)])
    return Effect.gen(function* () {
      expect(yield* download()).toMatchObject({ bytes: "", error: { _tag: "InvalidResponse", status: 206 } })
    }).pipe(stub.run())
  })

  it.effect("fails with the error of the request for the rest", () => {
    const stub = service([
      { body: "0123", ending: "reset" },
      { status: 503, body: "" },
      { status: 404, body: "" }
    ])
    return Effect.gen(function* () {
      expect(yield* download()).toMatchObject({
        bytes: "0123",
        error: { _tag: "NotFound", operation: "videoContent", attempts: 3 }
      })
    }).pipe(stub.run())
  })

  it.effect("ends after the policy's retries without a byte", () => {
    const stub = service([
      { body: "0123", ending: "reset" },
      rest(4, { body: "", ending: "reset" }),
      { status: 503, body: "" },
      rest(4, { body: "", ending: "reset" }),
      rest(4)
    ])
    return Effect.gen(function* () {
      expect(yield* download()).toMatchObject({ bytes: "0123", error: { _tag: "TransportError", attempts: 4 } })
      expect(stub.sent).toHaveLength(4)
    }).pipe(stub.run())
  })

  it.effect("counts the retries of its first request, if no byte has arrived since", () => {
    const stub = service([
      { status: 503, body: "" },
      { status: 503, body: "" },
      { body: "", ending: "reset" },
      { body: "", ending: "reset" },
      { body: text }
    ])
    return Effect.gen(function* () {
      expect(yield* download()).toMatchObject({ bytes: "", error: { _tag: "TransportError", attempts: 4 } })
      expect(stub.sent).toHaveLength(4)
    }).pipe(stub.run())
  })

  it.effect("continues as often as needed while bytes arrive, with a delay before each request", () => {
    const stub = service([
      { body: "0", ending: "reset" },
      ...Array.from({ length: 9 }, (_, index) => rest(index + 1, { body: String(index + 1), ending: "reset" }))
    ])
    return Effect.gen(function* () {
      // The last byte is there, so that its reset is of no consequence.
      expect(yield* download()).toEqual({ bytes: text, error: undefined })
      expect(stub.sent).toHaveLength(10)
      for (const [index, time] of stub.times().entries()) {
        if (index > 0) expect(time - (stub.times()[index - 1] ?? 0)).toBeGreaterThanOrEqual(200)
      }
    }).pipe(stub.run())
  })

  it.effect("that stalls fails with the limit `stall` if the policy has no retries", () => {
    const stub = service([{ body: "0123", ending: "silence" }])
    return Effect.gen(function* () {
      const { bytes, error } = yield* download()
      expect(bytes).toBe("0123")
      expect(error).toMatchObject({ _tag: "TimeoutError", limit: "stall", milliseconds: 60_000, attempts: 1 })
      expect(String(error)).toContain("videoContent: no progress within 60000 ms")
      expect(stub.cancelled).toEqual([1])
    }).pipe(stub.run(), Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none))
  })

  it.effect("does not stall while its reader is slow, and may take longer than the deadline", () => {
    const stub = service([{ body: text }])
    return Effect.gen(function* () {
      expect(yield* download({ slowly: 90_000 })).toEqual({ bytes: text, error: undefined })
      expect(stub.sent).toHaveLength(1)
      expect(yield* Clock.currentTimeMillis).toBeGreaterThanOrEqual(900_000)
    }).pipe(stub.run())
  })

  it.effect("limits the time for the head of the response by the attempt's limit", () => {
    const stub = Stub.make(() => Effect.never)
    return Effect.gen(function* () {
      expect(yield* download()).toMatchObject({ error: { _tag: "TimeoutError", limit: "attempt", attempts: 1 } })
    }).pipe(stub.run(), Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none))
  })

  it.effect("closes the connection when it is interrupted", () => {
    const stub = service([{ body: "0123", ending: "silence" }])
    return Effect.gen(function* () {
      const gateway = yield* Gateway.Gateway
      const fiber = yield* Effect.forkChild(Stream.runDrain(gateway.videoContent("v_1")))
      yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
      yield* Fiber.interrupt(fiber)
      expect(stub.cancelled).toEqual([1])
    }).pipe(stub.run())
  })
})
