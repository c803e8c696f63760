/**
 * A gateway in memory, below the client: it responds to HTTP requests and records them.
 */
import { Gateway, GatewayConfig, type Guardrails, RetryPolicy } from "@model-gateway/core"
import { Samples } from "@model-gateway/testing"
import { Effect, Layer, Redacted, Stream } from "effect"
import { HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import { ManagementGateway, VideoStore } from "../src/Program.ts"

/** A response. `never`: none. `refused`: the connection is refused. */
export type Answer = { readonly status: number; readonly body: unknown } | "never" | "refused"

/**
 * Responses by method and path, such as `POST /rerank`. Several are returned one after another, and
 * the last one is repeated.
 */
export type Script = Readonly<Record<string, Answer | ReadonlyArray<Answer>>>

/** A received request. */
export interface Arrived {
  readonly call: string
  readonly bearer: string | undefined
  readonly idempotencyKey: string | undefined
}

export const baseUrl = "http://gateway.test/api/v1"

export const ok = (body: unknown): Answer => ({ status: 200, body })

export const failure = (status: number, message: string, metadata: Record<string, unknown> = {}): Answer => ({
  status,
  body: {
    error: { code: status, message, metadata },
    service_metadata: { request_id: `req_${status}` },
    user_id: null
  }
})

export const job = (status: string, more: Record<string, unknown> = {}): Answer => ({
  status: status === "pending" ? 202 : 200,
  body: { id: "video_1", polling_url: "/api/v1/videos/video_1", status, ...more }
})

const now = "2026-11-20T12:00:00Z"
const guardrail: Guardrails.Guardrail = {
  ...Samples.guardrail,
  id: "0197a000-0000-7000-8000-000000000001",
  name: "Sample guardrail",
  limit_usd: 1,
  reset_interval: "daily"
}
const key = (hash: string) =>
  ok({
    key: "mg_sk_shown_once",
    data: {
      hash,
      name: hash,
      label: `mg_sk_…${hash}`,
      workspace_id: "0197a000-0000-7000-8000-000000000002",
      disabled: false,
      is_management_key: false,
      is_free_tier: false,
      limit: 0,
      limit_remaining: 0,
      limit_reset: null,
      include_byok_in_limit: false,
      usage: 0,
      usage_daily: 0,
      usage_weekly: 0,
      usage_monthly: 0,
      byok_usage: 0,
      byok_usage_daily: 0,
      byok_usage_weekly: 0,
      byok_usage_monthly: 0,
      external_user: null,
      guardrail_id: null,
      creator_user_id: null,
      created_at: now,
      updated_at: now,
      expires_at: "2026-11-20T12:10:00Z"
    }
  })

/** A gateway whose responses are all successful. */
export const wellBehaved: Script = {
  "POST /files": ok({
    _shape: "native",
    id: "file_1",
    type: "file",
    filename: "hello.txt",
    mime_type: "text/plain",
    size_bytes: 65,
    created_at: now,
    downloadable: true,
    purpose: "sample",
    workspace_id: "0197a000-0000-7000-8000-000000000002"
  }),
  "DELETE /files/file_1": ok({ _shape: "native", id: "file_1", type: "file_deleted" }),
  "GET /key": ok({
    data: {
      ...Samples.keyRecord,
      label: "mg_sk_…abc",
      limit: 5,
      limit_remaining: 4.9865,
      limit_reset: "daily",
      usage: 0.0135,
      usage_daily: 0.0035,
      usage_weekly: 0.0135,
      usage_monthly: 0.0135,
      byok_usage: 0
    }
  }),
  "POST /rerank": ok({
    id: "rerank_1",
    model: "sandbox/bm25",
    provider: "sandbox",
    results: [
      { index: 1, relevance_score: 0.9, document: { text: "To reset a forgotten password, open the sign-in page." } },
      { index: 0, relevance_score: 0.1, document: { text: "Invoices are sent on the first." } }
    ],
    usage: { search_units: 1, total_tokens: 40, cost: 0.001 }
  }),
  "POST /audio/transcriptions": ok({
    text: "555 0199",
    task: "transcribe",
    language: "en",
    duration: 1.9,
    segments: [{ id: 0, start: 0, end: 0.6, text: "555" }],
    words: [{ word: "5", start: 0, end: 0.12 }],
    usage: { seconds: 1.9, cost: 0.00019 }
  }),
  "POST /videos": job("pending"),
  "GET /videos/video_1": [
    job("pending", { progress: 0 }),
    job("in_progress", { progress: 0.5 }),
    job("completed", { progress: 1, usage: { cost: 0.04, is_byok: false } })
  ],
  "GET /videos/video_1/content": { status: 200, body: new Uint8Array([0, 0, 0, 8, 102, 116, 121, 112]) },
  "POST /videos/video_1/cancel": job("cancelled"),
  "POST /guardrails": { status: 201, body: { data: guardrail } },
  "POST /keys": [key("a".repeat(64)), key("b".repeat(64))],
  [`POST /guardrails/${guardrail.id}/assignments/keys`]: ok({ assigned_count: 2, not_found: [], replaced: [] }),
  [`DELETE /keys/${"a".repeat(64)}`]: ok({ deleted: true }),
  [`DELETE /keys/${"b".repeat(64)}`]: ok({ deleted: true }),
  [`DELETE /guardrails/${guardrail.id}`]: ok({ deleted: true })
}

/** Returns the next response of a script for each call. */
export const play = (script: Script) => {
  const given = new Map<string, number>()
  return (call: string): Answer => {
    const answers = script[call] ?? failure(404, `nothing is scripted for ${call}`)
    if (!isList(answers)) return answers
    const index = given.get(call) ?? 0
    given.set(call, index + 1)
    return answers[Math.min(index, answers.length - 1)] ?? "never"
  }
}

/** Makes both clients and a store in memory for a script, and records the requests. */
export const make = (script: Script) => {
  const arrived: Array<Arrived> = []
  const next = play(script)

  const client = HttpClient.make((request, url) =>
    Effect.suspend(() => {
      const call = `${request.method} ${url.pathname.replace("/api/v1", "")}`
      arrived.push({
        call,
        bearer: request.headers["authorization"],
        idempotencyKey: request.headers["idempotency-key"]
      })
      const answer = next(call)
      if (answer === "never") return Effect.never
      if (answer === "refused") {
        const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })
        return Effect.fail(
          new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) })
        )
      }
      const body = answer.body instanceof Uint8Array ? new Uint8Array(answer.body) : JSON.stringify(answer.body)
      return Effect.succeed(HttpClientResponse.fromWeb(request, new Response(body, { status: answer.status })))
    })
  )

  const gateway = (key: string) =>
    Layer.fresh(Gateway.layer).pipe(
      Layer.provide(Layer.succeed(HttpClient.HttpClient, client)),
      Layer.provide(GatewayConfig.layer({ baseUrl, credential: Redacted.make(key) }))
    )

  const layer = Layer.mergeAll(
    gateway("ordinary"),
    Layer.effect(ManagementGateway, Gateway.Gateway).pipe(Layer.provide(gateway("management"))),
    Layer.succeed(
      VideoStore,
      VideoStore.of({
        save: (bytes) =>
          Effect.map(Stream.runCollect(bytes), (chunks) => ({
            location: "memory",
            bytes: chunks.reduce((sum, chunk) => sum + chunk.length, 0)
          }))
      })
    ),
    Layer.succeed(RetryPolicy.RetryPolicy, RetryPolicy.none)
  )

  return { layer, arrived }
}

const isList = (answers: Answer | ReadonlyArray<Answer>): answers is ReadonlyArray<Answer> => Array.isArray(answers)
