import { assert, describe, it } from "@effect/vitest"
import { Gateway } from "@model-gateway/core"
import { NodeGateway } from "@model-gateway/node"
import { Context, Effect, Layer, Metric, Redacted, Schema, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { Otlp } from "effect/observability"
import { readFileSync } from "node:fs"
import type { IncomingMessage, ServerResponse } from "node:http"
import { expect } from "vitest"
import { Peer, layer as layerPeer } from "./support/server.ts"

const token = "mg_sk_very-secret"

const query = "where is the treasure"

const ranking = {
  id: "gen_1",
  model: "served/model",
  provider: "Some Provider",
  results: [{ index: 0, relevance_score: 1, document: { text: "under the palm" } }],
  usage: { cost: 0.25 }
}

type Handler = (request: IncomingMessage, response: ServerResponse, number: number) => void

const serve = Effect.fnUntraced(function* (answer: Handler) {
  let number = 0
  const peer = yield* Layer.build(layerPeer((request, response) => answer(request, response, ++number)))
  return Context.get(peer, Peer).origin
})

const Value = Schema.Struct({
  stringValue: Schema.optionalKey(Schema.String),
  intValue: Schema.optionalKey(Schema.Union([Schema.Number, Schema.String])),
  doubleValue: Schema.optionalKey(Schema.Number),
  arrayValue: Schema.optionalKey(Schema.Struct({ values: Schema.Array(Schema.Struct({ stringValue: Schema.String })) }))
})

const Attributes = Schema.Array(Schema.Struct({ key: Schema.String, value: Value }))

const Span = Schema.Struct({
  traceId: Schema.String,
  spanId: Schema.String,
  parentSpanId: Schema.optionalKey(Schema.String),
  name: Schema.String,
  kind: Schema.Number,
  startTimeUnixNano: Schema.String,
  endTimeUnixNano: Schema.String,
  attributes: Attributes,
  events: Schema.Array(Schema.Struct({ name: Schema.String, attributes: Attributes })),
  status: Schema.Struct({ code: Schema.Number, message: Schema.optionalKey(Schema.String) })
})

const Traces = Schema.fromJsonString(
  Schema.Struct({
    resourceSpans: Schema.Array(
      Schema.Struct({ scopeSpans: Schema.Array(Schema.Struct({ spans: Schema.Array(Span) })) })
    )
  })
)

const Points = Schema.Struct({
  dataPoints: Schema.Array(
    Schema.Struct({
      attributes: Attributes,
      asDouble: Schema.optionalKey(Schema.Number),
      count: Schema.optionalKey(Schema.Number)
    })
  )
})

const Metrics = Schema.fromJsonString(
  Schema.Struct({
    resourceMetrics: Schema.Array(
      Schema.Struct({
        scopeMetrics: Schema.Array(
          Schema.Struct({
            metrics: Schema.Array(
              Schema.Struct({
                name: Schema.String,
                unit: Schema.String,
                sum: Schema.optionalKey(Points),
                histogram: Schema.optionalKey(Points)
              })
            )
          })
        )
      })
    )
  })
)

const record = (attributes: typeof Attributes.Type) =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ??
        value.doubleValue ??
        value.arrayValue?.values.map(({ stringValue }) => stringValue) ??
        Number(value.intValue)
    ])
  )

/**
 * Runs a program with a client of a gateway, and exports what it records to a collector. Returns
 * what the collector received.
 */
const collect = Effect.fnUntraced(function* <E>(
  options: NodeGateway.PlatformOptions & { readonly gateway: Handler },
  program: Effect.Effect<unknown, E, Gateway.Gateway>
) {
  const bodies: Array<{ readonly path: string; readonly text: string }> = []
  const collector = yield* serve((request, response) => {
    let text = ""
    request.setEncoding("utf8")
    request.on("data", (chunk: string) => (text += chunk))
    request.on("end", () => {
      bodies.push({ path: request.url ?? "", text })
      response.writeHead(200, { "content-type": "application/json" }).end("{}")
    })
  })
  const origin = yield* serve((request, response, number) => {
    request.resume().on("end", () => options.gateway(request, response, number))
  })
  yield* program.pipe(
    Effect.provide(
      Layer.mergeAll(
        NodeGateway.layer({ ...options, baseUrl: `${origin}/api/v1`, credential: Redacted.make(token) }),
        Otlp.layerJson({ baseUrl: collector, resource: { serviceName: "shop" }, shutdownTimeout: "1 minute" }).pipe(
          Layer.provide(FetchHttpClient.layer)
        )
      )
    ),
    Effect.provideService(Metric.MetricRegistry, new Map())
  )
  const textOf = (path: string) => bodies.filter((body) => body.path === path).map(({ text }) => text)
  const spans = textOf("/v1/traces").map((text) => Schema.decodeSync(Traces)(text))
  const metrics = textOf("/v1/metrics").map((text) => Schema.decodeSync(Metrics)(text))
  return {
    port: Number(new URL(origin).port),
    text: bodies.map(({ text }) => text).join("\n"),
    spans: spans
      .flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
      )
      .map((span) => ({ ...span, attributes: record(span.attributes) })),
    metrics: (metrics.at(-1)?.resourceMetrics ?? []).flatMap(({ scopeMetrics }) =>
      scopeMetrics.flatMap(({ metrics }) =>
        metrics.flatMap(({ histogram, name, sum, unit }) =>
          (sum ?? histogram)?.dataPoints.map(({ asDouble, attributes, count }) => ({
            name,
            unit,
            value: asDouble ?? count,
            attributes: record(attributes)
          }))
        )
      )
    )
  }
}, Effect.scoped)

const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
}

const error = (response: ServerResponse, status: number): void =>
  json(response, status, { error: { code: status, message: `cannot find ${query}` } }, { "retry-after": "0" })

const rerank = Effect.flatMap(Gateway.Gateway, (gateway) =>
  gateway.rerank({ model: "sandbox/bm25", query, documents: ["under the palm"] })
)

describe("telemetry", () => {
  it.live("an OTLP collector gets a span for each call and request, with all that identifies them", () =>
    Effect.gen(function* () {
      const { port, spans, text } = yield* collect(
        {
          gateway: (_, response, number) => {
            if (number === 1) return error(response, 503)
            if (number === 2) return response.destroy()
            if (number === 3) return json(response, 200, ranking, { "x-request-id": "req_1" })
            error(response, 404)
          }
        },
        Effect.gen(function* () {
          yield* rerank
          assert.strictEqual((yield* Effect.flip(rerank))._tag, "NotFound")
        }).pipe(Effect.withSpan("checkout"))
      )
      const [checkout] = spans.filter(({ name }) => name === "checkout")
      const calls = spans.filter(({ name }) => name === "gateway.rerank")
      const requests = spans.filter(({ name }) => name === "POST")
      const [ranked, failed] = calls
      assert.strictEqual(spans.length, 7)
      assert.strictEqual(new Set(spans.map(({ traceId }) => traceId)).size, 1)
      // Kind 3 is a client span, status 1 a success, status 2 an error.
      expect(calls).toMatchObject([
        { kind: 3, parentSpanId: checkout?.spanId, status: { code: 1 } },
        { kind: 3, parentSpanId: checkout?.spanId, status: { code: 2, message: "rerank failed: NotFound" } }
      ])
      const common = {
        "gen_ai.operation.name": "rerank",
        "gen_ai.request.model": "sandbox/bm25",
        "server.address": "127.0.0.1",
        "server.port": port
      }
      expect(ranked?.attributes).toEqual({
        ...common,
        "gen_ai.provider.name": "Some Provider",
        "gen_ai.response.id": "gen_1",
        "gen_ai.response.model": "served/model",
        "gen_ai.usage.cost": 0.25,
        "http.request.resend_count": 2,
        "http.response.header.x-request-id": ["req_1"],
        "http.response.status_code": 200,
        "model_gateway.attempts": 3
      })
      expect(ranked?.events.map(({ attributes, name }) => [name, record(attributes)["reason"]])).toEqual([
        ["retry", "503"],
        ["retry", "transport"]
      ])
      expect(failed?.attributes).toEqual({
        ...common,
        "error.type": "NotFound",
        "gen_ai.provider.name": "model_gateway",
        "http.response.status_code": 404,
        "model_gateway.attempts": 1
      })
      expect(
        requests.map(({ attributes, parentSpanId }) => [
          parentSpanId,
          attributes["model_gateway.attempt.number"],
          attributes["http.request.resend_count"],
          attributes["http.response.status_code"]
        ])
      ).toEqual([
        [ranked?.spanId, 1, undefined, 503],
        [ranked?.spanId, 2, 1, undefined],
        [ranked?.spanId, 3, 2, 200],
        [failed?.spanId, 1, undefined, 404]
      ])
      for (const secret of [token, query, "under the palm", "uthorization", "dempotency"]) {
        assert.notInclude(text, secret)
      }
    })
  )

  it.live("an OTLP collector gets the duration, attempts and cost of calls", () =>
    Effect.gen(function* () {
      const { metrics } = yield* collect(
        { gateway: (_, response, number) => (number === 1 ? error(response, 503) : json(response, 200, ranking)) },
        Effect.andThen(rerank, rerank)
      )
      const labels = {
        "gen_ai.operation.name": "rerank",
        "gen_ai.provider.name": "model_gateway",
        "gen_ai.request.model": "sandbox/bm25"
      }
      expect(metrics).toEqual([
        {
          name: "gen_ai.client.operation.duration",
          unit: "s",
          value: 2,
          attributes: { ...labels, unit: "s" }
        },
        {
          name: "model_gateway.client.attempts",
          unit: "{request}",
          value: 3,
          attributes: { ...labels, unit: "{request}" }
        },
        {
          name: "model_gateway.client.cost",
          unit: "{credit}",
          value: 0.5,
          attributes: { ...labels, unit: "{credit}" }
        }
      ])
    })
  )

  it.live("the span of a video ends with its last byte", () =>
    Effect.gen(function* () {
      const { spans } = yield* collect(
        {
          gateway: (_, response) => {
            response.writeHead(200, { "content-type": "video/mp4", "content-length": 10 }).write("01234")
            setTimeout(() => response.end("56789"), 50)
          }
        },
        Effect.flatMap(Gateway.Gateway, (gateway) => Stream.runDrain(gateway.videoContent("vid_1")))
      )
      const [video] = spans.filter(({ name }) => name === "gateway.videoContent")
      const [request] = spans.filter(({ name }) => name === "GET")
      assert.strictEqual(request?.parentSpanId, video?.spanId)
      const milliseconds = Number(BigInt(video?.endTimeUnixNano ?? 0) - BigInt(video?.startTimeUnixNano ?? 0)) / 1e6
      assert.isAtLeast(milliseconds, 45)
    })
  )

  it.live("`telemetry: false` switches spans of calls, and metrics, off", () =>
    Effect.gen(function* () {
      const { metrics, spans } = yield* collect(
        { telemetry: false, gateway: (_, response) => json(response, 200, ranking) },
        rerank
      )
      expect(spans.map(({ name }) => name)).toEqual(["POST"])
      expect(metrics).toEqual([])
    })
  )
})

describe("User-Agent", () => {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
  const { version } = Schema.decodeUnknownSync(Schema.Struct({ version: Schema.String }))(manifest)

  it.live("names the client and its version, unless the caller's transformClient sets another one", () =>
    Effect.gen(function* () {
      const seen: Array<string | undefined> = []
      const origin = yield* serve((request, response) => {
        seen.push(request.headers["user-agent"])
        json(response, 200, ranking)
      })
      const options = { baseUrl: `${origin}/api/v1`, credential: Redacted.make(token) }
      const transformClient = HttpClient.mapRequest(HttpClientRequest.setHeader("user-agent", "shop/1"))
      yield* rerank.pipe(Effect.provide(NodeGateway.layer(options)))
      yield* rerank.pipe(Effect.provide(NodeGateway.layer({ ...options, transformClient })))
      assert.deepStrictEqual(seen, [`model-gateway-node/${version}`, "shop/1"])
    }).pipe(Effect.scoped)
  )

  // After a new version: vitest run test/Telemetry.test.ts --update
  it("has the version of package.json", () =>
    expect(
      `/** This package's version: bundled programs have no package.json. A test writes it. */\nexport const version = "${version}"\n`
    ).toMatchFileSnapshot("../src/internal/version.ts"))
})
