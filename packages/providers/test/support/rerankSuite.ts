// What every rerank adapter does in the same way, checked over a socket.
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, it } from "@effect/vitest"
import { Duration, Effect, Redacted, Schema } from "effect"
import type { Adapter, Upstream } from "@model-gateway/offers/Adapter"
import type { RerankModel } from "@model-gateway/offers/Model"
import { type Credential, gatewayCredential } from "@model-gateway/offers/Offer"
import type { Reason } from "@model-gateway/offers/ProviderError"
import type { RerankRequest } from "@model-gateway/offers/Rerank"
import { recorded } from "@model-gateway/test-doubles/recorded"
import type { Double, Scripted, StartOptions } from "@model-gateway/test-doubles/Double"

export const key = "secret-0123456789"

export const request: RerankRequest = {
  query: "green tea",
  documents: [{ text: "coffee" }, { text: "green tea leaves" }, { text: "black tea" }]
}

export const texts = (count: number, text: string) => Array.from({ length: count }, () => ({ text }))

/** An adapter and its double. */
export interface Subject {
  readonly adapter: Adapter
  readonly start: (options: StartOptions) => Promise<Double>
  /** The path of the base URL: `/v1`. */
  readonly path: string
  /** The path of the operation. Default: `rerank` below the base URL. */
  readonly operation?: string
  /** A body of the upstream's own form with these results. */
  readonly bodyOf: (
    results: ReadonlyArray<{ readonly index: unknown; readonly relevance_score: unknown; readonly more?: unknown }>
  ) => unknown
  /** What the upstream calls the score: `results.0.relevance_score`. */
  readonly scorePath: string
}

const indexPath = ({ scorePath }: Subject): string => scorePath.replace(/[^.]+$/, "index")

const fieldsOf = (text: string): ReadonlyArray<string> =>
  Object.keys(Schema.decodeSync(Schema.fromJsonString(Schema.JsonObject))(text))

export const undici = Effect.provide(NodeHttpClient.layerUndici)

export const reasonText = (reason: Reason): string =>
  "description" in reason ? `${reason._tag}: ${reason.description}` : `${reason._tag}: ${reason.message}`

/** An offer that calls a double, for the scope. By default it is the first built-in model. */
export const offered = (subject: Subject, options: Partial<Upstream> = {}, model?: RerankModel) =>
  Effect.gen(function* () {
    const { adapter, path, start } = subject
    const double = yield* Effect.acquireRelease(
      Effect.promise(() => start({ keys: [key, "tenant-key"] })),
      (double) => Effect.promise(() => double.close())
    )
    const upstream = {
      name: adapter.name,
      baseUrl: `${double.url}${path}`,
      credential: gatewayCredential(Redacted.make(key)),
      ...options
    }
    const [offer] = yield* adapter.offers(upstream, model === undefined ? adapter.models : [model])
    if (offer?.kind !== "rerank" || offer.credential === undefined) return assert.fail("no rerank offer")
    const own = offer.credential
    const run = (request: RerankRequest, credential: Credential = own) => offer.run(request, credential)
    return { double, offer, run }
  })

/** Checks that no request costs more than its quote, whatever its words are. */
export const quoteEnough = Effect.fnUntraced(function* (
  { offer, run }: Effect.Success<ReturnType<typeof offered>>,
  ...more: ReadonlyArray<RerankRequest>
) {
  const requests: ReadonlyArray<RerankRequest> = [
    request,
    { query: "! ".repeat(300), documents: texts(150, "! ".repeat(250)) },
    { query: "茶", documents: texts(200, "茶 ".repeat(200)) },
    ...more
  ]
  for (const request of requests) assert.isAtLeast(offer.quote(request), (yield* run(request)).charge.cost)
})

export const failureOf = (subject: Subject, scripted: Scripted, options?: Partial<Upstream>) =>
  Effect.gen(function* () {
    const { double, run } = yield* offered(subject, options)
    double.always(scripted)
    return yield* Effect.flip(run(request))
  })

export const rerankSuite = (subject: Subject) => {
  const { operation = "rerank" } = subject
  const bodyOf = (...results: ReadonlyArray<readonly [unknown, unknown]>) =>
    subject.bodyOf(results.map(([index, relevance_score]) => ({ index, relevance_score })))

  it.live("ranks with the credential of the call, and ignores fields it does not know", () =>
    Effect.gen(function* () {
      const { double, run } = yield* offered(subject)
      const { answer } = yield* run({ ...request, top_n: 2 })
      assert.deepStrictEqual(
        answer.results.map(({ index }) => index),
        [1, 2]
      )
      yield* run(request, { id: "tenant", secret: Redacted.make("tenant-key") })
      const [first, second] = double.state.requests
      assert.deepStrictEqual([first?.method, first?.url], ["POST", `${subject.path}/${operation}`])
      assert.deepStrictEqual(
        [first?.headers["authorization"], second?.headers["authorization"]],
        [`Bearer ${key}`, "Bearer tenant-key"]
      )
      assert.notMatch(second?.text ?? "", /top_/)
      double.next({ body: subject.bodyOf([{ index: 0, relevance_score: 0.5, more: { deep: true } }]) })
      assert.deepStrictEqual((yield* run(request)).answer.results, [{ index: 0, relevance_score: 0.5 }])
    }).pipe(undici)
  )

  it.live("returns at most top_n results, whatever the upstream returns", () =>
    Effect.gen(function* () {
      const { double, run } = yield* offered(subject)
      double.next({ body: bodyOf([2, 0.9], [0, 0.5], [1, 0.1]) })
      assert.deepStrictEqual((yield* run({ ...request, top_n: 1 })).answer.results, [
        { index: 2, relevance_score: 0.9 }
      ])
    }).pipe(undici)
  )

  it.live("maps failures, and keeps the status", () =>
    Effect.gen(function* () {
      const timeLimit = Duration.millis(100)
      const html = { "content-type": "text/html" }
      const failures: ReadonlyArray<readonly [Scripted, string, number | undefined, Partial<Upstream>?]> = [
        [{ status: 400, body: { message: "no query" } }, "InvalidRequest: no query", 400],
        [{ status: 401 }, "Unauthorized: the provider rejected its credentials", 401],
        [{ status: 500 }, "BadResponse: status 500", 500],
        [{ status: 503 }, "Overloaded: the provider is overloaded", 503],
        [{ headers: html, body: "<html>" }, "BadResponse: not JSON but text/html", 200],
        [
          { fault: "cut" },
          "ConnectionLost: the connection to the provider was lost before its answer was complete",
          undefined
        ],
        [
          { fault: "reset" },
          "ConnectionLost: the connection to the provider was lost before its answer was complete",
          undefined
        ],
        [
          { fault: "cutBody" },
          "ConnectionLost: the connection to the provider was lost before its answer was complete",
          200
        ],
        [{ fault: "hang" }, "Timeout: the provider did not answer in time", undefined, { timeLimit }],
        [{ fault: "hangBody" }, "Timeout: the provider did not answer in time", 200, { timeLimit }],
        [{ fault: "notHttp" }, "BadResponse: not HTTP", undefined],
        [{}, "Unavailable: the provider is not available", undefined, { baseUrl: "http://nowhere.invalid" }]
      ]
      for (const [scripted, expected, status, options] of failures) {
        const error = yield* failureOf(subject, scripted, options)
        assert.deepStrictEqual([reasonText(error.reason), error.status], [expected, status])
        assert.isUndefined(error.isPartlyBilled)
      }
      const { reason } = yield* failureOf(subject, { status: 429, headers: { "retry-after": "12" } })
      assert.deepStrictEqual("retryAfter" in reason && reason.retryAfter, Duration.seconds(12))
    }).pipe(undici)
  )

  it.live("reports a ranking that cannot be true", () =>
    Effect.gen(function* () {
      const bodies: ReadonlyArray<readonly [unknown, string]> = [
        [bodyOf([3, 0.5]), "an index without a document"],
        [bodyOf([1, 0.5], [1, 0.4]), "a document ranked twice"],
        [bodyOf([0, 0.4], [1, 0.3], [2, 0.2], [2, 0.1]), "more results than asked for"],
        [bodyOf([-1, 0.5]), `JSON of another form at ${indexPath(subject)}`],
        [bodyOf([0.5, 0.5]), `JSON of another form at ${indexPath(subject)}`],
        [bodyOf([0, "NaN"]), `JSON of another form at ${subject.scorePath}`]
      ]
      for (const [body, description] of bodies) {
        const error = yield* failureOf(subject, { body })
        assert.deepStrictEqual([reasonText(error.reason), error.status], [`BadResponse: ${description}`, 200])
      }
    }).pipe(undici)
  )

  it.live("sorts a ranking that is out of order, because it is billed", () =>
    Effect.gen(function* () {
      const { double, run } = yield* offered(subject)
      const body = bodyOf([0, 0.25], [2, 0.5], [1, 0.75])
      double.next({ body }, { body })
      assert.deepStrictEqual((yield* run(request)).answer.results, [
        { index: 1, relevance_score: 0.75 },
        { index: 2, relevance_score: 0.5 },
        { index: 0, relevance_score: 0.25 }
      ])
      assert.deepStrictEqual((yield* run({ ...request, top_n: 1 })).answer.results, [
        { index: 1, relevance_score: 0.75 }
      ])
    }).pipe(undici)
  )

  it.live("brings scores outside of 0 to 1 there, in their order, and alike with every top_n", () =>
    Effect.gen(function* () {
      const { double, run } = yield* offered(subject)
      const bodies = [
        bodyOf([1, 2.5], [0, 0.4], [2, -3]),
        // What an upstream returns that cuts the list itself.
        bodyOf([1, 2.5], [0, 0.4])
      ]
      double.next({ body: bodies[0] })
      const all = (yield* run(request)).answer.results
      assert.deepStrictEqual(
        all.map(({ index }) => index),
        [1, 0, 2]
      )
      assert.isTrue(all.every(({ relevance_score }) => relevance_score >= 0 && relevance_score <= 1))
      double.next({ body: bodies[0] })
      yield* run({ ...request, top_n: 2 })
      // An upstream that is asked for all of them returns all.
      const asksForAll = !/"top_[nk]"/.test(double.state.requests.at(-1)?.text ?? "")
      double.next({ body: bodies[asksForAll ? 0 : 1] })
      assert.deepStrictEqual((yield* run({ ...request, top_n: 2 })).answer.results, all.slice(0, 2))
    }).pipe(undici)
  )

  it.live("refuses images without a call", () =>
    Effect.gen(function* () {
      const { double, offer, run } = yield* offered(subject)
      const documents = [{ text: "a" }, { text: "b", image: "https://example.com/b.png" }]
      const { reason } = yield* Effect.flip(run({ ...request, documents }))
      assert.strictEqual(
        reasonText(reason),
        `InvalidRequest: documents.1.image: the model "${offer.publicId}" ranks text only`
      )
      assert.isFalse(offer.capabilities.image_documents)
      assert.deepStrictEqual(double.state.requests, [])
    }).pipe(undici)
  )

  it.live("refuses options that name a field of its own body, without a call", () =>
    Effect.gen(function* () {
      const { double, offer, run } = yield* offered(subject)
      yield* run({ ...request, top_n: 2 })
      // A documented option may replace what the adapter sends by default.
      const documented = offer.passthrough?.documented ?? []
      const sent = fieldsOf(double.state.requests[0]?.text ?? "").filter((name) => !documented.includes(name))
      assert.isNotEmpty(sent)
      for (const name of sent) {
        const { reason } = yield* Effect.flip(run({ ...request, options: { [name]: "x" } }))
        assert.include(reasonText(reason), `provider.options.${subject.adapter.name}.${name}`)
      }
      assert.lengthOf(double.state.requests, 1)
    }).pipe(undici)
  )

  it.live("shows the key in no log, error or span", () =>
    Effect.gen(function* () {
      const answers: ReadonlyArray<Scripted> = [
        {},
        { status: 401, body: { detail: `invalid key ${key}` } },
        { status: 400, body: { detail: `invalid ${key}` } },
        { fault: "cut" }
      ]
      for (const scripted of answers) {
        const text = yield* recorded(
          Effect.gen(function* () {
            const { double, offer, run } = yield* offered(subject)
            double.next(scripted)
            yield* Effect.logInfo("offer", offer)
            yield* run(request)
          }).pipe(Effect.scoped)
        )
        assert.include(text, `/${operation}`)
        assert.notInclude(text, key)
      }
    }).pipe(undici)
  )
}
