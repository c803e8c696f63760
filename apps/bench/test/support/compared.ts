// The clients of the table in docs/reference/client-comparison.md. Each makes a call that costs
// money, as its documentation shows, with its defaults.
import { createClient } from "@model-gateway/node/promise"
import { OpenRouter } from "@openrouter/sdk"
import OpenAI, { toFile } from "openai"
import { wav } from "../../src/client/messages.ts"

/** What a row of the table asks of a call. */
export interface Options {
  readonly signal?: AbortSignal
  /** The documented option of the client, or a header if it has none. */
  readonly idempotencyKey?: string
  /** The documented time limit of a request, in milliseconds, without retries. */
  readonly timeLimit?: number
}

/** A client at the server of a row. */
export interface Made {
  readonly call: (options: Options) => Promise<unknown>
  readonly close: () => Promise<void>
}

export interface Compared {
  readonly name: string
  readonly make: (baseUrl: string) => Promise<Made>
}

const apiKey = "mg_sk_compared"
const request = { model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] }
const unset = async () => {}

export const compared: ReadonlyArray<Compared> = [
  {
    name: "@model-gateway/node",
    make: async (baseUrl) => {
      const gateway = await createClient({ apiKey, baseUrl })
      return {
        call: ({ idempotencyKey, signal, timeLimit }) =>
          gateway.rerank(request, {
            idempotencyKey,
            signal,
            ...(timeLimit !== undefined && { retryPolicy: { attemptTimeout: timeLimit, maxRetries: 0 } })
          }),
        close: gateway.close
      }
    }
  },
  {
    name: "openai",
    make: async (baseURL) => {
      const openai = new OpenAI({ apiKey, baseURL })
      return {
        call: async ({ timeLimit, ...options }) =>
          openai.audio.transcriptions.create(
            { model: "sandbox/tones", file: await toFile(wav(), "audio.wav") },
            { ...options, ...(timeLimit !== undefined && { timeout: timeLimit, maxRetries: 0 }) }
          ),
        close: unset
      }
    }
  },
  {
    name: "@openrouter/sdk",
    make: async (serverURL) => {
      const openrouter = new OpenRouter({ apiKey, serverURL })
      return {
        call: ({ idempotencyKey, signal, timeLimit }) =>
          openrouter.rerank.rerank(
            { requestBody: request },
            {
              ...(signal !== undefined && { signal }),
              ...(idempotencyKey !== undefined && { headers: { "idempotency-key": idempotencyKey } }),
              ...(timeLimit !== undefined && { timeoutMs: timeLimit, retries: { strategy: "none" } })
            }
          ),
        close: unset
      }
    }
  }
]
