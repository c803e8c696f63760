/**
 * A valid example of every type of the wire, to answer with and to build on:
 * `{ ...Samples.rerankResponse, provider: "other" }`.
 *
 * @since 0.1.0
 */
import type * as CurrentKey from "@model-gateway/core/CurrentKey"
import type * as Files from "@model-gateway/core/Files"
import * as GatewayError from "@model-gateway/core/GatewayError"
import type * as Guardrails from "@model-gateway/core/Guardrails"
import type * as Keys from "@model-gateway/core/Keys"
import type * as Models from "@model-gateway/core/Models"
import type * as Rerank from "@model-gateway/core/Rerank"
import type * as Routing from "@model-gateway/core/Routing"
import type * as Trace from "@model-gateway/core/Trace"
import type * as Transcription from "@model-gateway/core/Transcription"
import type * as Video from "@model-gateway/core/Video"
import type * as Workspaces from "@model-gateway/core/Workspaces"
import * as Base64 from "effect/encoding/Base64"
import { phrases } from "./internal/envelope.ts"

/** @since 0.1.0 */
export const workspaceId = "7d9d1f9e-3a55-4f0c-9a35-0e4d1b9f6a10"

/** @since 0.1.0 */
export const guardrailId = "c1b9a3f2-6f0e-4c57-8d5b-2f6f0a7e9b31"

/** @since 0.1.0 */
export const fileId = "file-8f3kq2"

/** @since 0.1.0 */
export const videoId = "video-5m1xd7"

/** @since 0.1.0 */
export const keyHash = "9b74c9897bac770ffc029102a200c5de5d1b0d1a6a5f4d7b0e6d3b6f2c8a1e44"

/** @since 0.1.0 */
export const timestamp = "2026-11-20T22:30:00.000Z"

/** @since 0.1.0 */
export const preferences: Routing.Preferences = {
  allow_fallbacks: true,
  order: ["sandbox"],
  only: ["sandbox", "other"],
  ignore: ["third"],
  sort: "price",
  max_price: { search_unit: 0.01, second: 0.02 },
  options: { sandbox: { effort: "low" } }
}

/** @since 0.1.0 */
export const trace: Trace.Metadata = {
  trace_id: "checkout-7",
  trace_name: "checkout",
  span_name: "rank",
  generation_name: "help-search",
  parent_span_id: "span-1",
  tenant: "acme"
}

/** @since 0.1.0 */
export const rerankRequest: Rerank.Request = {
  model: "sandbox/bm25",
  query: "how do I reset my password",
  documents: ["Billing and invoices", { text: "Reset a forgotten password", image: "https://example.com/reset.png" }],
  top_n: 2,
  provider: preferences,
  trace,
  user: "user-17"
}

/** @since 0.1.0 */
export const rerankResponse: Rerank.Response = {
  id: "rr_01",
  model: "sandbox/bm25",
  provider: "sandbox",
  results: [
    {
      index: 1,
      relevance_score: 0.92,
      document: { text: "Reset a forgotten password", image: "https://example.com/reset.png" }
    },
    { index: 0, relevance_score: 0.08, document: { text: "Billing and invoices" } }
  ],
  usage: { search_units: 1, total_tokens: 16, cost: 0.001 }
}

/**
 * A tenth of a second of silence: WAV, 8 kHz, 8 bit, mono, 844 bytes.
 *
 * @since 0.1.0
 */
export const wav: Uint8Array<ArrayBuffer> = /* @__PURE__ */ silence(800)

function silence(samples: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(44 + samples).fill(128, 44)
  const view = new DataView(bytes.buffer)
  const text = (offset: number, value: string) => bytes.set(new TextEncoder().encode(value), offset)
  text(0, "RIFF")
  view.setUint32(4, 36 + samples, true)
  text(8, "WAVEfmt ")
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, 8000, true)
  view.setUint32(28, 8000, true)
  view.setUint16(32, 1, true)
  view.setUint16(34, 8, true)
  text(36, "data")
  view.setUint32(40, samples, true)
  return bytes
}

/**
 * {@link wav} as a file that somebody picked.
 *
 * @since 0.1.0
 */
export const wavFile: File = /* @__PURE__ */ new File([wav], "silence.wav", { type: "audio/wav" })

/** @since 0.1.0 */
export const transcriptionRequest: Transcription.Request = {
  model: "sandbox/tones",
  input_audio: { data: /* @__PURE__ */ Base64.encode(wav), format: "wav" },
  language: "en",
  response_format: "verbose_json",
  temperature: 0.2,
  timestamp_granularities: ["segment", "word"],
  provider: preferences,
  trace,
  user: "user-17"
}

/**
 * The same as a file to upload.
 *
 * @since 0.1.0
 */
export const transcriptionUpload: Extract<Transcription.Input, { readonly file: Blob | Uint8Array }> = {
  model: "sandbox/tones",
  file: wavFile,
  language: "en",
  response_format: "verbose_json",
  temperature: 0.2,
  timestamp_granularities: ["segment", "word"],
  provider: preferences,
  trace,
  user: "user-17"
}

/** @since 0.1.0 */
export const transcriptionResponse: Transcription.Response = {
  text: "1 2",
  usage: { cost: 0.0001, seconds: 1 }
}

/**
 * As `response_format: "verbose_json"` answers.
 *
 * @since 0.1.0
 */
export const transcriptionVerboseResponse: Transcription.Response = {
  text: "1 2",
  usage: { cost: 0.0001, seconds: 1, input_tokens: 4, output_tokens: 2, total_tokens: 6 },
  task: "transcribe",
  language: "en",
  duration: 0.8,
  segments: [
    {
      id: 0,
      start: 0,
      end: 0.8,
      text: "1 2",
      seek: 0,
      tokens: [49, 50],
      temperature: 0,
      avg_logprob: -0.1,
      compression_ratio: 1,
      no_speech_prob: 0.02,
      speaker: "A"
    }
  ],
  words: [
    { word: "1", start: 0, end: 0.3, speaker: "A" },
    { word: "2", start: 0.5, end: 0.8 }
  ]
}

/** @since 0.1.0 */
export const videoRequest: Video.Request = {
  model: "sandbox/title-card",
  prompt: "Dawn over the harbour",
  duration: 3,
  resolution: "720p",
  aspect_ratio: "16:9",
  size: "1280x720",
  callback_url: "https://example.com/hooks/video",
  frame_images: [{ type: "image_url", image_url: { url: "https://example.com/a.png" }, frame_type: "first_frame" }],
  input_references: [
    { type: "image_url", image_url: { url: "https://example.com/b.png" } },
    { type: "audio_url", audio_url: { url: "https://example.com/c.mp3" } },
    { type: "video_url", video_url: { url: "https://example.com/d.mp4" } }
  ],
  generate_audio: false,
  seed: 7,
  creativity: 0.4,
  upscale_factor: 2,
  provider: preferences,
  trace,
  user: "user-17"
}

/**
 * A job in each of its states; submitting answers `pending`.
 *
 * @since 0.1.0
 */
export const videoJobs: { readonly [S in Video.Status]: Video.Job & { readonly status: S } } = {
  pending: job("pending"),
  in_progress: { ...job("in_progress"), generation_id: "gen_01", progress: 0.5 },
  completed: {
    ...job("completed"),
    generation_id: "gen_01",
    progress: 1,
    usage: { cost: 0.03, is_byok: false },
    unsigned_urls: [`/api/v1/videos/${videoId}/content?index=0`]
  },
  failed: { ...job("failed"), generation_id: "gen_01", error: "the provider could not make it" },
  cancelled: job("cancelled"),
  expired: job("expired")
}

function job<S extends Video.Status>(status: S): Video.Job & { readonly status: S } {
  return {
    id: videoId,
    polling_url: `/api/v1/videos/${videoId}`,
    status,
    model: "sandbox/title-card",
    created_at: timestamp
  }
}

/**
 * A confirmation in each of its shapes.
 *
 * @since 0.1.0
 */
export const deletions: { readonly [S in Files.DeletionShape]: Extract<Files.Deletion, { readonly _shape: S }> } = {
  native: { _shape: "native", id: fileId, type: "file_deleted" },
  compat_a: { _shape: "compat_a", id: fileId, object: "file", deleted: true },
  compat_b: { _shape: "compat_b", id: fileId, type: "file_deleted" }
}

/** @since 0.1.0 */
export const file: Files.File = {
  id: fileId,
  object: "file",
  filename: "silence.wav",
  bytes: 844,
  mime_type: "audio/wav",
  purpose: "transcription",
  created_at: timestamp,
  workspace_id: workspaceId
}

/** @since 0.1.0 */
export const fileList: Files.FileList = {
  object: "list",
  data: [file],
  has_more: false,
  first_id: fileId,
  last_id: fileId
}

/** @since 0.1.0 */
export const upload: Files.Upload = { file: wavFile, purpose: "transcription" }

/** @since 0.1.0 */
export const keyRecord: CurrentKey.KeyRecord = {
  label: "mg_sk_…a1Z",
  limit: 10,
  limit_remaining: 7.5,
  limit_reset: "monthly",
  include_byok_in_limit: false,
  usage: 12.25,
  usage_daily: 0.5,
  usage_weekly: 1.25,
  usage_monthly: 2.5,
  byok_usage: 1,
  byok_usage_daily: 0,
  byok_usage_weekly: 0.25,
  byok_usage_monthly: 0.5,
  is_free_tier: false,
  is_management_key: false,
  is_provisioning_key: false,
  creator_user_id: "user_01",
  expires_at: "2027-01-01T00:00:00.000Z",
  free_model_daily_requests: { limit: 200, used: 3, remaining: 197 },
  rate_limit: { requests: -1, interval: "10s", note: "This field is deprecated; ignore it." }
}

/** @since 0.1.0 */
export const currentKeyResponse: CurrentKey.Response = { data: keyRecord }

/** @since 0.1.0 */
export const guardrail: Guardrails.Guardrail = {
  id: guardrailId,
  name: "Interns",
  description: "What interns may use",
  limit: 25,
  limit_reset: "weekly",
  allowed_models: ["sandbox/bm25"],
  allowed_providers: null,
  created_at: timestamp,
  updated_at: timestamp
}

/** @since 0.1.0 */
export const guardrailCreateRequest: Guardrails.CreateRequest = {
  name: "Interns",
  description: "What interns may use",
  limit: 25,
  limit_reset: "weekly",
  allowed_models: ["sandbox/bm25"],
  allowed_providers: null
}

/** @since 0.1.0 */
export const guardrailUpdateRequest: Guardrails.UpdateRequest = { limit: 50, allowed_providers: ["sandbox"] }

/** @since 0.1.0 */
export const guardrailResponse: Guardrails.Response = { data: guardrail }

/** @since 0.1.0 */
export const guardrailListResponse: Guardrails.ListResponse = { data: [guardrail], has_more: false }

/** @since 0.1.0 */
export const guardrailDeleteResponse: Guardrails.DeleteResponse = { deleted: true }

/** @since 0.1.0 */
export const assignRequest: Guardrails.AssignRequest = { key_hashes: [keyHash, "unknown"] }

/** @since 0.1.0 */
export const assignResponse: Guardrails.AssignResponse = {
  assigned_count: 1,
  not_found: ["unknown"],
  replaced: [{ key_hash: keyHash, previous_guardrail_id: "0f6b8f0e-7a52-4d0e-9c1f-6f1d2f0c3b22" }]
}

/** @since 0.1.0 */
export const unassignResponse: Guardrails.UnassignResponse = { unassigned_count: 1 }

/** @since 0.1.0 */
export const assignmentList: Guardrails.AssignmentList = {
  data: [{ key_hash: keyHash, key_name: "search", key_label: "mg_sk_…a1Z", guardrail_id: guardrailId }],
  has_more: false
}

const keyFields: Keys.Key = {
  hash: keyHash,
  name: "search",
  label: "mg_sk_…a1Z",
  workspace_id: workspaceId,
  disabled: false,
  is_management_key: false,
  limit: 10,
  limit_remaining: 7.5,
  limit_reset: "monthly",
  include_byok_in_limit: false,
  usage: 2.5,
  guardrail_id: guardrailId,
  creator_user_id: "user_01",
  created_at: timestamp,
  updated_at: timestamp,
  expires_at: null
}

/** @since 0.1.0 */
export const key: Keys.Key = { ...keyFields, ephemeral_keys: 1 }

/**
 * As `listKeys({ parent_hash })` shows one: limits and usage are its parent's.
 *
 * @since 0.1.0
 */
export const ephemeralKey: Keys.Key = {
  ...keyFields,
  hash: "41f8ae8bc4a4bd2f2f8a7d4e6d5f1f0c9a6d9c1f8d2b7e3a5c4b6a7988d1e2f3",
  label: "mg_ek_…b2Y",
  expires_at: "2026-11-20T22:35:00.000Z",
  parent_hash: keyHash
}

/** @since 0.1.0 */
export const keyCreateRequest: Keys.CreateRequest = {
  name: "search",
  workspace_id: workspaceId,
  is_management_key: false,
  limit: 10,
  limit_reset: "monthly",
  include_byok_in_limit: false,
  expires_at: null
}

/**
 * The key itself is made up: no gateway knows it, and its checksum is wrong.
 *
 * @since 0.1.0
 */
export const keyCreateResponse: Keys.CreateResponse = {
  data: key,
  key: "mg_sk_00000000000000000000000000000000000000"
}

/** @since 0.1.0 */
export const ephemeralKeyRequest: Keys.EphemeralRequest = { expires_in: 300 }

/**
 * The key itself is made up: no gateway knows it, and its checksum is wrong.
 *
 * @since 0.1.0
 */
export const ephemeralKeyResponse: Keys.EphemeralResponse = {
  key: "mg_ek_00000000000000000000000000000000000000",
  expires_at: "2026-11-20T22:35:00.000Z"
}

/** @since 0.1.0 */
export const keyUpdateRequest: Keys.UpdateRequest = { disabled: true, limit: null }

/** @since 0.1.0 */
export const keyResponse: Keys.Response = { data: key }

/** @since 0.1.0 */
export const keyListResponse: Keys.ListResponse = { data: [key], has_more: false }

/** @since 0.1.0 */
export const keyDeleteResponse: Keys.DeleteResponse = { deleted: true }

/** @since 0.1.0 */
export const model: Models.Model = {
  id: "sandbox/title-card",
  name: "Title card",
  kind: "video",
  is_free: false,
  providers: ["sandbox"],
  pricing: { second: 0.01 },
  capabilities: {
    resolutions: ["480p", "720p", "1080p"],
    aspect_ratios: ["16:9", "9:16", "1:1"],
    max_duration: 60,
    prompt_optional: false,
    generate_audio: false,
    upscale: false
  }
}

/** @since 0.1.0 */
export const modelListResponse: Models.ListResponse = { object: "list", data: [model] }

/** @since 0.1.0 */
export const workspace: Workspaces.Workspace = {
  id: workspaceId,
  name: "Default",
  is_default: true,
  credits: 100,
  default_callback_url: "https://example.com/hooks/video",
  file_shape: "native",
  created_at: timestamp
}

/** @since 0.1.0 */
export const workspaceUpdateRequest: Workspaces.UpdateRequest = { name: "Search", file_shape: "compat_a" }

/** @since 0.1.0 */
export const addCreditsRequest: Workspaces.AddCreditsRequest = { amount: 25 }

/** @since 0.1.0 */
export const workspaceResponse: Workspaces.Response = { data: workspace }

/**
 * An error of each status, with the metadata that the service gives it. A handler
 * answers with it as it is: `rerank: Samples.errors[402]`.
 *
 * @since 0.1.0
 */
export const errors = {
  400: new GatewayError.BadRequest({
    error: {
      message: `${phrases[400]}: top_n: Expected a value greater than or equal to 1`,
      metadata: { issues: [{ path: "top_n", message: "Expected a value greater than or equal to 1" }] }
    }
  }),
  401: new GatewayError.Unauthorized({ error: { message: phrases[401] } }),
  402: new GatewayError.PaymentRequired({
    error: { message: `${phrases[402]}: the workspace has no credits left; add credits and try again` }
  }),
  403: new GatewayError.Forbidden({ error: { message: phrases[403] } }),
  404: new GatewayError.NotFound({ error: { message: phrases[404] } }),
  413: new GatewayError.PayloadTooLarge({ error: { message: phrases[413] } }),
  429: new GatewayError.TooManyRequests({ error: { message: phrases[429], metadata: { retry_after: 2 } } }),
  500: new GatewayError.InternalServerError({ error: { message: phrases[500] } }),
  502: new GatewayError.BadGateway({
    error: { message: phrases[502], metadata: { provider: "sandbox", attempts: 1 } }
  }),
  503: new GatewayError.ServiceUnavailable({ error: { message: phrases[503], metadata: { retry_after: 1 } } }),
  504: new GatewayError.GatewayTimeout({ error: { message: phrases[504] } }),
  524: new GatewayError.UpstreamTimeout({
    error: { message: phrases[524], metadata: { provider: "sandbox", attempts: 2 } }
  }),
  529: new GatewayError.ProviderOverloaded({
    error: { message: phrases[529], metadata: { provider: "sandbox", attempts: 1, retry_after: 2 } }
  })
} as const
