/** Samples of reranks in Cohere's shapes. */
import type * as CohereRerank from "@model-gateway/core/CohereRerank"

/** @since 0.1.0 */
export const cohereRerankRequest: CohereRerank.Request = {
  model: "sandbox/bm25",
  query: "how do I reset my password",
  documents: ["Billing and invoices", "Reset a forgotten password"],
  top_n: 1
}

/** @since 0.1.0 */
export const cohereRerankResponse: CohereRerank.Response = {
  id: "rr_02",
  results: [{ index: 1, relevance_score: 0.92 }],
  meta: { api_version: { version: "2" }, billed_units: { search_units: 1 }, tokens: { input_tokens: 16 } }
}

/** @since 0.1.0 */
export const cohereRerankV1Request: CohereRerank.RequestV1 = {
  ...cohereRerankRequest,
  documents: [{ title: "Billing" }, { title: "Passwords", text: "Reset a forgotten password" }],
  rank_fields: ["title", "text"],
  return_documents: true
}

/** @since 0.1.0 */
export const cohereRerankV1Response: CohereRerank.ResponseV1 = {
  id: "rr_03",
  results: [{ index: 1, relevance_score: 0.92, document: { title: "Passwords", text: "Reset a forgotten password" } }],
  meta: { api_version: { version: "1" }, billed_units: { search_units: 1 } }
}
