/**
 * Servers of one's own that rank and transcribe as vLLM does: vLLM itself, Infinity, LocalAI and
 * llama.cpp.
 *
 * Protocols, read on 2026-11-24: https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
 * and https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/pooling/scoring/protocol.py
 * (vLLM),
 * https://github.com/michaelfeil/infinity/blob/main/libs/infinity_emb/infinity_emb/fastapi_schemas/pymodels.py
 * (Infinity), https://github.com/mudler/LocalAI/blob/master/core/http/endpoints/jina/rerank.go
 * (LocalAI), https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md (llama.cpp).
 *
 * How the four differ:
 *
 * - Results: vLLM, Infinity and LocalAI sort them. llama.cpp does so today; before, it returned them
 *   in the order of the documents, whatever `top_n` was. Old versions of Infinity call them `data`.
 * - Scores: llama.cpp returns logits of most models, vLLM with `use_activation: false`, Infinity with
 *   `raw_scores: true`. LocalAI returns what its backend does.
 * - Tokens: all report `usage.total_tokens`. LocalAI counts words with some backends, and a proxy may
 *   remove what it does not know.
 * - Too long an input: vLLM answers 400, Infinity cuts it off and answers 422 for very long texts and
 *   more than 2,048 documents, llama.cpp answers 400 or 500, LocalAI 500.
 * - Transcription: vLLM has segments of Whisper models, LocalAI of all. llama.cpp has text only, and
 *   Infinity has none. No one has the times of words in OpenAI's form.
 *
 * All score each document on its own, so that scores of several calls can be compared.
 *
 * @since 0.1.0
 */
import { Effect, Schema } from "effect"
import type { SecureRandom } from "effect/crypto/SecureRandom"
import type { HttpClient } from "effect/http"
import type { Adapter } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import { nullable } from "./internal/nullable.ts"
import { rerankOffers } from "./internal/rerankOffers.ts"
import type { Model, RerankModel } from "@model-gateway/offers/Model"
import type { Credential, Offer } from "@model-gateway/offers/Offer"
import * as OpenAi from "./OpenAi.ts"
import type * as Passthrough from "@model-gateway/offers/Passthrough"
import { InputTooLarge, type Reason, UnknownModel } from "@model-gateway/offers/ProviderError"
import * as Ranking from "@model-gateway/offers/Ranking"
import type { RerankRequest } from "@model-gateway/offers/Rerank"
import type { TranscriptionRequest } from "@model-gateway/offers/Transcription"
import type * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"

// Request mapping

/** The limit of Infinity. The others state none. */
const documentsPerCall = 2048

/** Few models read more. */
const maxTokens = { query: 131_072, pair: 131_072 }

const passthrough: Passthrough.Declaration = {
  documented: ["priority", "raw_scores", "truncate_prompt_tokens", "use_activation"],
  refused: {
    // With `texts`, llama.cpp answers as Text Embeddings Inference does.
    request: ["query", "documents", "texts", "top_n"],
    response: ["return_documents", "return_text"],
    // LocalAI runs another program with it.
    model: ["backend"]
  }
}

const toBody = (model: RerankModel, { options, query }: RerankRequest, { documents, top_n }: Ranking.Part) =>
  Object.assign({}, options, { model: model.upstreamId, query, documents, top_n, return_documents: false })

/** What the options ask for in place of probabilities: Infinity's field, and vLLM's. */
const scoresOf = ({ options = {} }: RerankRequest): Ranking.Scores | undefined =>
  options["raw_scores"] === true || options["use_activation"] === false ? "logit" : undefined

// Response mapping

const Results = nullable(Schema.Array(Ranking.Result))

const Counts = nullable(
  Schema.Struct({ input_tokens: nullable(Ranking.Tokens), output_tokens: nullable(Ranking.Tokens) })
)

/**
 * The parts that matter here. Services at this API have `data` or `tokens` in place of the usual.
 */
const Response = Schema.Struct({
  results: Results,
  data: Results,
  usage: nullable(Schema.Struct({ total_tokens: nullable(Ranking.Tokens) })),
  tokens: Counts,
  meta: nullable(Schema.Struct({ tokens: Counts }))
}).check(Schema.makeFilter(({ data, results }) => Array.isArray(results ?? data), { expected: "results" }))

const toRanked = ({ data, meta, results, tokens, usage }: typeof Response.Type): Ranking.Ranked => {
  const { input_tokens, output_tokens } = meta?.tokens ?? tokens ?? {}
  const count = usage?.total_tokens ?? (input_tokens ?? 0) + (output_tokens ?? 0)
  // No pair of texts has no tokens, so that 0 is not a count.
  return { results: results ?? data ?? [], total_tokens: count === 0 ? undefined : count }
}

// Error mapping

/** How the servers say that an input is too long, whatever the status is. */
const tooLarge = new RegExp(
  [
    String.raw`\bcontext (?:length|size)\b`, // vLLM, llama.cpp
    String.raw`\bmaximum model length\b`, // vLLM
    String.raw`\bphysical batch size\b`, // llama.cpp, and LocalAI, which runs it
    String.raw`\bat most \d+ (?:items|characters)\b`, // Infinity
    String.raw`\bmaximum file size exceeded\b` // vLLM, of audio
  ].join("|"),
  "i"
)

/** How the servers say that they do not have the model, or not as one of this kind. */
const unknownModel = /\bmodel does not support\b|\binvalid model\b|\bModelNotDeployed|\bdoes not support re-?ranking\b/i

const reasonOf = ({ message, model, status }: UpstreamHttp.Failure): Reason | undefined => {
  if (message === undefined || ![400, 422, 500, 501].includes(status)) return undefined
  if (unknownModel.test(message)) return new UnknownModel({ model })
  return tooLarge.test(message) ? new InputTooLarge({ message }) : undefined
}

// Offers

const rerank = rerankOffers({
  isModel: (model): model is RerankModel => model.kind === "rerank",
  expected: "must be a rerank or transcription model",
  reasonOf,
  limits: { documentsPerCall },
  maxTokens,
  passthrough,
  scoresOf,
  toBody,
  response: Response,
  toRanked
})

const transcription = OpenAi.offers({
  path: "audio/transcriptions",
  documented: ["language", "prompt", "temperature"],
  reasonOf
})

/** No server has the times of words, unless the model's parameters say so. */
const withoutWords = (model: Model): Model =>
  model.kind === "transcription"
    ? { ...model, parameters: Object.assign({ wordTimestamps: false }, model.parameters) }
    : model

/** Asks for times of words only if the model has them: LocalAI's have another form. */
const asked = (offer: Offer): Offer =>
  offer.kind !== "transcription" || offer.capabilities.word_timestamps
    ? offer
    : {
        ...offer,
        run: (request: TranscriptionRequest, credential: Credential) =>
          offer.run(
            { ...request, timestamp_granularities: request.timestamp_granularities.length === 0 ? [] : ["segment"] },
            credential
          )
      }

/**
 * vLLM and compatible servers: `VLLM_BASE_URL`, and `VLLM_API_KEY` if the server has one. The base
 * URL ends in `/v1`, except for Infinity without a prefix of its own.
 *
 * It has no built-in models: the settings file names those that the server has.
 *
 * `parameters` of a rerank model: see `Ranking.Parameters`. Default: 2,048 documents per call, the
 * limit of Infinity. `sizePerCall` is in tokens; default: no limit. Those of a transcription
 * model are {@link OpenAi.Parameters}, with a default of false for `wordTimestamps`.
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter<HttpClient.HttpClient | SecureRandom> = {
  name: "vllm",
  title: "vLLM and compatible servers",
  variables: { apiKey: "VLLM_API_KEY", baseUrl: "VLLM_BASE_URL" },
  defaultBaseUrl: undefined,
  credential: "optional",
  kinds: ["rerank", "transcription"],
  ...Catalog.of("vllm"),
  offers: (upstream, models) =>
    Effect.map(
      Effect.forEach(models.map(withoutWords), (model) =>
        (model.kind === "transcription" ? transcription : rerank)(upstream, [model])
      ),
      (offers) => offers.flat().map(asked)
    )
}
