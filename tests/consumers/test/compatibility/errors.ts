/** How each client reports the failures of the gateway. */
import { DtmfTone } from "@model-gateway/sandbox"
import type { OpenRouter } from "@openrouter/sdk"
import * as OpenRouterErrors from "@openrouter/sdk/models/errors"
import { type CohereClientV2, CohereError } from "cohere-ai"
import OpenAI, { toFile } from "openai"
import { expect } from "vitest"
import { aNumber, aText, type Entry, failureOf } from "./Entry.ts"
import type { CompatibleGateway } from "./Gateways.ts"

const request = { model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] }
const once = { retries: { strategy: "none" } } as const

/** Larger than the strict gateway allows. */
const large = "pears ".repeat(20_000)

const rerank = (client: OpenRouter, changes: Partial<typeof request> = {}) =>
  client.rerank.rerank({ requestBody: { ...request, ...changes } }, once)

const transcribe = async (client: OpenAI, { model = "sandbox/tones", audio = DtmfTone.wav("5550199") } = {}) =>
  client.audio.transcriptions.create({ model, file: await toFile(audio, "call.wav") })

/** Sends more requests at once than the strict gateway allows. */
const burst = async (
  { strict }: CompatibleGateway,
  call: (clients: CompatibleGateway["clients"]) => Promise<unknown>,
  count = 4
) => {
  const clients = strict.clientsWith(await strict.createKey())
  return Promise.allSettled(Array.from({ length: count }, () => call(clients)))
}

/** What each client makes of a burst with its retries. */
const repeated = {
  openrouter: (gateway: CompatibleGateway) =>
    burst(gateway, ({ openrouter }) => openrouter.rerank.rerank({ requestBody: request }, { retryCodes: ["429"] })),
  openai: (gateway: CompatibleGateway) => burst(gateway, ({ openai }) => transcribe(openai)),
  cohere: (gateway: CompatibleGateway) => burst(gateway, ({ cohere }) => cohere.rerank(request))
}

type Repeated = Readonly<Record<keyof typeof repeated, ReturnType<typeof burst>>>

/** All wait at the same time, and once for each strict gateway. */
const waiting = new WeakMap<CompatibleGateway["strict"], Repeated>()

const outcomesOf = async (gateway: CompatibleGateway, client: keyof Repeated) => {
  const all = waiting.get(gateway.strict) ?? {
    openrouter: repeated.openrouter(gateway),
    openai: repeated.openai(gateway),
    cohere: repeated.cohere(gateway)
  }
  waiting.set(gateway.strict, all)
  return (await all[client]).map(({ status }) => status)
}

const allFulfilled = Array.from({ length: 4 }, () => "fulfilled")

/**
 * The failures of a burst that is not repeated. On a slow machine it lasts longer than the window
 * of the rate limit, so it has more requests than several windows allow.
 */
const failuresOf = async (gateway: CompatibleGateway, call: Parameters<typeof burst>[1]) =>
  (await burst(gateway, call, 12)).flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : []))

interface Failure {
  readonly status: number
  readonly name: string
  readonly call: (gateway: CompatibleGateway) => Promise<unknown>
}

const clientsWithoutCredits = async ({ clientsWith, createKey }: CompatibleGateway) =>
  clientsWith(await createKey({ limit: 0.00001 }))
const strictClients = async ({ strict }: CompatibleGateway) => strict.clientsWith(await strict.createKey())

const ofOpenRouter: ReadonlyArray<Failure> = [
  {
    status: 400,
    name: "BadRequestResponseError",
    call: ({ clients }) => clients.openrouter.rerank.rerank({ requestBody: { ...request, topN: 0 } })
  },
  {
    status: 401,
    name: "UnauthorizedResponseError",
    call: ({ clientsWith }) => rerank(clientsWith("mg_sk_unknown").openrouter)
  },
  {
    status: 402,
    name: "PaymentRequiredResponseError",
    call: async (gateway) => rerank((await clientsWithoutCredits(gateway)).openrouter)
  },
  { status: 403, name: "ForbiddenResponseError", call: ({ management }) => rerank(management.openrouter) },
  {
    status: 404,
    name: "NotFoundResponseError",
    call: ({ clients }) => rerank(clients.openrouter, { model: "sandbox/unknown" })
  },
  {
    status: 413,
    name: "PayloadTooLargeResponseError",
    call: async (gateway) => rerank((await strictClients(gateway)).openrouter, { documents: [large] })
  },
  ...[
    { status: 502, name: "BadGatewayResponseError" },
    { status: 503, name: "ServiceUnavailableResponseError" },
    { status: 524, name: "EdgeNetworkTimeoutResponseError" },
    { status: 529, name: "ProviderOverloadedResponseError" }
  ].map(({ name, status }) => ({
    status,
    name,
    call: ({ clients }: CompatibleGateway) => rerank(clients.openrouter, { model: `sandbox/status-${status}` })
  }))
]

const ofOpenAi: ReadonlyArray<Failure> = [
  {
    status: 400,
    name: "BadRequestError",
    call: ({ clients }) => transcribe(clients.openai, { audio: new TextEncoder().encode("no audio") })
  },
  {
    status: 401,
    name: "AuthenticationError",
    call: ({ clientsWith }) => transcribe(clientsWith("mg_sk_unknown").openai)
  },
  { status: 402, name: "APIError", call: async (gateway) => transcribe((await clientsWithoutCredits(gateway)).openai) },
  { status: 403, name: "PermissionDeniedError", call: ({ management }) => transcribe(management.openai) },
  {
    status: 404,
    name: "NotFoundError",
    call: ({ clients }) => transcribe(clients.openai, { model: "sandbox/unknown" })
  },
  {
    status: 413,
    name: "APIError",
    call: async (gateway) =>
      transcribe((await strictClients(gateway)).openai, { audio: DtmfTone.wav("5550199".repeat(10)) })
  }
]

const rank = (client: CohereClientV2, changes: Partial<typeof request> = {}) =>
  client.rerank({ ...request, ...changes }, { maxRetries: 0 })

const ofCohere: ReadonlyArray<Failure> = [
  {
    status: 400,
    name: "BadRequestError",
    call: ({ clients }) => clients.cohere.rerank({ ...request, topN: 0 })
  },
  { status: 401, name: "UnauthorizedError", call: ({ clientsWith }) => rank(clientsWith("mg_sk_unknown").cohere) },
  { status: 402, name: "CohereError", call: async (gateway) => rank((await clientsWithoutCredits(gateway)).cohere) },
  { status: 403, name: "ForbiddenError", call: ({ management }) => rank(management.cohere) },
  {
    status: 404,
    name: "NotFoundError",
    call: ({ clients }) => rank(clients.cohere, { model: "sandbox/unknown" })
  },
  {
    status: 413,
    name: "CohereError",
    call: async (gateway) => rank((await strictClients(gateway)).cohere, { documents: [large] })
  },
  ...[
    { status: 502, name: "CohereError" },
    { status: 503, name: "ServiceUnavailableError" },
    { status: 524, name: "CohereError" },
    { status: 529, name: "CohereError" }
  ].map(({ name, status }) => ({
    status,
    name,
    call: ({ clients }: CompatibleGateway) => rank(clients.cohere, { model: `sandbox/status-${status}` })
  }))
]

export const entries: ReadonlyArray<Entry> = [
  ...ofOpenRouter.map(({ call, name, status }): Entry => ({
    client: "@openrouter/sdk",
    call: `rerank.rerank: ${status}, \`${name}\``,
    expectation: "works",
    run: async (gateway) => {
      const error = await failureOf(call(gateway))
      expect(error).toBeInstanceOf(OpenRouterErrors.OpenRouterError)
      expect(error).toMatchObject({ name, statusCode: status, error: { code: status, message: aText } })
    }
  })),
  {
    client: "@openrouter/sdk",
    call: "rerank.rerank: 429, `TooManyRequestsResponseError`",
    expectation: "works",
    run: async (gateway) => {
      const [error] = await failuresOf(gateway, ({ openrouter }) => rerank(openrouter))
      expect(error).toBeInstanceOf(OpenRouterErrors.TooManyRequestsResponseError)
      expect(error).toMatchObject({ statusCode: 429, error: { metadata: { retry_after: aNumber } } })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "rerank.rerank: 429, repeated after `Retry-After`",
    expectation: { differs: 'only with `retryCodes: ["429"]`: by default this client repeats 5XX' },
    run: async (gateway) => {
      expect(await outcomesOf(gateway, "openrouter")).toEqual(allFulfilled)
    }
  },
  {
    client: "@openrouter/sdk",
    call: "rerank.rerank: request id of an error",
    expectation: { differs: "in the header `x-request-id`; `openrouterMetadata` is named `service_metadata` here" },
    withWireNames: "works",
    run: async ({ clientsWith, wireNames }) => {
      const error = await failureOf(rerank(clientsWith("mg_sk_unknown").openrouter))
      if (!(error instanceof OpenRouterErrors.UnauthorizedResponseError)) throw error
      const requestId = error.headers.get("x-request-id")
      expect(requestId).toMatch(/^req_/)
      expect(error.openrouterMetadata).toEqual(wireNames === "openrouter" ? { request_id: requestId } : undefined)
    }
  },
  ...ofOpenAi.map(({ call, name, status }): Entry => ({
    client: "openai",
    call: `audio.transcriptions.create: ${status}, \`${name}\``,
    expectation: "works",
    run: async (gateway) => {
      const error = await failureOf(call(gateway))
      if (!(error instanceof OpenAI.APIError)) throw error
      expect(error.constructor.name).toBe(name)
      expect(error).toMatchObject({
        status,
        code: status,
        requestID: aText,
        error: { code: status, message: aText }
      })
    }
  })),
  {
    client: "openai",
    call: "audio.transcriptions.create: 429, `RateLimitError`",
    expectation: "works",
    run: async (gateway) => {
      const [error] = await failuresOf(gateway, ({ openai }) => transcribe(openai.withOptions({ maxRetries: 0 })))
      expect(error).toBeInstanceOf(OpenAI.RateLimitError)
      expect(error).toMatchObject({ status: 429, error: { metadata: { retry_after: aNumber } } })
    }
  },
  {
    client: "openai",
    call: "audio.transcriptions.create: 429, repeated after `Retry-After`",
    expectation: "works",
    run: async (gateway) => {
      expect(await outcomesOf(gateway, "openai")).toEqual(allFulfilled)
    }
  },
  ...ofCohere.map(({ call, name, status }): Entry => ({
    client: "cohere-ai",
    call: `CohereClientV2.rerank: ${status}, \`${name}\``,
    expectation: "works",
    run: async (gateway) => {
      const error = await failureOf(call(gateway))
      expect(error).toBeInstanceOf(CohereError)
      expect(error).toMatchObject({ name, statusCode: status, body: { message: aText, error: { code: status } } })
    }
  })),
  {
    client: "cohere-ai",
    call: "CohereClientV2.rerank: 429, `TooManyRequestsError`",
    expectation: "works",
    run: async (gateway) => {
      const [error] = await failuresOf(gateway, ({ cohere }) => rank(cohere))
      expect(error).toMatchObject({
        name: "TooManyRequestsError",
        statusCode: 429,
        body: { message: aText, error: { metadata: { retry_after: aNumber } } }
      })
    }
  },
  {
    client: "cohere-ai",
    call: "CohereClientV2.rerank: 429, repeated after `Retry-After`",
    expectation: "works",
    run: async (gateway) => {
      expect(await outcomesOf(gateway, "cohere")).toEqual(allFulfilled)
    }
  }
]
