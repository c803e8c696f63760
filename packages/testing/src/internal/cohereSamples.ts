/** Samples of reranks in Cohere's shapes. */
import type * as CohereRerank from "@model-gateway/core/CohereRerank"

/**
 * @category samples
 * @since 0.1.0
 */
export const cohereRerankRequest: CohereRerank.Request = {
  model: "sandbox/bm25",
  query: "how do I reset my password",
  documents: ["Billing and invoices", "Reset a forgotten password"],
  top_n: 1
}

/**
 * @category samples
 * @since 0.1.0
 */
export const cohereRerankResponse: CohereRerank.Response = {
  id: "rr_02",
  results: [{ index: 1, relevance_score: 0.92 }],
  meta: { api_version: { version: "2" }, billed_units: { search_units: 1 }, tokens: { input_tokens: 16 } }
}

/**
 * @category samples
 * @since 0.1.0
 */
export const cohereRerankV1Request: CohereRerank.RequestV1 = {
  ...cohereRerankRequest,
  documents: [{ title: "Billing" }, { title: "Passwords", text: "Reset a forgotten password" }],
  rank_fields: ["title", "text"],
  return_documents: true
}

/**
 * @category samples
 * @since 0.1.0
 */
export const cohereRerankV1Response: CohereRerank.ResponseV1 = {
  id: "rr_03",
  results: [{ index: 1, relevance_score: 0.92, document: { title: "Passwords", text: "Reset a forgotten password" } }],
  meta: { api_version: { version: "1" }, billed_units: { search_units: 1 } }
}
