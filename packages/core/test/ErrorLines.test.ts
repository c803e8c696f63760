/** How errors look in a log, on a console and in JSON. */
import { describe, expect, it } from "@effect/vitest"
import { ClientError, Gateway, type Rerank, RetryPolicy } from "@model-gateway/core"
import { Cause, Effect, Fiber, Logger } from "effect"
import { TestClock, TestConsole } from "effect/testing"
import { inspect } from "node:util"
import * as Stub from "./stub.ts"

const failureOn = Effect.fnUntraced(function* (answer: () => Stub.Answer): Effect.fn.Return<Rerank.Failure> {
  const stub = Stub.make(answer)
  const failing = yield* Effect.flatMap(Gateway.Gateway, ({ rerank }) =>
    Effect.flip(rerank({ model: "m", query: "q", documents: ["d"] }, { idempotencyKey: "key-1" }))
  ).pipe(
    Effect.orDie,
    Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.make({ maxRetries: 0, deadline: "5 seconds" })),
    stub.run(),
    Effect.forkChild
  )
  yield* TestClock.adjust("5 seconds")
  return yield* Fiber.join(failing)
})

const requestId = { "x-request-id": "req_1" }

const cases: ReadonlyArray<readonly [string, () => Stub.Answer, string, object]> = [
  [
    "a status of the service",
    () => Stub.failure(429, { headers: { ...requestId, "retry-after": "3" } }),
    "TooManyRequests: rerank: 429 message of 429 (request req_1, 1 attempt)",
    { _tag: "TooManyRequests", status: 429, requestId: "req_1", retryAfter: 3, isRetryable: true }
  ],
  [
    "a message on several lines",
    () => Stub.json({ error: { code: 402, message: "add\r\ncredits\u2028now\u0000" } }, 402, requestId),
    "PaymentRequired: rerank: 402 add credits now (request req_1, 1 attempt)",
    { _tag: "PaymentRequired", status: 402, requestId: "req_1", isRetryable: false }
  ],
  [
    "an invalid response",
    () =>
      Stub.json({ ...Stub.ranking, results: [{ index: "0", relevance_score: 1, document: {} }] }, 200, {
        ...requestId,
        "retry-after": "7"
      }),
    "InvalidResponse: rerank: the response is invalid: status 200, a body that does not match the contract at results[0].index (request req_1, 1 attempt). Check that the base URL points to a gateway with the same `wireNames`.",
    {
      _tag: "InvalidResponse",
      status: 200,
      requestId: "req_1",
      retryAfter: 7,
      isRetryable: false,
      contentType: "application/json",
      path: "results[0].index"
    }
  ],
  [
    "a cut connection",
    () => "cut",
    "TransportError: rerank: the connection failed (ECONNRESET) after 1 attempt. Check the base URL and the network.",
    { _tag: "TransportError", reason: "connection", isRetryable: true }
  ],
  [
    "a status of no operation",
    () => Stub.failure(418, { headers: requestId }),
    "InvalidResponse: rerank: the response is invalid: status 418, a status that the operation does not return (request req_1, 1 attempt). Check that the base URL points to a gateway with the same `wireNames`.",
    { _tag: "InvalidResponse", status: 418 }
  ],
  [
    "a time-out",
    () => Effect.never,
    "TimeoutError: rerank: no response within 5000 ms, after 1 attempt. Try again, or raise the time limits of the retry policy.",
    { _tag: "TimeoutError", limit: "deadline", milliseconds: 5000, isRetryable: true }
  ]
]

const loggers = {
  logfmt: Logger.consoleLogFmt,
  JSON: Logger.consoleJson,
  pretty: Logger.consolePretty({ colors: false, mode: "tty" })
}

describe("an error is one line without frames", () => {
  for (const [name, answer, line, fields] of cases) {
    it.effect(`as text, on a console and in a cause: ${name}`, () =>
      Effect.gen(function* () {
        const error = yield* failureOn(answer)
        expect(String(error)).toBe(line)
        expect(error.stack).toBe(line)
        expect(inspect(error, { depth: Infinity, showHidden: true })).toBe(line)
        expect(Cause.pretty(Cause.fail(error))).toBe(line)
      })
    )

    it.effect(`with the fields of all errors in JSON: ${name}`, () =>
      Effect.gen(function* () {
        const error = yield* failureOn(answer)
        expect(JSON.parse(JSON.stringify(error))).toMatchObject({
          ...fields,
          operation: "rerank",
          attempts: 1,
          idempotencyKey: "key-1",
          message: error.message
        })
        expect(error).toMatchObject(fields)
      })
    )

    for (const [logger, layer] of Object.entries(loggers)) {
      it.effect(`in a ${logger} log: ${name}`, () =>
        Effect.gen(function* () {
          const error = yield* failureOn(answer)
          yield* Effect.logError("the call failed", Cause.fail(error)).pipe(Effect.provide(Logger.layer([layer])))
          const written = (yield* TestConsole.logLines).map(String).join("\n")
          expect(written.split("\n").filter((part) => part.includes(line))).toHaveLength(1)
          expect(written).not.toMatch(/ at .*:\d+:\d+/)
        }).pipe(Effect.provide(TestConsole.layer))
      )
    }
  }
})

it.effect("a program can set the stack of an error, as test runners and error reporters do", () =>
  Effect.gen(function* () {
    for (const answer of [Stub.failure(429), "cut"] as const) {
      const error = yield* failureOn(() => answer)
      error.stack = "another stack"
      expect(error.stack).toBe("another stack")
    }
  })
)

describe("the connection failed", () => {
  it.each([
    [Object.assign(new Error("connect"), { code: "ECONNREFUSED" }), "ECONNREFUSED"],
    [new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ENOTFOUND" }) }), "ENOTFOUND"],
    [new TypeError("Failed to\nfetch"), "Failed to fetch"],
    [new TypeError(""), "TypeError"],
    ["offline", "unknown cause"]
  ])("%s", (underlying, shown) => {
    const error = new ClientError.TransportError({ operation: "rerank", attempts: 1, reason: "connection", underlying })
    expect(error.message).toContain(`the connection failed (${shown}) after 1 attempt`)
  })
})
