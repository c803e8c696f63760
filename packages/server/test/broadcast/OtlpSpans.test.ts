import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import type { Options } from "../../src/broadcast/Destination.ts"
import * as OtlpSpans from "../../src/broadcast/OtlpSpans.ts"
import type { Event } from "../../src/events/Event.ts"
import { decode } from "./otlp.ts"
import { event, options } from "./TestEvent.ts"

/** The spans as a decoder of the protocol reads them. */
const spansOf = (events: ReadonlyArray<Event>, change?: Partial<Options>) =>
  Effect.map(OtlpSerialization.OtlpSerialization, ({ traces }) => {
    const body = traces(OtlpSpans.make(events, options(change)))
    if (body._tag !== "Uint8Array") throw new Error("not bytes")
    expect(body.contentType).toBe("application/x-protobuf")
    return decode(body.body)
  }).pipe(Effect.provide(OtlpSerialization.layerProtobuf))

const failed = event({
  id: "evt_2",
  type: "video.failed",
  model: "runway/gen4",
  upstream_model: null,
  cost_micro: 0,
  usage: {},
  attempts: [],
  job: { id: "v_1", polling_url: "/api/v1/videos/v_1", status: "failed", error: "The prompt was moderated" }
})

describe("an event", () => {
  it.effect("is a span with the attributes of generative AI, its times and its status", () =>
    Effect.gen(function* () {
      const [span] = yield* spansOf([event()])
      expect(span).toMatchObject({
        service: "model-gateway",
        parentSpanId: "",
        name: "rerank cohere/rerank-v3.5",
        kind: "SPAN_KIND_CLIENT",
        start: "1800000000000000000",
        end: "1800000000500000000",
        status: "STATUS_CODE_OK"
      })
      expect(span?.traceId).toMatch(/^[\da-f]{32}$/)
      expect(span?.spanId).toMatch(/^[\da-f]{16}$/)
      expect(span?.attributes).toEqual({
        "gen_ai.operation.name": "rerank",
        "gen_ai.provider.name": "cohere",
        "gen_ai.request.model": "cohere/rerank-v3.5",
        "gen_ai.response.model": "rerank-v3.5",
        "gen_ai.response.id": "gen_1",
        "gen_ai.usage.input_tokens": "40",
        "gen_ai.usage.cost": 0.002,
        "model_gateway.input.documents": "3",
        "model_gateway.usage.search_units": "1",
        "model_gateway.usage.total_tokens": "40",
        "model_gateway.event.id": "evt_1",
        "model_gateway.event.type": "rerank.completed",
        "model_gateway.workspace.id": "w",
        "user.id": "ada"
      })
    })
  )

  it.effect("has who was billed, the key and the callback URL only if the destination asks for them", () =>
    Effect.gen(function* () {
      const [span] = yield* spansOf([event()], {
        broadcast_generation_cost: true,
        broadcast_generation_identity: true,
        broadcast_generation_request_context: true
      })
      expect(span?.attributes).toMatchObject({
        "model_gateway.is_byok": true,
        "model_gateway.key.hash": "hash-of-the-key",
        "model_gateway.callback_url": "https://caller.example/done"
      })
    })
  )

  it.effect("has the same ids each time, and other ids than other events", () =>
    Effect.gen(function* () {
      const [first] = yield* spansOf([event()])
      const [again, attempt, second] = yield* spansOf([event(), event({ id: "evt_2" })])
      expect(again).toEqual(first)
      expect(new Set([first?.spanId, attempt?.spanId, second?.spanId]).size).toBe(3)
      expect(second?.traceId).not.toBe(first?.traceId)
    })
  )

  it.effect("that failed is a span with an error", () =>
    Effect.gen(function* () {
      const [span] = yield* spansOf([failed])
      expect(span).toMatchObject({
        name: "generate_content runway/gen4",
        status: "STATUS_CODE_ERROR",
        message: "The prompt was moderated",
        attributes: { "error.type": "failed", "gen_ai.usage.cost": "0", "model_gateway.job.id": "v_1" }
      })
    })
  )

  it.effect("of a failed request has the status that the caller got", () =>
    Effect.gen(function* () {
      const attempts = [{ provider: "cohere", outcome: "Timeout", seconds: 20, billed: "unknown" }] as const
      const [span, attempt] = yield* spansOf([
        event({ type: "rerank.failed", error_status: 524, upstream_model: null, cost_micro: 0, usage: {}, attempts })
      ])
      expect(span).toMatchObject({ status: "STATUS_CODE_ERROR", attributes: { "error.type": "524" } })
      expect(attempt).toMatchObject({ status: "STATUS_CODE_ERROR", attributes: { "error.type": "Timeout" } })
    })
  )

  it.effect("of a cancelled job has no error and no success", () =>
    Effect.gen(function* () {
      const [span] = yield* spansOf([{ ...failed, type: "video.cancelled", job: null }])
      expect(span?.status).toBe("STATUS_CODE_UNSET")
      expect(span?.attributes).not.toHaveProperty("error.type")
    })
  )
})

it.effect("an attempt that has a start is a child span from then, within the span of its event", () =>
  Effect.gen(function* () {
    const refused = { provider: "fal", outcome: "Overloaded", status: 503, seconds: 0.05, billed: "no" } as const
    const accepted = { provider: "fal", outcome: "Success", seconds: 0.1, billed: "unknown" } as const
    const [, ...attempts] = yield* spansOf([
      event({
        type: "video.failed",
        attempts: [
          { ...refused, started_at: 1_800_000_000_100 },
          { ...accepted, started_at: 1_800_000_000_300 },
          // By the clock of another process.
          { ...accepted, started_at: 1_800_000_000_450 }
        ]
      })
    ])
    expect(attempts.map(({ end, name, start }) => [name, start, end])).toEqual([
      ["generate_content fal", "1800000000100000000", "1800000000150000000"],
      ["generate_content fal", "1800000000300000000", "1800000000400000000"],
      ["generate_content fal", "1800000000450000000", "1800000000500000000"]
    ])
  })
)

it.effect("each attempt is a child span, one after the other, with its error", () =>
  Effect.gen(function* () {
    const [root, ...attempts] = yield* spansOf([
      event({
        attempts: [
          { provider: "jina", outcome: "RateLimited", status: 429, seconds: 0.1, billed: "no" },
          { provider: "cohere", outcome: "Success", seconds: 0.2, billed: "yes" }
        ]
      })
    ])
    expect(attempts.map(({ parentSpanId, traceId }) => [parentSpanId, traceId])).toEqual([
      [root?.spanId, root?.traceId],
      [root?.spanId, root?.traceId]
    ])
    expect(attempts).toMatchObject([
      {
        name: "rerank jina",
        start: "1800000000000000000",
        end: "1800000000100000000",
        status: "STATUS_CODE_ERROR",
        attributes: {
          "error.type": "RateLimited",
          "gen_ai.provider.name": "jina",
          "http.response.status_code": "429",
          "model_gateway.attempt.number": "1",
          "model_gateway.attempt.billed": "no"
        }
      },
      {
        name: "rerank cohere",
        start: "1800000000100000000",
        end: "1800000000300000000",
        status: "STATUS_CODE_OK",
        attributes: { "gen_ai.response.model": "rerank-v3.5", "model_gateway.attempt.number": "2" }
      }
    ])
    expect(root?.status).toBe("STATUS_CODE_OK")
  })
)

describe("the request's trace", () => {
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"

  it.effect("sets the trace, the parent and the names [spec L11 L12 L13 L14 L15]", () =>
    Effect.gen(function* () {
      const trace = {
        trace_id: traceId.toUpperCase(),
        parent_span_id: "00f067aa0ba902b7",
        trace_name: "checkout",
        span_name: "rank offers",
        generation_name: "first pass"
      }
      const [root, attempt] = yield* spansOf([event({ trace })])
      expect(root).toMatchObject({ traceId, parentSpanId: "00f067aa0ba902b7", name: "rank offers" })
      expect(root?.attributes["trace.name"]).toBe("checkout")
      expect(attempt).toMatchObject({ traceId, parentSpanId: root?.spanId, name: "first pass" })
      const [named] = yield* spansOf([event({ trace: { generation_name: "first pass" } })])
      expect(named?.name).toBe("first pass")
    })
  )

  it.effect("may name the trace by a UUID, or by any text", () =>
    Effect.gen(function* () {
      const traceOf = (trace_id: string, workspace_id = "w") =>
        Effect.map(spansOf([event({ trace: { trace_id }, workspace_id })]), ([span]) => span?.traceId)
      expect(yield* traceOf("4bf92f35-77b3-4da6-a3ce-929d0e0e4736")).toBe(traceId)
      const text = yield* traceOf("checkout-7")
      expect(text).toMatch(/^[\da-f]{32}$/)
      expect(yield* traceOf("checkout-7")).toBe(text)
      expect(yield* traceOf("checkout-8")).not.toBe(text)
      expect(yield* traceOf("checkout-7", "other")).not.toBe(text)
      expect(yield* traceOf("0".repeat(32))).not.toBe("0".repeat(32))
    })
  )

  it.effect("has no parent if what it names is no span", () =>
    Effect.gen(function* () {
      for (const parent_span_id of ["my span", "0".repeat(16), "00f067aa0ba902b7aa"]) {
        expect((yield* spansOf([event({ trace: { parent_span_id } })]))[0]?.parentSpanId).toBe("")
      }
    })
  )

  it.effect("has further keys, which become attributes [spec L16]", () =>
    Effect.gen(function* () {
      const trace = { tenant: "acme", turn: 3, ratio: 0.5, beta: true, tags: ["a", { b: 1 }], nothing: null }
      const [span] = yield* spansOf([event({ trace })])
      expect(span?.attributes).toMatchObject({
        "trace.metadata.tenant": "acme",
        "trace.metadata.turn": "3",
        "trace.metadata.ratio": 0.5,
        "trace.metadata.beta": true,
        "trace.metadata.tags": '["a",{"b":1}]',
        "trace.metadata.nothing": "null"
      })
    })
  )
})
