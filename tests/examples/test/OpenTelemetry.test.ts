// The spans that a collector receives from the SDK, and how the request refers to them.
import { Schema } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import { afterAll, beforeAll, expect, it } from "vitest"
import { run } from "./Example.ts"
import { type Proxy, startProxy } from "./Proxy.ts"

const Attributes = Schema.Array(
  Schema.Struct({
    key: Schema.String,
    value: Schema.Struct({
      stringValue: Schema.optionalKey(Schema.String),
      intValue: Schema.optionalKey(Schema.Number),
      doubleValue: Schema.optionalKey(Schema.Number),
      arrayValue: Schema.optionalKey(
        Schema.Struct({ values: Schema.Array(Schema.Struct({ stringValue: Schema.String })) })
      )
    })
  })
)

const Span = Schema.Struct({
  traceId: Schema.String,
  spanId: Schema.String,
  parentSpanId: Schema.optionalKey(Schema.String),
  name: Schema.String,
  attributes: Attributes
})

const Export = Schema.fromJsonString(
  Schema.Struct({
    resourceSpans: Schema.Array(
      Schema.Struct({
        resource: Schema.Struct({ attributes: Attributes }),
        scopeSpans: Schema.Array(Schema.Struct({ spans: Schema.Array(Span) }))
      })
    )
  })
)

const Traced = Schema.fromJsonString(
  Schema.Struct({ trace: Schema.Struct({ trace_id: Schema.String, parent_span_id: Schema.String }) })
)

const record = (attributes: typeof Attributes.Type) =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ??
        value.intValue ??
        value.doubleValue ??
        value.arrayValue?.values.map(({ stringValue }) => stringValue)
    ])
  )

let proxy: Proxy
let received: Promise<string>
const collector = createServer()

beforeAll(async () => {
  proxy = await startProxy()
  await once(collector.listen(0, "127.0.0.1"), "listening")
  received = new Promise((resolve) => {
    collector.on("request", (request, response) => {
      let text = ""
      request.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
      request.on("end", () => {
        response.writeHead(200, { "content-type": "application/json" }).end("{}")
        resolve(text)
      })
    })
  })
})

afterAll(async () => {
  await proxy?.stop()
  collector.close()
})

it("the SDK exports the spans of a call below the program's, and the request continues their trace", async () => {
  const address = collector.address()
  const program = run("opentelemetry", ["src/main.ts", "pears", "green apples", "ripe pears"], {
    MODEL_GATEWAY_BASE_URL: proxy.baseUrl,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`
  })
  await program.prints(/ripe pears\ngreen apples/)
  const { resourceSpans } = Schema.decodeSync(Export)(await received)
  expect(resourceSpans.map(({ resource }) => record(resource.attributes))).toMatchObject([{ "service.name": "shop" }])

  const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
  const [request, call, search] = ["POST", "gateway.rerank", "search"].map((name) =>
    spans.find((span) => span.name === name)
  )
  expect(spans).toHaveLength(3)
  expect(search).not.toHaveProperty("parentSpanId")
  expect(call?.parentSpanId).toBe(search?.spanId)
  expect(request?.parentSpanId).toBe(call?.spanId)
  expect(record(call?.attributes ?? [])).toMatchObject({
    "gen_ai.operation.name": "rerank",
    "gen_ai.request.model": "sandbox/bm25",
    "gen_ai.provider.name": "sandbox",
    "gen_ai.usage.cost": 0.001,
    "http.response.status_code": 200,
    "model_gateway.attempts": 1
  })

  const [exchange] = proxy.exchanges
  expect(record(call?.attributes ?? [])).toMatchObject({
    "http.response.header.x-request-id": [exchange?.responseHeaders["x-request-id"]]
  })
  expect(exchange?.headers["traceparent"]).toBe(`00-${search?.traceId}-${request?.spanId}-01`)
  expect(Schema.decodeSync(Traced)(exchange?.body ?? "").trace).toEqual({
    trace_id: search?.traceId,
    parent_span_id: search?.spanId
  })
})
