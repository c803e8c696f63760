/** A gateway for the client's tests: every request is kept, every answer is told by the test. */
import { Gateway, GatewayConfig } from "@model-gateway/core"
import { Effect, Layer, Redacted } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"

export interface Sent {
  readonly method: string
  readonly url: URL
  readonly headers: { readonly [name: string]: string }
  readonly text: string | undefined
  readonly form: FormData | undefined
  readonly signal: AbortSignal
  /** Milliseconds of the clock when it was sent. */
  readonly at: number
}

export type Answer = Response | "cut" | Error | Effect.Effect<Response | "cut" | Error>

/** A service that answers by the request and its number, from 1. */
export const make = (answer: (sent: Sent, number: number) => Answer) => {
  const sent: Array<Sent> = []
  const client = HttpClient.make((request, url, signal) =>
    Effect.gen(function* () {
      const at = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      const entry = { method: request.method, url, headers: request.headers, ...bodyOf(request), signal, at }
      sent.push(entry)
      const result = answer(entry, sent.length)
      const response = Effect.isEffect(result) ? yield* result : result
      if (response === "cut") return yield* failed(request, reset)
      if (response instanceof Error) return yield* failed(request, response)
      return HttpClientResponse.fromWeb(request, response)
    })
  )
  return {
    sent,
    /** When each request was sent, in milliseconds. */
    times: () => sent.map(({ at }) => at),
    /** `around` is provided to the client when it is built. */
    run: (options: Partial<GatewayConfig.Options> = {}, around: Layer.Layer<never> = Layer.empty) =>
      Effect.provide(
        Gateway.layer.pipe(
          Layer.provide(around),
          Layer.provide(Layer.succeed(HttpClient.HttpClient, client)),
          Layer.provide(
            Layer.succeed(
              GatewayConfig.GatewayConfig,
              GatewayConfig.make({
                baseUrl: "http://gateway.test/api/v1",
                credential: Redacted.make("mg_sk_secret"),
                ...options
              })
            )
          )
        )
      )
  }
}

const bodyOf = ({ body }: HttpClientRequest.HttpClientRequest): Pick<Sent, "text" | "form"> => ({
  text: body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : undefined,
  form: body._tag === "FormData" ? body.formData : undefined
})

export const reset = Object.assign(new Error("socket hang up"), { code: "ECONNRESET" })

const failed = (request: HttpClientRequest.HttpClientRequest, cause: Error) =>
  Effect.fail(
    new HttpClientError.HttpClientError({
      reason: new HttpClientError.TransportError({ request, cause })
    })
  )

/** JSON with its length, as the service sends it. */
export const json = (body: unknown, status = 200, headers: { readonly [name: string]: string } = {}): Response => {
  const bytes = new TextEncoder().encode(JSON.stringify(body))
  const known = { "content-type": "application/json", "content-length": String(bytes.length) }
  return new Response(bytes, { status, headers: { ...known, ...headers } })
}

/** An error of the service. */
export const failure = (
  code: number,
  options: {
    readonly metadata?: { readonly [key: string]: unknown } | null
    readonly headers?: { readonly [name: string]: string }
  } = {}
): Response =>
  json(
    { error: { code, message: `message of ${code}`, metadata: options.metadata ?? null }, user_id: "user_1" },
    code,
    options.headers
  )

export const ranking = {
  id: "rr_1",
  model: "m",
  results: [{ index: 0, relevance_score: 0.5, document: { text: "d" } }]
}

export const transcript = { text: "hello" }

export const job = { id: "v_1", polling_url: "/api/v1/videos/v_1", status: "pending" }

export const keyRecord = {
  label: "mg_sk_…abc",
  limit: null,
  limit_remaining: null,
  limit_reset: null,
  include_byok_in_limit: false,
  usage: 1,
  usage_daily: 1,
  usage_weekly: 1,
  usage_monthly: 1,
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
  is_free_tier: false,
  is_management_key: false,
  is_provisioning_key: false,
  creator_user_id: null,
  expires_at: null,
  workspace_id: "7d9d1f9e-3a55-4f0c-9a35-0e4d1b9f6a10",
  organization_id: null,
  allowed_data_regions: [],
  free_model_daily_requests: { limit: 200, used: 0, remaining: 200 },
  rate_limit: { requests: -1, interval: "10s", note: "deprecated" }
}
