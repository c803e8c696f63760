/**
 * A server of Hugging Face's Text Embeddings Inference (TEI) that serves a rerank model.
 *
 * Protocol: https://huggingface.github.io/text-embeddings-inference. Limits:
 * https://huggingface.co/docs/text-embeddings-inference/cli_arguments. Statuses and permits:
 * https://github.com/huggingface/text-embeddings-inference/blob/v1.9.3/router/src/http/server.rs.
 *
 * A server has one model, so that the name of the model is not sent: `tei/<any>` is what it serves.
 * It scores each document on its own, so that scores of several calls can be compared.
 *
 * @since 0.1.0
 */
import { Schema } from "effect"
import type { Adapter } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import { rerankOffers } from "./internal/rerankOffers.ts"
import type { RerankModel } from "@model-gateway/offers/Model"
import type * as Passthrough from "@model-gateway/offers/Passthrough"
import { InputTooLarge, Overloaded, type Reason, Unavailable, UnknownModel } from "@model-gateway/offers/ProviderError"
import * as Ranking from "@model-gateway/offers/Ranking"
import type { RerankRequest } from "@model-gateway/offers/Rerank"
import type * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"

// Request mapping

/**
 * The server's defaults: `--max-client-batch-size`, and `--payload-limit` in bytes.
 *
 * A call takes a permit for each of its texts, and the server refuses all texts for which none of
 * the `--max-concurrent-requests` (512) is free. With 2 calls at a time, a request takes at most 64
 * of them: one call is ready while the other one is computed, and 8 requests fit.
 */
const limits = { documentsPerCall: 32, sizePerCall: 2_000_000, concurrency: 2 }

/** The server tells its limit in `/info` only. Few models read more. */
const maxTokens = { query: 32_768, pair: 32_768 }

const passthrough: Passthrough.Declaration = {
  documented: ["raw_scores", "truncate", "truncation_direction"],
  refused: { request: ["query", "texts"], response: ["return_text"] }
}

const toBody = ({ options, query }: RerankRequest, documents: ReadonlyArray<string>) =>
  // Longer texts are cut off, as hosted services do, unless the options say otherwise.
  Object.assign({ truncate: true }, options, { query, texts: documents, return_text: false })

const encoder = new TextEncoder()

const bytesOfJson = (part: string | object): number => encoder.encode(JSON.stringify(part)).length + 1

// Response mapping

const Response = Schema.Array(
  Schema.Struct({ index: Ranking.Result.fields.index, score: Ranking.Result.fields.relevance_score })
)

/** The header `x-compute-tokens`. A proxy may have removed it. */
const tokensOf = (header: string | undefined): number | undefined =>
  header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) : undefined

// Error mapping

/** How the server says that there are too many texts, or that one is too long. */
const tooLarge = /\bbatch size \d+ > maximum\b|\bmust have less than \d+ (?:tokens|characters)\b/

/**
 * The server names the case in `error_type`, and answers 424 if its backend failed. `Validation` is
 * a 422 since version 1.9 and a 413 before.
 */
const reasonOf = ({ codes, message, model, retryAfter, status }: UpstreamHttp.Failure): Reason | undefined => {
  const is = (type: string) => codes.some((code) => code.toLowerCase() === type)
  if (status === 424 && message !== undefined && /\bnot a re-?rank/i.test(message)) return new UnknownModel({ model })
  if (status === 422 && message !== undefined && tooLarge.test(message)) return new InputTooLarge({ message })
  // It means its own queue, not the caller's rate.
  if (status === 429 || is("overloaded")) return new Overloaded(retryAfter === undefined ? {} : { retryAfter })
  return is("unhealthy") ? new Unavailable(retryAfter === undefined ? {} : { retryAfter }) : undefined
}

// Offers

/**
 * Text Embeddings Inference: `TEI_BASE_URL`, and `TEI_API_KEY` if the server has one.
 *
 * Its built-in model `tei/*` stands for every id that begins with `tei/`, and is free of charge. A
 * settings file may define models with a price, per token or per search unit.
 *
 * `parameters` of a model: see `Ranking.Parameters`. Defaults: 32 documents and 2,000,000 bytes
 * (`sizePerCall`) per call, as the server's own, and 2 calls at a time.
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "tei",
  title: "Text Embeddings Inference",
  variables: { apiKey: "TEI_API_KEY", baseUrl: "TEI_BASE_URL" },
  defaultBaseUrl: undefined,
  credential: "optional",
  kinds: ["rerank"],
  ...Catalog.of("tei"),
  offers: rerankOffers({
    isModel: (model): model is RerankModel => model.kind === "rerank",
    expected: "must be a rerank model",
    reasonOf,
    limits,
    maxTokens,
    passthrough,
    scoresOf: ({ options }) => (options?.["raw_scores"] === true ? "logit" : undefined),
    size: { overhead: (request) => bytesOfJson(toBody(request, [])), of: bytesOfJson },
    toBody: (_model, request, { documents }) => toBody(request, documents),
    response: Response,
    toRanked: (ranking, headers) => ({
      results: ranking.map(({ index, score }) => ({ index, relevance_score: score })),
      total_tokens: tokensOf(headers["x-compute-tokens"])
    })
  })
}
