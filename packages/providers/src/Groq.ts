/**
 * Groq's Whisper models. The API is OpenAI's, under another path.
 *
 * Protocol, limits and the least that is billed: https://console.groq.com/docs/speech-to-text.
 * Errors: https://console.groq.com/docs/errors. Prices: https://groq.com/pricing.
 *
 * @since 0.1.0
 */
import type { SecureRandom } from "effect/crypto/SecureRandom"
import type { HttpClient } from "effect/http"
import type { Adapter } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import * as OpenAi from "./OpenAi.ts"
import { Overloaded, type Reason, Timeout } from "@model-gateway/offers/ProviderError"
import type * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"

/** Statuses that only Groq has. */
const reasonOf = ({ retryAfter, status }: UpstreamHttp.Failure): Reason | undefined => {
  switch (status) {
    case 498:
      // The flex tier has no capacity.
      return new Overloaded(retryAfter === undefined ? {} : { retryAfter })
    case 499:
      // Nobody here canceled the request, so Groq gave it up before it had an answer.
      return new Timeout()
    default:
      return undefined
  }
}

/**
 * Groq: `GROQ_API_KEY`, `GROQ_BASE_URL`. A model's `parameters` are {@link OpenAi.Parameters}.
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter<HttpClient.HttpClient | SecureRandom> = {
  name: "groq",
  title: "Groq",
  variables: { apiKey: "GROQ_API_KEY", baseUrl: "GROQ_BASE_URL" },
  defaultBaseUrl: "https://api.groq.com",
  credential: "required",
  kinds: ["transcription"],
  ...Catalog.of("groq"),
  offers: OpenAi.offers({
    path: "openai/v1/audio/transcriptions",
    documented: ["language", "prompt", "temperature"],
    reasonOf
  })
}
