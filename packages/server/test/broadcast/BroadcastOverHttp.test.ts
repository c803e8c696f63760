/** The whole service, with destinations over real sockets. */
import { CreateResponse, ListResponse, TestResponse } from "@model-gateway/core/Destinations"
import * as Generations from "@model-gateway/core/Generations"
import { Timestamp } from "@model-gateway/core/Identifiers"
import type { TranscriptionRequest } from "@model-gateway/offers/Transcription"
import { expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Webhook } from "standardwebhooks"
import { keypad } from "../operations/TestAudio.ts"
import { inSet, post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { scripted } from "../TestProvider.ts"
import { makeUpstream, model } from "../video/TestVideo.ts"
import { decode } from "./otlp.ts"
import * as TestReceiver from "./TestReceiver.ts"

const destinations = "/api/v1/observability/destinations"

const created = Schema.decodeUnknownSync(Schema.fromJsonString(CreateResponse))

const messageOf = Schema.decodeUnknownSync(
  Schema.Struct({
    type: Schema.String,
    timestamp: Timestamp,
    data: Schema.StructWithRest(Schema.Struct({ key_hash: Schema.String, cost: Schema.Finite }), [
      Schema.Record(Schema.String, Schema.Json)
    ])
  })
)

const add = (body: object) =>
  Effect.gen(function* () {
    const { managementKey: key } = yield* TestGateway
    const answer = yield* post(destinations, { name: "n", ...body }, { key })
    expect(answer.status).toBe(201)
    return created(answer.text)
  })

const rerank = (model: string, more: object = {}) =>
  post("/api/v1/rerank", { model, query: "tea", documents: ["green tea", "coffee"], ...more })

it.live(
  "requests and failures arrive as spans and as signed webhooks, with the caller's user and trace [spec L11 L12 L13 L14 L15 L16 L18]",
  () =>
    Effect.gen(function* () {
      const collector = yield* TestReceiver.make()
      const hook = yield* TestReceiver.make()
      yield* add({
        type: "otel-collector",
        config: { endpoint: `${collector.url}/custom/traces`, headers: { Authorization: "Bearer collector-token" } }
      })
      const { signing_secret = "" } = yield* add({
        type: "webhook",
        broadcast_generation_identity: true,
        config: { url: `${hook.url}/in?team=a`, method: "PUT", headers: { "X-Team": "search" } }
      })
      const trace = {
        trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
        parent_span_id: "00f067aa0ba902b7",
        trace_name: "checkout",
        span_name: "rank offers",
        generation_name: "first pass",
        tenant: "acme"
      }
      expect((yield* rerank("sandbox/bm25", { user: "ada", trace })).status).toBe(200)
      expect((yield* rerank("sandbox/status-502")).status).toBe(502)

      const spans = yield* TestReceiver.until(() => {
        const all = collector.received.flatMap(({ body }) => decode(body))
        return all.filter(({ attributes }) => "model_gateway.event.id" in attributes).length === 2 ? all : undefined
      })
      expect(collector.received[0]).toMatchObject({
        path: "/custom/traces",
        method: "POST",
        headers: { "content-type": "application/x-protobuf", authorization: "Bearer collector-token" }
      })
      const ranked = spans.find(({ name }) => name === "rank offers")
      expect(ranked).toMatchObject({
        traceId: trace.trace_id,
        parentSpanId: trace.parent_span_id,
        status: "STATUS_CODE_OK",
        attributes: {
          "gen_ai.operation.name": "rerank",
          "gen_ai.request.model": "sandbox/bm25",
          "gen_ai.provider.name": "sandbox",
          "user.id": "ada",
          "trace.name": "checkout",
          "trace.metadata.tenant": "acme"
        }
      })
      expect(spans.filter(({ parentSpanId }) => parentSpanId === ranked?.spanId)).toMatchObject([
        { name: "first pass" }
      ])
      const failed = spans.find(({ name }) => name === "rerank sandbox/status-502")
      expect(failed).toMatchObject({ status: "STATUS_CODE_ERROR", attributes: { "error.type": "502" } })
      expect(
        spans.some(({ parentSpanId, status }) => parentSpanId === failed?.spanId && status === "STATUS_CODE_ERROR")
      ).toBe(true)

      yield* TestReceiver.until(() => (hook.received.length >= 2 ? true : undefined))
      const { workspace } = yield* TestGateway
      const verified = hook.received.map(({ body, headers, method, path }) => {
        expect([method, path, headers["x-team"]]).toEqual(["PUT", "/in?team=a", "search"])
        const signed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
        return { id: headers["webhook-id"], message: messageOf(new Webhook(signing_secret).verify(body, signed)) }
      })
      const byType = new Map(verified.map(({ message }) => [message.type, message]))
      expect(byType.get("rerank.completed")?.data).toMatchObject({
        model: "sandbox/bm25",
        workspace_id: workspace.id,
        user: "ada",
        trace,
        attempts: [{ provider: "sandbox", outcome: "Success" }]
      })
      expect(byType.get("rerank.completed")?.data.key_hash).toMatch(/^[\da-f]{64}$/)
      expect(byType.get("rerank.failed")?.data).toMatchObject({ error_status: 502, cost: 0 })
      expect(new Set(verified.map(({ id }) => id)).size).toBe(2)

      const metrics = yield* (yield* TestGateway).ask("/metrics", { key: null })
      expect(metrics.text).toMatch(
        /model_gateway_broadcast_events_total\{destination="webhook",outcome="delivered"\} 2/
      )
    }).pipe(Effect.scoped, Effect.provide(layer({ outboundExemptHosts: ["127.0.0.1"] })))
)

const listed = Schema.decodeUnknownSync(Schema.fromJsonString(ListResponse))

const tested = Schema.decodeUnknownSync(Schema.fromJsonString(TestResponse), { onExcessProperty: "error" })

it.live("a test sends one real event and says what became of it, and the list says how each destination is doing", () =>
  Effect.gen(function* () {
    const { ask, managementKey: key, ordinaryKey } = yield* TestGateway
    const statuses = [401, 200]
    const collector = yield* TestReceiver.make(() => statuses.shift() ?? 200)
    const hook = yield* TestReceiver.make(() => 503)
    const rules = { groups: [{ rules: [{ field: "model", operator: "equals", value: "none" }] }] }
    const spans = yield* add({
      type: "otel-collector",
      enabled: false,
      filter_rules: rules,
      config: { endpoint: collector.url, headers: { Authorization: "Bearer collector-token" } }
    })
    const signed = yield* add({ type: "webhook", config: { url: hook.url } })
    const test = (id: string) =>
      Effect.map(ask(`${destinations}/${id}/test`, { key, method: "POST" }), (answer) => {
        inSet("testDestination", answer)
        return tested(answer.text).data
      })

    expect(yield* test(spans.data.id)).toMatchObject({ accepted: false, error: "status 401" })
    const accepted = yield* test(spans.data.id.toUpperCase())
    expect(accepted).toMatchObject({ accepted: true, error: null })
    expect(accepted.event_id).toMatch(/^evt_test_[\da-f]{32}$/)
    expect(collector.received.map(({ headers }) => headers.authorization)).toEqual(
      Array.from({ length: 2 }, () => "Bearer collector-token")
    )
    expect(decode(collector.received[1]?.body ?? new Uint8Array()).map(({ attributes }) => attributes)).toMatchObject([
      { "model_gateway.event.id": accepted.event_id, "gen_ai.request.model": "model-gateway/test" }
    ])

    const refused = yield* test(signed.data.id)
    expect(refused).toMatchObject({ accepted: false, error: "status 503" })
    const [request] = hook.received
    const headers = Object.fromEntries(
      Object.entries(request?.headers ?? {}).map(([name, value]) => [name, String(value)])
    )
    const message: unknown = new Webhook(signed.signing_secret ?? "").verify(request?.body ?? "", headers)
    expect(message).toMatchObject({ type: "rerank.completed", data: { id: refused.event_id, cost: 0 } })

    // A test is no event: it changes nothing of what the list says.
    const list = Effect.map(ask(destinations, { key }), ({ text }) => listed(text).data)
    const never = { last_delivered_at: null, lag_seconds: 0, dropped: 0, last_error: null, last_error_at: null }
    expect((yield* list).map(({ delivery }) => delivery)).toEqual([never, never])
    expect((yield* rerank("sandbox/bm25")).status).toBe(200)
    const failing = yield* list.pipe(
      Effect.map((found) => found.find(({ type }) => type === "webhook")?.delivery),
      Effect.repeat({ until: (delivery) => (delivery?.lag_seconds ?? 0) > 0 })
    )
    expect(failing).toMatchObject({ last_delivered_at: null, dropped: 0, last_error: "status 503" })
    expect((yield* ask(`${destinations}/${spans.data.id}/test`, { key: ordinaryKey, method: "POST" })).status).toBe(403)
    const unknown = `${destinations}/6f5ebeb1-4ff8-4235-a8b3-44a3f6d926cd/test`
    expect((yield* ask(unknown, { key, method: "POST" })).status).toBe(404)
  }).pipe(Effect.scoped, Effect.provide(layer({ outboundExemptHosts: ["127.0.0.1"] })))
)

const sentEvent = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ type: Schema.String, data: Schema.Record(Schema.String, Schema.Json) }))
)

const logged = Schema.decodeUnknownSync(Schema.fromJsonString(Generations.ListResponse))

it.live(
  "transcriptions and videos arrive like reranks, with user and trace, which no provider gets [spec M20 M21 N43 N44]",
  () => {
    const transcribed: Array<TranscriptionRequest> = []
    const film = makeUpstream()
    const ears = scripted({
      name: "ears",
      transcribe: (request) =>
        Effect.sync(() => {
          transcribed.push(request)
          return { text: "1", duration: 0.2, segments: [] }
        })
    })
    return Effect.gen(function* () {
      const collector = yield* TestReceiver.make()
      const hook = yield* TestReceiver.make()
      yield* add({ type: "otel-collector", config: { endpoint: collector.url } })
      yield* add({ type: "webhook", config: { url: hook.url } })
      const user = "end-user-of-the-caller"
      const trace = {
        trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
        parent_span_id: "00f067aa0ba902b7",
        trace_name: "onboarding",
        span_name: "the step",
        generation_name: "the attempt",
        tenant: "acme"
      }
      const input_audio = { data: keypad("1").toString("base64"), format: "wav" }
      const asked = [
        ["/api/v1/audio/transcriptions", { model: "test/hear", input_audio }, 200, "transcription.completed"],
        ["/api/v1/videos", { model: model.id, prompt: "a harbor" }, 202, "video.completed"]
      ] as const
      for (const [path, body, status] of asked) {
        expect((yield* post(path, { ...body, user, trace })).status).toBe(status)
      }

      yield* TestReceiver.until(() => (hook.received.length >= asked.length ? true : undefined))
      const sent = hook.received.map(({ body }) => sentEvent(body.toString()))
      for (const [, { model }, , type] of asked) {
        expect(sent.find((event) => event.type === type)).toMatchObject({ data: { model, user, trace } })
      }
      const spans = yield* TestReceiver.until(() => {
        const all = collector.received.flatMap(({ body }) => decode(body))
        return all.filter(({ name }) => name === trace.span_name).length < asked.length ? undefined : all
      })
      for (const [, { model }] of asked) {
        const span = spans.find(
          ({ attributes, name }) => name === trace.span_name && attributes["gen_ai.request.model"] === model
        )
        expect(span).toMatchObject({
          traceId: trace.trace_id,
          parentSpanId: trace.parent_span_id,
          attributes: { "user.id": user, "trace.name": "onboarding", "trace.metadata.tenant": "acme" }
        })
        const attempts = spans.filter(({ parentSpanId }) => parentSpanId === span?.spanId)
        expect(attempts.map(({ name }) => name)).toContain(trace.generation_name)
      }

      const { ask, managementKey: key } = yield* TestGateway
      const { data } = logged((yield* ask(`/api/v1/generations?user=${user}`, { key })).text)
      expect(data.map(({ external_user, model }) => [model, external_user])).toEqual([
        [model.id, user],
        ["test/hear", user]
      ])
      expect([transcribed.length, film.submissions.length]).toEqual([1, 1])
      expect(JSON.stringify([transcribed, film.submissions])).not.toMatch(
        /end-user-of-the-caller|onboarding|acme|the step/
      )
    }).pipe(Effect.scoped, Effect.provide(layer({ outboundExemptHosts: ["127.0.0.1"] }, [ears, film.offers])))
  }
)
