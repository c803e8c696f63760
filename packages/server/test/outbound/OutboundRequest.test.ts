import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import { listening } from "../http/TestListener.ts"
import * as OutboundRequest from "../../src/outbound/OutboundRequest.ts"

/** A server that hands each response to the function. `asked` resolves with the first request. */
const serverOf = Effect.fnUntraced(function* (answer: (response: ServerResponse) => void) {
  const server = createServer((_request, response) => answer(response))
  const port = yield* listening(server)
  return { asked: Effect.promise(() => once(server, "request")), url: `http://127.0.0.1:${port}/` }
})

const send = (url: string) =>
  Effect.flatMap(HttpClient.HttpClient, (client) => OutboundRequest.send(client, HttpClientRequest.post(url))).pipe(
    Effect.provide(FetchHttpClient.layer)
  )

describe("an outbound request", () => {
  it.effect("fails when there was no status within 15 seconds", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* serverOf(() => {})
      const waiting = yield* Effect.forkChild(send(url))
      yield* asked
      yield* TestClock.adjust("14999 millis")
      expect(waiting.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 milli")
      expect(yield* Fiber.join(waiting)).toMatchObject({
        status: null,
        failure: "no answer in time",
        durationMillis: 15_000
      })
    }).pipe(Effect.scoped)
  )

  it.live("succeeds with the status, although the body breaks off", () =>
    Effect.gen(function* () {
      const { url } = yield* serverOf((response) => {
        response.writeHead(200, { "content-length": "1000" })
        response.write("a", () => response.destroy())
      })
      expect(yield* send(url)).toMatchObject({ status: 200, excerpt: "" })
    }).pipe(Effect.scoped)
  )

  it.live("reports the status, the start of the body, and how long the receiver asks to wait", () =>
    Effect.gen(function* () {
      const { url } = yield* serverOf((response) =>
        response.writeHead(429, { "retry-after": "120" }).end("x".repeat(5000))
      )
      const { excerpt, failure, retryAfter, status } = yield* send(url)
      expect([status, failure, retryAfter]).toEqual([429, "status 429", Duration.seconds(120)])
      expect(excerpt).toBe("x".repeat(OutboundRequest.maxExcerptBytes))
    }).pipe(Effect.scoped)
  )

  for (const text of ["soon", "-1", "0", "Thu, 01 Jan 1970 00:00:00 GMT", ""]) {
    it.live(`ignores the Retry-After "${text}"`, () =>
      Effect.gen(function* () {
        const { url } = yield* serverOf((response) => response.writeHead(503, { "retry-after": text }).end())
        expect((yield* send(url)).retryAfter).toBeUndefined()
      }).pipe(Effect.scoped)
    )
  }
})
