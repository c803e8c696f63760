/** Events, and destinations with their defaults, for tests. */
import type { Options } from "../../src/broadcast/Destination.ts"
import type { Event } from "../../src/events/Event.ts"

/** A rerank that succeeded at once. */
export const event = (change: Partial<Event> = {}): Event => ({
  id: "evt_1",
  type: "rerank.completed",
  created_at: 1_800_000_000_500,
  workspace_id: "w",
  key_hash: "hash-of-the-key",
  model: "cohere/rerank-v3.5",
  generation_id: "gen_1",
  provider: "cohere",
  upstream_model: "rerank-v3.5",
  error_status: null,
  input: { documents: 3 },
  cost_micro: 2000,
  is_byok: true,
  usage: { search_units: 1, total_tokens: 40 },
  user: "ada",
  trace: null,
  started_at: 1_800_000_000_000,
  duration_ms: 500,
  attempts: [{ provider: "cohere", outcome: "Success", seconds: 0.25, billed: "yes" }],
  job: null,
  callback_url: "https://caller.example/done",
  ...change
})

export const options = (change: Partial<Options> = {}): Options => ({
  url: "https://collector.example/v1/traces",
  method: "POST",
  api_key_hashes: null,
  broadcast_generation_cost: false,
  broadcast_generation_identity: false,
  broadcast_generation_request_context: false,
  filter_rules: null,
  privacy_mode: false,
  sampling_rate: 1,
  ...change
})
