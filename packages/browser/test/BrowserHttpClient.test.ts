// Tests that need no browser: they use a scripted fetch. test/Browser.test.ts has those of uploads.
import { assert, describe, it } from "@effect/vitest"
import { BrowserHttpClient } from "@model-gateway/browser"
import { Effect, Layer, Stream } from "effect"
import { FetchHttpClient, HttpBody, HttpClient, HttpClientRequest } from "effect/http"

const url = "https://gateway.example/api/v1/files"

/** Executes a request, and returns what `fetch` got. */
const fetched = (
  request: HttpClientRequest.HttpClientRequest,
  options?: BrowserHttpClient.Options,
  init?: globalThis.RequestInit
) => {
  const calls: Array<{ readonly request: Request; readonly body: unknown }> = []
  const fetch: typeof globalThis.fetch = async (input, init) => {
    calls.push({ request: new Request(input, init), body: init?.body })
    return new Response("hello", { status: 201, headers: { "x-request-id": "req_1" } })
  }
  return Effect.flatMap(HttpClient.HttpClient, (client) => client.execute(request)).pipe(
    Effect.map((response) => ({ response, calls })),
    Effect.provide(
      BrowserHttpClient.layer(options).pipe(
        Layer.provide(init === undefined ? Layer.empty : Layer.succeed(FetchHttpClient.RequestInit, init))
      )
    ),
    Effect.provideService(FetchHttpClient.Fetch, fetch)
  )
}

describe("BrowserHttpClient", () => {
  it.effect("sends method, URL, headers and body, and returns the response", () =>
    Effect.gen(function* () {
      const { calls, response } = yield* fetched(
        HttpClientRequest.post(url, { headers: { "x-test": "yes" }, body: HttpBody.text("pears", "text/plain") })
      )
      assert.lengthOf(calls, 1)
      const [{ request } = { request: new Request(url) }] = calls
      assert.deepStrictEqual([request.method, request.url], ["POST", url])
      assert.deepStrictEqual(Object.fromEntries(request.headers), { "content-type": "text/plain", "x-test": "yes" })
      assert.strictEqual(yield* Effect.promise(() => request.text()), "pears")
      assert.deepStrictEqual([response.status, response.headers["x-request-id"]], [201, "req_1"])
      assert.strictEqual(yield* response.text, "hello")
    })
  )

  it.effect("adds the headers and options of RequestInit, below those of the request", () =>
    Effect.gen(function* () {
      const { calls } = yield* fetched(
        HttpClientRequest.get(url, { headers: { "x-test": "request" } }),
        {},
        { headers: { "x-test": "init", "x-more": "init" }, cache: "no-store" }
      )
      const request = calls[0]?.request
      assert.strictEqual(request?.cache, "no-store")
      assert.strictEqual(request?.headers.get("x-test"), "request")
      assert.strictEqual(request?.headers.get("x-more"), "init")
    })
  )

  it.effect("sends cookies to other origins only with credentials: include", () =>
    Effect.gen(function* () {
      const { calls } = yield* fetched(HttpClientRequest.get(url))
      const { calls: included } = yield* fetched(HttpClientRequest.get(url), { credentials: "include" })
      assert.deepStrictEqual(
        [...calls, ...included].map(({ request }) => request.credentials),
        ["same-origin", "include"]
      )
    })
  )

  it.effect("sends a form through a fetch that replaces the platform's", () =>
    Effect.gen(function* () {
      const form = new FormData()
      form.append("purpose", "notes")
      const { calls } = yield* fetched(HttpClientRequest.post(url, { body: HttpBody.formData(form) }))
      assert.strictEqual(calls[0]?.body, form)
    })
  )

  it.effect("sends a Blob, and refuses a stream with a message that says what it sends", () =>
    Effect.gen(function* () {
      const blob = new Blob(["pears"])
      const { calls } = yield* fetched(HttpClientRequest.post(url, { body: HttpBody.raw(blob) }))
      assert.strictEqual(calls[0]?.body, blob)

      const error = yield* Effect.flip(
        fetched(HttpClientRequest.post(url, { body: HttpBody.stream(Stream.empty, "text/plain") }))
      )
      assert.instanceOf(error.reason.cause, TypeError)
      assert.propertyVal(
        error.reason.cause,
        "message",
        "a page cannot send this body: use text, bytes, a Blob or a form"
      )
    })
  )
})
