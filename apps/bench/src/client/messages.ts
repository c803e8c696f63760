/** The requests and responses, the same for every client. */
import type { KeyRecord } from "@model-gateway/core/CurrentKey"
import type * as Rerank from "@model-gateway/core/Rerank"
import type * as Transcription from "@model-gateway/core/Transcription"

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

/** A second of silence: 8 kHz, 8 bit, mono. */
export const wav = (): Uint8Array<ArrayBuffer> => {
  const samples = 8000
  const bytes = new Uint8Array(44 + samples).fill(128)
  const view = new DataView(bytes.buffer)
  bytes.set(new TextEncoder().encode("RIFF"), 0)
  view.setUint32(4, 36 + samples, true)
  bytes.set(new TextEncoder().encode("WAVEfmt "), 8)
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, 8000, true)
  view.setUint32(28, 8000, true)
  view.setUint16(32, 1, true)
  view.setUint16(34, 8, true)
  bytes.set(new TextEncoder().encode("data"), 36)
  view.setUint32(40, samples, true)
  return bytes
}

export const transcriptionResponse: Transcription.Response = {
  text: "0123456789",
  usage: { seconds: 1, cost: 0.0001 }
}

export const keyRecord: KeyRecord = {
  label: "mg_sk_…abc",
  limit: null,
  limit_remaining: null,
  limit_reset: null,
  include_byok_in_limit: false,
  usage: 1.234,
  usage_daily: 0.1,
  usage_weekly: 0.2,
  usage_monthly: 0.3,
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
  organization_id: "2f1c7a9e-8a6b-4c53-9e1d-5b7f0c2d4e68",
  allowed_data_regions: [],
  free_model_daily_requests: { limit: 200, used: 0, remaining: 200 },
  rate_limit: { requests: -1, interval: "10s", note: "This field is deprecated and safe to ignore." }
}
