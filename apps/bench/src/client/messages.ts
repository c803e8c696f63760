/** The requests and responses, the same for every client. */
import type * as Rerank from "@model-gateway/core/Rerank"
import type * as Transcription from "@model-gateway/core/Transcription"
import { silence } from "@model-gateway/test-services/Wav"

const document = (i: number): string =>
  `Document ${i}: how to keep a vegetable garden through a dry summer, part ${i} of twenty, with notes on mulch.`

const documents: [string, ...Array<string>] = [document(0), ...Array.from({ length: 19 }, (_, i) => document(i + 1))]

export const rerankRequest = {
  model: "sandbox/bm25",
  query: "which mulch keeps a garden moist",
  documents
}

export const rerankResponse: Rerank.Response = {
  id: "rerank-0197f2a0",
  model: "sandbox/bm25",
  provider: "sandbox",
  results: documents.map((text, index) => ({ index, relevance_score: 1 - index / 20, document: { text } })),
  usage: { search_units: 1, total_tokens: 412, cost: 0.001 }
}

/** A second of silence. */
export const wav = (): Uint8Array<ArrayBuffer> => new Uint8Array(silence({ bits: 8, size: 8000 }))

export const transcriptionResponse: Transcription.Response = {
  text: "0123456789",
  usage: { seconds: 1, cost: 0.0001 }
}
