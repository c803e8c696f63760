/**
 * A valid example of every wire type. Use it as a response, or as a base for your own:
 * `{ ...Samples.rerankResponse, provider: "other" }`.
 *
 * @since 0.1.0
 */
import * as CurrentKey from "@model-gateway/core/CurrentKey"
import * as Files from "@model-gateway/core/Files"
import * as GatewayError from "@model-gateway/core/GatewayError"
import type * as Rerank from "@model-gateway/core/Rerank"
import type * as Routing from "@model-gateway/core/Routing"
import type * as Trace from "@model-gateway/core/Trace"
import type * as Transcription from "@model-gateway/core/Transcription"
import type * as Video from "@model-gateway/core/Video"
import * as Base64 from "effect/encoding/Base64"
import { keyHash, workspaceId, organizationId, fileId, videoId, timestamp } from "./internal/managementSamples.ts"
import { sample } from "./internal/sample.ts"

export * from "./internal/cohereSamples.ts"
export * from "./internal/managementSamples.ts"

/**
 * @category samples
 * @since 0.1.0
 */
export const preferences: Routing.Preferences = {
  allow_fallbacks: true,
  order: ["sandbox"],
  only: ["sandbox", "other"],
  ignore: ["third"],
  sort: "price",
  max_price: { search_unit: 0.01, second: 0.02 },
  options: { sandbox: { effort: "low" } }
}

/**
 * @category samples
 * @since 0.1.0
 */
export const trace: Trace.Metadata = {
  trace_id: "checkout-7",
  trace_name: "checkout",
  span_name: "rank",
  generation_name: "help-search",
  parent_span_id: "span-1",
  tenant: "acme"
}

/**
 * @category samples
 * @since 0.1.0
 */
export const rerankRequest: Rerank.Request = {
  model: "sandbox/bm25",
  query: "how do I reset my password",
  documents: ["Billing and invoices", { text: "Reset a forgotten password", image: "https://example.com/reset.png" }],
  top_n: 2,
  provider: preferences,
  trace,
  user: "user-17"
}

/**
 * @category samples
 * @since 0.1.0
 */
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
 * 0.1 seconds of silence: WAV, 8 kHz, 8 bit, mono, 844 bytes.
 *
 * @category samples
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
 * {@link wav} as a `File`.
 *
 * @category samples
 * @since 0.1.0
 */
export const wavFile: File = /* @__PURE__ */ new File([wav], "silence.wav", { type: "audio/wav" })

/**
 * @category samples
 * @since 0.1.0
 */
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
 * A transcription request with a file in place of base64.
 *
 * @category samples
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

/**
 * @category samples
 * @since 0.1.0
 */
export const transcriptionResponse: typeof Transcription.Response.Type = {
  text: "1 2",
  usage: { cost: 0.0001, seconds: 1 }
}

/**
 * The response for `response_format: "verbose_json"`.
 *
 * @category samples
 * @since 0.1.0
 */
export const transcriptionVerboseResponse: typeof Transcription.Response.Type = {
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
      speaker: 0
    }
  ],
  words: [
    { word: "1", start: 0, end: 0.3, speaker: 0 },
    { word: "2", start: 0.5, end: 0.8 }
  ]
}

/**
 * @category samples
 * @since 0.1.0
 */
export const videoRequest: Video.Request = {
  model: "sandbox/title-card",
  prompt: "Dawn over the harbor",
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
 * A job in each state. Submitting a job returns `pending`.
 *
 * @category samples
 * @since 0.1.0
 */
export const videoJobs: { readonly [S in Video.Status]: typeof Video.Job.Type & { readonly status: S } } = {
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

/**
 * @category samples
 * @since 0.1.0
 */
export const videoJobList: typeof Video.JobList.Type = {
  data: [listedJob(videoJobs.completed), listedJob(videoJobs.failed)],
  has_more: false,
  next: null
}

function listedJob(job: typeof Video.Job.Type): typeof Video.ListedJob.Type {
  return { ...job, finished_at: timestamp, workspace_id: workspaceId, key_hash: keyHash, key_name: "Studio" }
}

function job<S extends Video.Status>(status: S): typeof Video.Job.Type & { readonly status: S } {
  return {
    id: videoId,
    polling_url: `/api/v1/videos/${videoId}`,
    status,
    model: "sandbox/title-card",
    created_at: timestamp
  }
}

/**
 * A deletion confirmation in each shape.
 *
 * @category samples
 * @since 0.1.0
 */
export const deletions: { readonly [S in Files.DeletionShape]: Extract<Files.Deletion, { readonly _shape: S }> } = {
  native: { _shape: "native", id: fileId, type: "file_deleted" },
  compat_a: { _shape: "compat_a", id: fileId, object: "file", deleted: true },
  compat_b: { _shape: "compat_b", id: fileId, type: "file_deleted" }
}

/**
 * @category samples
 * @since 0.1.0
 */
export const file: Files.File = /* @__PURE__ */ sample(Files.File, {
  id: fileId,
  filename: "silence.wav",
  mime_type: "audio/wav",
  size_bytes: 844,
  downloadable: true,
  purpose: "transcription",
  workspace_id: workspaceId
})

/**
 * @category samples
 * @since 0.1.0
 */
export const fileList: Files.FileList = {
  _shape: "native",
  data: [file],
  has_more: false,
  first_id: fileId,
  last_id: fileId,
  cursor: null
}

/**
 * @category samples
 * @since 0.1.0
 */
export const upload: Files.Upload = { file: wavFile, purpose: "transcription" }

/**
 * @category samples
 * @since 0.1.0
 */
export const keyRecord: typeof CurrentKey.KeyRecord.Type = /* @__PURE__ */ sample(CurrentKey.KeyRecord, {
  label: "mg_sk_…a1Z",
  limit: 10,
  limit_remaining: 7.5,
  limit_reset: "monthly",
  usage: 12.25,
  usage_daily: 0.5,
  usage_weekly: 1.25,
  usage_monthly: 2.5,
  byok_usage: 1,
  byok_usage_weekly: 0.25,
  byok_usage_monthly: 0.5,
  creator_user_id: "user_01",
  expires_at: "2027-01-01T00:00:00.000Z",
  workspace_id: workspaceId,
  organization_id: organizationId,
  free_model_daily_requests: { limit: 200, used: 3, remaining: 197 },
  rate_limit: { requests: -1, interval: "10s", note: "This field is deprecated; ignore it." }
})

/**
 * @category samples
 * @since 0.1.0
 */
export const currentKeyResponse: CurrentKey.Response = { data: keyRecord }

/**
 * An error for each status, with the metadata that the service adds. Use it as a handler:
 * `rerank: Samples.errors[402]`.
 *
 * @category samples
 * @since 0.1.0
 */
export const errors = {
  400: new GatewayError.BadRequest({
    error: {
      message: `${GatewayError.phrases[400]}: top_n: Expected a value greater than or equal to 1`,
      metadata: { issues: [{ path: "top_n", message: "Expected a value greater than or equal to 1" }] }
    }
  }),
  401: new GatewayError.Unauthorized({ error: { message: GatewayError.phrases[401] } }),
  402: new GatewayError.PaymentRequired({
    error: { message: `${GatewayError.phrases[402]}: the workspace has no credits left; add credits and try again` }
  }),
  403: new GatewayError.Forbidden({ error: { message: GatewayError.phrases[403] } }),
  404: new GatewayError.NotFound({ error: { message: GatewayError.phrases[404] } }),
  413: new GatewayError.PayloadTooLarge({ error: { message: GatewayError.phrases[413] } }),
  429: new GatewayError.TooManyRequests({
    error: { message: GatewayError.phrases[429], metadata: { retry_after: 2 } }
  }),
  500: new GatewayError.InternalServerError({ error: { message: GatewayError.phrases[500] } }),
  502: new GatewayError.BadGateway({
    error: { message: GatewayError.phrases[502], metadata: { provider: "sandbox", attempts: 1 } }
  }),
  503: new GatewayError.ServiceUnavailable({
    error: { message: GatewayError.phrases[503], metadata: { retry_after: 1 } }
  }),
  504: new GatewayError.GatewayTimeout({ error: { message: GatewayError.phrases[504] } }),
  524: new GatewayError.UpstreamTimeout({
    error: { message: GatewayError.phrases[524], metadata: { provider: "sandbox", attempts: 2 } }
  }),
  529: new GatewayError.ProviderOverloaded({
    error: { message: GatewayError.phrases[529], metadata: { provider: "sandbox", attempts: 1, retry_after: 2 } }
  })
} as const
