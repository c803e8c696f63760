import { GatewayConfig } from "@model-gateway/core"
import { assert, describe, it } from "@effect/vitest"
import { TokenSource } from "@model-gateway/browser"
import { Data, Deferred, Duration, Effect, Exit, Fiber, Layer, Redacted } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"

class Down extends Data.TaggedError("Down")<{}> {}

/** Returns `token-1`, `token-2` and so on. Default lifetime: one minute. */
const counting = (lifetime: Duration.Input | undefined = "1 minute") => {
  const state = { asked: 0, down: false }
  return {
    state,
    acquire: Effect.suspend(() => {
      state.asked++
      return state.down
        ? Effect.fail(new Down())
        : Effect.succeed({
            key: Redacted.make(`token-${state.asked}`),
            lifetime: lifetime === undefined ? undefined : Duration.fromInputUnsafe(lifetime)
          })
    })
  }
}

const read = <E>(source: TokenSource.TokenSource<E>) => Effect.map(source.token, Redacted.value)

describe("TokenSource", () => {
  it.effect("keeps a token and replaces it shortly before it expires", () =>
    Effect.gen(function* () {
      const { acquire, state } = counting("10 minutes")
      const source = yield* TokenSource.make(acquire)
      assert.strictEqual(yield* read(source), "token-1")
      yield* TestClock.adjust("9 minutes")
      assert.strictEqual(yield* read(source), "token-1")
      yield* TestClock.adjust("31 seconds")
      assert.strictEqual(yield* read(source), "token-2")
      assert.strictEqual(state.asked, 2)
    })
  )

  it.effect("uses a short-lived token for at least two thirds of its lifetime", () =>
    Effect.gen(function* () {
      const { acquire } = counting("30 seconds")
      const source = yield* TokenSource.make(acquire)
      yield* read(source)
      yield* TestClock.adjust("19 seconds")
      assert.strictEqual(yield* read(source), "token-1")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* read(source), "token-2")
    })
  )

  it.effect("keeps a token without a lifetime until it is rejected", () =>
    Effect.gen(function* () {
      const { acquire } = counting(undefined)
      const source = yield* TokenSource.make(Effect.map(acquire, ({ key }) => ({ key, lifetime: undefined })))
      const first = yield* source.token
      yield* TestClock.adjust("1000 days")
      assert.strictEqual(yield* source.token, first)
      const after = (refused: string) =>
        Effect.provideService(read(source), GatewayConfig.RefusedToken, Redacted.make(refused))
      assert.strictEqual(yield* after("another"), "token-1")
      assert.strictEqual(yield* after("token-1"), "token-2")
      assert.strictEqual(yield* after("token-1"), "token-2")
    })
  )

  it.effect("acquires once for all waiting calls, even if one of them is interrupted", () =>
    Effect.gen(function* () {
      const { acquire, state } = counting()
      const gate = yield* Deferred.make<void>()
      const source = yield* TokenSource.make(Effect.andThen(Deferred.await(gate), acquire))
      const leaving = yield* Effect.forkChild(source.token, { startImmediately: true })
      const staying = yield* Effect.forkChild(Effect.all([read(source), read(source)], { concurrency: 2 }), {
        startImmediately: true
      })
      yield* Fiber.interrupt(leaving)
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* Fiber.join(staying), ["token-1", "token-1"])
      assert.strictEqual(state.asked, 1)
    })
  )

  it.effect("replaces a rejected token once for all calls that it was rejected for", () =>
    Effect.gen(function* () {
      const { acquire, state } = counting()
      const source = yield* TokenSource.make(acquire)
      yield* read(source)
      const after = Effect.provideService(read(source), GatewayConfig.RefusedToken, Redacted.make("token-1"))
      const early = yield* Effect.all([after, after, read(source)], { concurrency: "unbounded" })
      assert.deepStrictEqual([...early, yield* after], ["token-2", "token-2", "token-2", "token-2"])
      assert.strictEqual(state.asked, 2)
    })
  )

  it.effect("if a rejected token cannot be replaced, the next call asks again", () =>
    Effect.gen(function* () {
      const { acquire, state } = counting()
      const source = yield* TokenSource.make(acquire)
      yield* read(source)
      state.down = true
      const after = Effect.provideService(read(source), GatewayConfig.RefusedToken, Redacted.make("token-1"))
      assert.deepStrictEqual(yield* Effect.exit(after), Exit.fail(new Down()))
      state.down = false
      assert.strictEqual(yield* read(source), "token-3")
    })
  )

  it.effect("returns a rejected token again if that is what it gets", () =>
    Effect.gen(function* () {
      let asked = 0
      const same = Effect.sync(() => {
        asked++
        return { key: Redacted.make("token"), lifetime: undefined }
      })
      const source = yield* TokenSource.make(same)
      yield* read(source)
      const after = Effect.provideService(read(source), GatewayConfig.RefusedToken, Redacted.make("token"))
      assert.strictEqual(yield* after, "token")
      assert.strictEqual(asked, 2)
    })
  )

  it.effect("a failure reaches all waiting calls, and is not cached", () =>
    Effect.gen(function* () {
      const { acquire, state } = counting()
      const source = yield* TokenSource.make(acquire)
      state.down = true
      const exits = yield* Effect.all([Effect.exit(source.token), Effect.exit(source.token)], { concurrency: 2 })
      assert.deepStrictEqual(exits, [Exit.fail(new Down()), Exit.fail(new Down())])
      assert.strictEqual(state.asked, 1)
      state.down = false
      assert.strictEqual(yield* read(source), "token-2")
    })
  )

  it.effect("if the replacement fails, the old token is used until it expires", () =>
    Effect.gen(function* () {
      const { acquire, state } = counting("10 minutes")
      const source = yield* TokenSource.make(acquire)
      yield* read(source)
      state.down = true
      yield* TestClock.adjust(Duration.seconds(585))
      assert.strictEqual(yield* read(source), "token-1")
      yield* TestClock.adjust("15 seconds")
      assert.deepStrictEqual(yield* Effect.exit(source.token), Exit.fail(new Down()))
    })
  )

  it.effect("interrupts a pending request when the scope closes", () =>
    Effect.gen(function* () {
      let ended = false
      const asked = yield* Deferred.make<void>()
      const forever = Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
      const waiting = yield* Effect.scoped(
        Effect.gen(function* () {
          const source = yield* TokenSource.make(
            Effect.onInterrupt(forever, () =>
              Effect.sync(() => {
                ended = true
              })
            )
          )
          const fiber = yield* Effect.forkDetach(source.token)
          yield* Deferred.await(asked)
          return fiber
        })
      )
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(waiting)))
      assert.isTrue(ended)
    })
  )
})

/** An HTTP client with the given responses, which records its requests. */
const answering = (answer: (asked: number) => Response) => {
  const asked: Array<{ readonly method: string; readonly url: string; readonly headers: object }> = []
  return {
    asked,
    layer: Layer.succeed(HttpClient.HttpClient)(
      HttpClient.make((request, url) => {
        asked.push({ method: request.method, url: url.href, headers: request.headers })
        return Effect.succeed(HttpClientResponse.fromWeb(request, answer(asked.length)))
      })
    )
  }
}

const url = "https://app.example/token"

describe("TokenSource.fromEndpoint", () => {
  it.effect("sends a POST, and calculates the lifetime by the server's clock", () =>
    Effect.gen(function* () {
      const { asked, layer } = answering(() =>
        Response.json(
          { key: "mg_ek_1", expires_at: "2030-01-01T00:10:00Z" },
          { headers: { date: "Tue, 01 Jan 2030 00:00:00 GMT" } }
        )
      )
      const token = yield* TokenSource.fromEndpoint({ url, headers: { "x-csrf": "c" } }).pipe(Effect.provide(layer))
      assert.strictEqual(Redacted.value(token.key), "mg_ek_1")
      assert.deepStrictEqual(token.lifetime, Duration.minutes(10))
      assert.strictEqual(asked[0]?.method, "POST")
      assert.strictEqual(asked[0]?.url, url)
      assert.include(asked[0]?.headers, { "x-csrf": "c" })
    })
  )

  it.effect("calculates it by the page's clock if the response has no Date header", () =>
    Effect.gen(function* () {
      const { layer } = answering(() => Response.json({ key: "mg_ek_1", expires_at: "1970-01-01T00:01:00Z" }))
      yield* TestClock.adjust("20 seconds")
      const { lifetime } = yield* TokenSource.fromEndpoint({ url }).pipe(Effect.provide(layer))
      assert.deepStrictEqual(lifetime, Duration.seconds(40))
    })
  )

  const failing: ReadonlyArray<readonly [name: string, answer: () => Response, sentence: string]> = [
    [
      "a status",
      () => new Response("", { status: 500 }),
      `No token: ${url} responded with status 500. Check your server's log.`
    ],
    [
      "a body that is not JSON",
      () => new Response("<html>"),
      `No token: ${url} did not respond with {"key": …, "expires_at": …}. Return the gateway's response to POST /keys/ephemeral unchanged.`
    ],
    [
      "no key",
      () => Response.json({ expires_at: "2030-01-01T00:10:00Z" }),
      `No token: ${url} did not respond with {"key": …, "expires_at": …}. Return the gateway's response to POST /keys/ephemeral unchanged.`
    ],
    [
      "an empty key",
      () => Response.json({ key: "", expires_at: "2030-01-01T00:10:00Z" }),
      `No token: ${url} did not respond with {"key": …, "expires_at": …}. Return the gateway's response to POST /keys/ephemeral unchanged.`
    ],
    [
      "a key that the server hid",
      () => Response.json({ key: Redacted.make("mg_ek_secret"), expires_at: "2030-01-01T00:10:00Z" }),
      `No token: ${url} did not respond with {"key": …, "expires_at": …}. Return the gateway's response to POST /keys/ephemeral unchanged.`
    ],
    [
      "no time",
      () => Response.json({ key: "mg_ek_secret", expires_at: "soon" }),
      `No token: ${url} did not respond with {"key": …, "expires_at": …}. Return the gateway's response to POST /keys/ephemeral unchanged.`
    ]
  ]

  it.effect.each(failing)("%s is explained in one sentence", ([, answer, sentence]) =>
    Effect.gen(function* () {
      const error = yield* TokenSource.fromEndpoint({ url }).pipe(Effect.provide(answering(answer).layer), Effect.flip)
      assert.strictEqual(error._tag, "TokenUnavailable")
      assert.strictEqual(error.message, sentence)
    })
  )

  it.effect.each([502, 503, 504])("sends the request again after a %s", (status) =>
    Effect.gen(function* () {
      const { asked, layer } = answering((asked) =>
        asked < 3 ? new Response("", { status }) : Response.json({ key: "mg_ek_1", expires_at: null })
      )
      const asking = yield* TokenSource.fromEndpoint({ url }).pipe(
        Effect.provide(layer),
        Effect.forkChild({ startImmediately: true })
      )
      yield* TestClock.adjust("250 millis")
      assert.lengthOf(asked, 2)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(Redacted.value((yield* Fiber.join(asking)).key), "mg_ek_1")
    })
  )

  it.effect("gives up after the third request", () =>
    Effect.gen(function* () {
      const { asked, layer } = answering(() => new Response("", { status: 503 }))
      const asking = yield* TokenSource.fromEndpoint({ url }).pipe(
        Effect.provide(layer),
        Effect.flip,
        Effect.forkChild({ startImmediately: true })
      )
      yield* TestClock.adjust("9 seconds")
      assert.include((yield* Fiber.join(asking)).message, "responded with status 503")
      assert.lengthOf(asked, 3)
    })
  )

  it.effect("waits at most 10 seconds for the response", () =>
    Effect.gen(function* () {
      const silent = Layer.succeed(HttpClient.HttpClient)(HttpClient.make(() => Effect.never))
      const asking = yield* TokenSource.fromEndpoint({ url }).pipe(
        Effect.provide(silent),
        Effect.flip,
        Effect.forkChild({ startImmediately: true })
      )
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(
        (yield* Fiber.join(asking)).message,
        `No token: ${url} is not reachable. Check the address and your server.`
      )
    })
  )
})
