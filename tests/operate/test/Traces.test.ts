/**
 * One trace through the caller, the executable, its provider, the worker of a video job and its
 * webhook, as a collector receives it.
 */
import { startGateway, type Gateway } from "@model-gateway/test-services/GatewayProcess"
import { Schema } from "effect"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer, type IncomingHttpHeaders, type RequestListener } from "node:http"
import { createServer as createSecureServer } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"

const Attributes = Schema.Array(
  Schema.Struct({
    key: Schema.String,
    value: Schema.Struct({
      stringValue: Schema.optionalKey(Schema.String),
      intValue: Schema.optionalKey(Schema.Union([Schema.Number, Schema.String]))
    })
  })
)

const Span = Schema.Struct({
  traceId: Schema.String,
  spanId: Schema.String,
  parentSpanId: Schema.optionalKey(Schema.String),
  name: Schema.String,
  attributes: Attributes,
  status: Schema.Struct({ code: Schema.Number, message: Schema.optionalKey(Schema.String) })
})

type Span = typeof Span.Type

const decodeExport = Schema.decodeSync(
  Schema.fromJsonString(
    Schema.Struct({
      resourceSpans: Schema.Array(
        Schema.Struct({ scopeSpans: Schema.Array(Schema.Struct({ spans: Schema.Array(Span) })) })
      )
    })
  )
)

interface Got {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const fixture = (name: string) =>
  join(import.meta.dirname, "..", "..", "..", "apps", "gateway", "test", "fixtures", name)

/** The certificate of `localhost`. */
const certificate = fixture("receiver.crt")

/** A server that keeps what it gets and answers all of it. */
const listen = async (answer: (got: Got) => { readonly status: number; readonly body: string }, isSecure = false) => {
  const got: Array<Got> = []
  const serve: RequestListener = (request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk))
    request.on("end", () => {
      const one = { path: request.url ?? "", headers: request.headers, body }
      got.push(one)
      const { body: text, status } = answer(one)
      response.writeHead(status, { "content-type": "application/json" }).end(text)
    })
  }
  const server = isSecure
    ? createSecureServer({ cert: readFileSync(certificate), key: readFileSync(fixture("receiver.key")) }, serve)
    : createServer(serve)
  await once(server.listen(0, "127.0.0.1"), "listening")
  const address = server.address()
  const port = typeof address === "object" ? (address?.port ?? 0) : 0
  return {
    got,
    origin: isSecure ? `https://localhost:${port}` : `http://127.0.0.1:${port}`,
    close: () => server.close()
  }
}

const folder = mkdtempSync(join(tmpdir(), "traces-"))
const secret = "key-of-cohere-in-a-test"
let collector: Awaited<ReturnType<typeof listen>>
let upstream: Awaited<ReturnType<typeof listen>>
let receiver: Awaited<ReturnType<typeof listen>>
let gateway: Gateway

beforeAll(async () => {
  collector = await listen(() => ({ status: 200, body: "{}" }))
  receiver = await listen(() => ({ status: 200, body: "" }), true)
  upstream = await listen(({ body }) =>
    body.includes("a question of the caller that fails")
      ? { status: 400, body: JSON.stringify({ message: "the query is: a question of the caller that fails" }) }
      : {
          status: 200,
          body: JSON.stringify({
            id: "1",
            results: [{ index: 0, relevance_score: 0.5 }],
            meta: { billed_units: { search_units: 1 } }
          })
        }
  )
  gateway = await startGateway(folder, {
    COHERE_API_KEY: secret,
    COHERE_BASE_URL: upstream.origin,
    MODEL_GATEWAY_OUTBOUND_EXEMPT_HOSTS: "localhost",
    NODE_EXTRA_CA_CERTS: certificate,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20for-the-collector",
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test%20bench"
  })
})

afterAll(async () => {
  await gateway?.stop()
  for (const server of [collector, upstream, receiver]) server?.close()
  rmSync(folder, { recursive: true, force: true })
})

const ask = (path: string, traceId: string, body?: object, headers: Record<string, string> = {}) =>
  fetch(`${gateway.origin}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${gateway.key}`,
      "content-type": "application/json",
      traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
      ...headers
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })

const spans = (traceId: string): ReadonlyArray<Span> =>
  collector.got
    .flatMap(({ body }) => {
      const { resourceSpans } = decodeExport(body)
      return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
    })
    .filter((span) => span.traceId === traceId)

/** The spans of a trace, once one with this name has arrived. */
const traceWith = async (traceId: string, name: string) => {
  for (let tries = 0; tries < 300; tries++) {
    if (spans(traceId).some((span) => span.name === name)) break
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return spans(traceId)
}

const attributesOf = (span: Span | undefined) =>
  Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, value.stringValue ?? value.intValue]))

/** The names from a span up to the span of the caller. */
const pathOf = (all: ReadonlyArray<Span>, name: string): ReadonlyArray<string> => {
  const names: Array<string> = []
  let at = all.find((span) => span.name === name)
  while (at !== undefined) {
    names.push(at.name)
    const { parentSpanId } = at
    if (parentSpanId === "00f067aa0ba902b7") return [...names, "the caller"]
    at = all.find(({ spanId }) => spanId === parentSpanId)
  }
  return names
}

const query = {
  model: "cohere/rerank-v3.5",
  query: "a question of the caller",
  documents: ["a document of the caller"]
}

it("a request is a span below its caller's, and its call of the provider below it", async () => {
  const traceId = "11111111111111111111111111111111"
  const answer = await ask("/api/v1/rerank?secret=in-the-query", traceId, query, { "x-request-id": "req_of_a_test" })
  expect(answer.status).toBe(200)
  const all = await traceWith(traceId, "rerank")
  const calls = all.filter(({ name }) => name === "POST")
  expect(calls).toHaveLength(1)
  expect(pathOf(all, "POST")).toEqual(["POST", "attempt", "rerank", "the caller"])
  expect(attributesOf(all.find(({ name }) => name === "rerank"))).toMatchObject({
    "http.response.status_code": 200,
    "model_gateway.request.id": "req_of_a_test"
  })
  expect(attributesOf(all.find(({ name }) => name === "attempt"))).toEqual({
    "gen_ai.operation.name": "rerank",
    "gen_ai.provider.name": "cohere",
    "gen_ai.request.model": "cohere/rerank-v3.5"
  })
  // The provider learns nothing of it.
  expect(upstream.got.map(({ headers }) => headers["traceparent"])).toEqual([undefined])
  expect(collector.got[0]?.headers["authorization"]).toBe("Bearer for-the-collector")
  expect(collector.got[0]?.body).toContain("test bench")
})

it("a failure is named by its kind, without what the provider says of it", async () => {
  const traceId = "22222222222222222222222222222222"
  const answer = await ask("/api/v1/rerank", traceId, { ...query, query: "a question of the caller that fails" })
  expect(answer.status).toBeGreaterThanOrEqual(400)
  const all = await traceWith(traceId, "rerank")
  expect(all.find(({ name }) => name === "attempt")?.status).toEqual({ code: 2, message: "ProviderError" })
})

it("the worker of a video job and its webhook continue the trace of the submission", async () => {
  const traceId = "33333333333333333333333333333333"
  const film = { model: "sandbox/title-card", prompt: "a prompt of the caller", duration: 1, resolution: "480p" }
  const submitted = await ask("/api/v1/videos", traceId, { ...film, callback_url: `${receiver.origin}/secret-path` })
  expect([submitted.status, await submitted.text()]).toEqual([202, expect.any(String)])
  const all = await traceWith(traceId, "webhook")
  expect(pathOf(all, "video job: pending")).toEqual([
    "video job: pending",
    "VideoJobs.submit",
    "submitVideo",
    "the caller"
  ])
  expect(all.filter(({ name }) => name === "video job: in_progress").length).toBeGreaterThan(0)
  const webhook = pathOf(all, "webhook")
  expect(webhook[0]).toBe("webhook")
  expect(webhook).toContain("video job: in_progress")
  expect(webhook.at(-1)).toBe("the caller")
  const sent = all.find(({ name }) => name === "webhook")
  expect(receiver.got.map(({ headers }) => headers["traceparent"])).toEqual([`00-${traceId}-${sent?.spanId}-01`])
  expect(attributesOf(sent)).toMatchObject({
    "http.response.status_code": 200,
    "model_gateway.event.type": "video.completed"
  })
})

it("health checks, metrics and background work have no spans, and a trace that the caller does not send has none", async () => {
  const traceId = "44444444444444444444444444444444"
  for (const path of ["/healthz", "/readyz", "/metrics", "/docs"]) await ask(path, traceId)
  await ask("/api/v1/key", traceId, undefined, { traceparent: `00-${traceId}-00f067aa0ba902b7-00` })
  const last = "55555555555555555555555555555555"
  await ask("/api/v1/key", last)
  await traceWith(last, "currentKey")
  expect(spans(traceId)).toEqual([])
  const known = [1, 2, 3, 5].map((digit) => String(digit).repeat(32))
  const others = collector.got.flatMap(({ body }) => body.match(/"traceId":"\w+"/g) ?? [])
  expect(others.filter((text) => !known.some((id) => text.includes(id)))).toEqual([])
})

it("no span has a key, a URL, an address or a text of the caller", () => {
  const all = collector.got.map(({ body }) => body).join("\n")
  expect(all).toContain("rerank")
  for (const text of [
    secret,
    gateway.key,
    "of the caller",
    "in-the-query",
    "secret-path",
    upstream.origin,
    "user_agent",
    "client.address",
    "node_modules"
  ]) {
    expect([text, all.includes(text)]).toEqual([text, false])
  }
})
