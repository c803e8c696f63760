/** Samples of keys, guardrails and workspaces, and the identifiers that all samples share. */
import * as Activity from "@model-gateway/core/Activity"
import * as Byok from "@model-gateway/core/Byok"
import type * as ConsoleSessions from "@model-gateway/core/ConsoleSessions"
import type * as Credits from "@model-gateway/core/Credits"
import * as Alerts from "@model-gateway/core/Alerts"
import * as Destinations from "@model-gateway/core/Destinations"
import * as Generations from "@model-gateway/core/Generations"
import * as Guardrails from "@model-gateway/core/Guardrails"
import * as Keys from "@model-gateway/core/Keys"
import * as ModelEndpoints from "@model-gateway/core/ModelEndpoints"
import * as Models from "@model-gateway/core/Models"
import type * as ProviderHealth from "@model-gateway/core/ProviderHealth"
import * as Providers from "@model-gateway/core/Providers"
import * as AuditLog from "@model-gateway/core/AuditLog"
import * as RejectedRequests from "@model-gateway/core/RejectedRequests"
import type * as Reservations from "@model-gateway/core/Reservations"
import type * as System from "@model-gateway/core/System"
import * as VideoModels from "@model-gateway/core/VideoModels"
import * as Webhooks from "@model-gateway/core/Webhooks"
import * as Workspaces from "@model-gateway/core/Workspaces"
import * as Redacted from "effect/Redacted"
import { sample, timestamp } from "./sample.ts"

/**
 * @category samples
 * @since 0.1.0
 */
export const workspaceId = "7d9d1f9e-3a55-4f0c-9a35-0e4d1b9f6a10"

/**
 * @category samples
 * @since 0.1.0
 */
export const organizationId = "2f1c7a9e-8a6b-4c53-9e1d-5b7f0c2d4e68"

/**
 * @category samples
 * @since 0.1.0
 */
export const guardrailId = "c1b9a3f2-6f0e-4c57-8d5b-2f6f0a7e9b31"

/**
 * @category samples
 * @since 0.1.0
 */
export const fileId = "file-8f3kq2"

/**
 * @category samples
 * @since 0.1.0
 */
export const videoId = "video-5m1xd7"

/**
 * @category samples
 * @since 0.1.0
 */
export const keyHash = "9b74c9897bac770ffc029102a200c5de5d1b0d1a6a5f4d7b0e6d3b6f2c8a1e44"

export { timestamp }

/**
 * @category samples
 * @since 0.1.0
 */
export const guardrail: typeof Guardrails.Guardrail.Type = /* @__PURE__ */ sample(Guardrails.Guardrail, {
  id: guardrailId,
  name: "Interns",
  description: "What interns may use",
  workspace_id: workspaceId,
  limit_usd: 25,
  reset_interval: "weekly",
  resets_at: timestamp,
  limit_remaining: 20,
  usage: 5,
  usage_daily: 5,
  usage_weekly: 5,
  usage_monthly: 5,
  keys: [{ hash: keyHash, name: "Intern 1", label: "mg_sk_…a1Z" }],
  key_count: 1,
  allowed_models: ["sandbox/bm25"],
  ignored_providers: ["cohere"]
})

/**
 * @category samples
 * @since 0.1.0
 */
export const guardrailCreateRequest: Guardrails.CreateRequest = {
  name: "Interns",
  description: "What interns may use",
  limit_usd: 25,
  reset_interval: "weekly",
  allowed_models: ["sandbox/bm25"],
  ignored_providers: ["cohere"]
}

/**
 * @category samples
 * @since 0.1.0
 */
export const guardrailUpdateRequest: Guardrails.UpdateRequest = { limit_usd: 50, allowed_providers: ["sandbox"] }

/**
 * @category samples
 * @since 0.1.0
 */
export const guardrailResponse: typeof Guardrails.Response.Type = { data: guardrail }

/**
 * @category samples
 * @since 0.1.0
 */
export const guardrailListResponse: typeof Guardrails.ListResponse.Type = { data: [guardrail], total_count: 1 }

/**
 * @category samples
 * @since 0.1.0
 */
export const guardrailDeleteResponse: Guardrails.DeleteResponse = { deleted: true }

/**
 * @category samples
 * @since 0.1.0
 */
export const assignRequest: Guardrails.AssignRequest = { key_hashes: [keyHash, "unknown"] }

/**
 * @category samples
 * @since 0.1.0
 */
export const assignResponse: typeof Guardrails.AssignResponse.Type = {
  assigned_count: 1,
  not_found: ["unknown"],
  replaced: [{ key_hash: keyHash, previous_guardrail_id: "0f6b8f0e-7a52-4d0e-9c1f-6f1d2f0c3b22" }]
}

/**
 * @category samples
 * @since 0.1.0
 */
export const unassignResponse: Guardrails.UnassignResponse = { unassigned_count: 1 }

/**
 * @category samples
 * @since 0.1.0
 */
export const assignmentList: typeof Guardrails.AssignmentList.Type = {
  data: [
    /* @__PURE__ */ sample(Guardrails.KeyAssignment, {
      id: `${guardrailId}:${keyHash}`,
      key_hash: keyHash,
      key_name: "search",
      key_label: "mg_sk_…a1Z",
      guardrail_id: guardrailId
    })
  ],
  total_count: 1
}

const keyFields: typeof Keys.Key.Type = /* @__PURE__ */ sample(Keys.Key, {
  hash: keyHash,
  name: "search",
  label: "mg_sk_…a1Z",
  workspace_id: workspaceId,
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
  guardrail_id: guardrailId,
  creator_user_id: "user_01",
  external_user: "customer-17"
})

/**
 * @category samples
 * @since 0.1.0
 */
export const key: typeof Keys.Key.Type = { ...keyFields, ephemeral_keys: 1 }

/**
 * An ephemeral key in the response of `listKeys({ parent_hash })`. Limits and usage are its
 * parent's.
 *
 * @category samples
 * @since 0.1.0
 */
export const ephemeralKey: typeof Keys.Key.Type = {
  ...keyFields,
  hash: "41f8ae8bc4a4bd2f2f8a7d4e6d5f1f0c9a6d9c1f8d2b7e3a5c4b6a7988d1e2f3",
  label: "mg_ek_…b2Y",
  expires_at: "2026-11-20T22:35:00.000Z",
  parent_hash: keyHash,
  operations: ["uploadFile", "transcribe"],
  own_files: true
}

/**
 * @category samples
 * @since 0.1.0
 */
export const keyCreateRequest: Keys.CreateRequest = {
  name: "search",
  workspace_id: workspaceId,
  is_management_key: false,
  limit: 10,
  limit_reset: "monthly",
  include_byok_in_limit: false,
  expires_at: null,
  creator_user_id: "user_01",
  external: { user: "customer-17" }
}

/**
 * The key is not real: its checksum is wrong, and no gateway accepts it.
 *
 * @category samples
 * @since 0.1.0
 */
export const keyCreateResponse: typeof Keys.CreateResponse.Type = {
  data: key,
  key: Redacted.make("mg_sk_00000000000000000000000000000000000000")
}

/**
 * @category samples
 * @since 0.1.0
 */
export const keyRotateRequest: Keys.RotateRequest = { grace_seconds: 3600 }

/**
 * @category samples
 * @since 0.1.0
 */
export const keyRotateResponse: typeof Keys.RotateResponse.Type = {
  data: key,
  key: Redacted.make("mg_sk_00000000000000000000000000000000000000"),
  previous_expires_at: "2026-11-20T23:30:00.000Z"
}

/**
 * @category samples
 * @since 0.1.0
 */
export const ephemeralKeyRequest: Keys.EphemeralRequest = {
  expires_in: 300,
  operations: ["uploadFile", "transcribe"],
  own_files: true
}

/**
 * The key is not real: its checksum is wrong, and no gateway accepts it.
 *
 * @category samples
 * @since 0.1.0
 */
export const ephemeralKeyResponse: typeof Keys.EphemeralResponse.Type = {
  key: Redacted.make("mg_ek_00000000000000000000000000000000000000"),
  expires_at: "2026-11-20T22:35:00.000Z"
}

/**
 * @category samples
 * @since 0.1.0
 */
export const keyUpdateRequest: Keys.UpdateRequest = { disabled: true, limit: null }

/**
 * @category samples
 * @since 0.1.0
 */
export const keyResponse: typeof Keys.Response.Type = { data: key }

/**
 * @category samples
 * @since 0.1.0
 */
export const keyListResponse: typeof Keys.ListResponse.Type = { data: [key], has_more: false, total_count: 1 }

/**
 * @category samples
 * @since 0.1.0
 */
export const keyDeleteResponse: Keys.DeleteResponse = { deleted: true }

const videoCapabilities: Models.Capabilities = {
  resolutions: ["480p", "720p", "1080p"],
  aspect_ratios: ["16:9", "9:16", "1:1"],
  max_duration: 60,
  prompt_optional: false,
  generate_audio: false,
  upscale: false
}

/**
 * @category samples
 * @since 0.1.0
 */
export const model: Models.Model = /* @__PURE__ */ sample(Models.Model, {
  id: "sandbox/title-card",
  canonical_slug: "sandbox/title-card",
  owned_by: "sandbox",
  name: "Title card",
  architecture: /* @__PURE__ */ sample(Models.Architecture, {
    input_modalities: ["text"],
    output_modalities: ["video"],
    modality: "text->video"
  }),
  pricing: { prompt: "0", completion: "0", second: "0.01" },
  supported_parameters: ["seed"],
  links: { details: "/api/v1/models/sandbox/title-card/endpoints" },
  providers: ["sandbox"],
  kind: "video",
  capabilities: videoCapabilities
})

/**
 * @category samples
 * @since 0.1.0
 */
export const modelListResponse: Models.ListResponse = {
  object: "list",
  data: [model],
  links: { next: null },
  total_count: 1
}

/**
 * @category samples
 * @since 0.1.0
 */
export const modelCountResponse: Models.CountResponse = { data: { count: 1 } }

/**
 * @category samples
 * @since 0.1.0
 */
export const modelResponse: Models.Response = { data: model }

/**
 * @category endpoints
 * @since 0.1.0
 */
export const modelEndpoint: ModelEndpoints.Endpoint = /* @__PURE__ */ sample(ModelEndpoints.Endpoint, {
  name: "sandbox | sandbox/title-card",
  model_id: model.id,
  model_name: model.name,
  provider_name: "sandbox",
  tag: "sandbox",
  pricing: model.pricing,
  supported_parameters: ["seed"],
  kind: "video",
  capabilities: videoCapabilities
})

/**
 * @category samples
 * @since 0.1.0
 */
export const modelEndpointsResponse: ModelEndpoints.Response = {
  data: /* @__PURE__ */ sample(ModelEndpoints.ModelEndpoints, {
    id: model.id,
    name: model.name,
    architecture: model.architecture,
    endpoints: [modelEndpoint]
  })
}

/**
 * @category samples
 * @since 0.1.0
 */
export const videoModel: VideoModels.VideoModel = /* @__PURE__ */ sample(VideoModels.VideoModel, {
  id: model.id,
  canonical_slug: model.id,
  name: model.name,
  supported_resolutions: ["480p", "720p", "1080p"],
  supported_aspect_ratios: ["16:9", "9:16", "1:1"],
  pricing_skus: { duration_seconds: "0.01" },
  pricing: model.pricing,
  default_duration: 5,
  providers: ["sandbox"],
  capabilities: videoCapabilities
})

/**
 * @category samples
 * @since 0.1.0
 */
export const videoModelListResponse: VideoModels.ListResponse = { data: [videoModel] }

/**
 * @category samples
 * @since 0.1.0
 */
export const provider: Providers.Provider = /* @__PURE__ */ sample(Providers.Provider, {
  name: "sandbox",
  slug: "sandbox",
  kinds: ["rerank", "transcription", "video"]
})

/**
 * @category samples
 * @since 0.1.0
 */
export const providerListResponse: Providers.ListResponse = { data: [provider] }

/**
 * @category samples
 * @since 0.1.0
 */
export const workspace: Workspaces.Workspace = /* @__PURE__ */ sample(Workspaces.Workspace, {
  id: workspaceId,
  name: "Default",
  slug: "default",
  is_default: true,
  credits: 100,
  default_callback_url: "https://example.com/hooks/video",
  file_shape: "native",
  updated_at: timestamp
})

/**
 * @category samples
 * @since 0.1.0
 */
export const workspaceCreateRequest: Workspaces.CreateRequest = { name: "Search", slug: "search" }

/**
 * @category samples
 * @since 0.1.0
 */
export const workspaceUpdateRequest: Workspaces.UpdateRequest = { name: "Search", file_shape: "compat_a" }

/**
 * @category samples
 * @since 0.1.0
 */
export const credits: Credits.Credits = { total_credits: 110, total_usage: 42.5 }

/**
 * @category samples
 * @since 0.1.0
 */
export const creditsResponse: Credits.Response = { data: credits }

/**
 * @category samples
 * @since 0.1.0
 */
export const creditLedgerEntry: Credits.LedgerEntry = {
  id: "019ab1c2-3d4e-7f50-8123-456789abcdee",
  created_at: timestamp,
  workspace_id: workspace.id,
  kind: "added",
  amount: 25,
  balance: 100,
  note: "Invoice 1017",
  actor: null
}

/**
 * @category samples
 * @since 0.1.0
 */
export const creditLedgerResponse: Credits.LedgerResponse = { data: [creditLedgerEntry], has_more: false }

/**
 * @category samples
 * @since 0.1.0
 */
export const byokTestResponse: Byok.TestResponse = {
  data: {
    accepted: true,
    outcome: "Success",
    status: null,
    message: null,
    model: "cohere/rerank-v3.5",
    duration_ms: 142
  }
}

/**
 * @category samples
 * @since 0.1.0
 */
export const destinationTestResponse: Destinations.TestResponse = {
  data: { accepted: true, error: null, duration_ms: 84, event_id: "evt_test_019ab1c23d4e7f508123456789abcdef" }
}

/**
 * @category samples
 * @since 0.1.0
 */
export const instance: System.Instance = {
  id: "proc_019ab1c2-3d4e-7f50-8123-456789abcdef",
  is_current: true,
  version: "0.1.0",
  worker: null,
  started_at: timestamp,
  last_heartbeat_at: timestamp,
  checked_at: timestamp,
  status: "ready",
  parts: { database: { status: "ready" } }
}

/**
 * @category samples
 * @since 0.1.0
 */
export const instancesResponse: System.InstancesResponse = {
  data: [instance],
  database: { kind: "sqlite", schema_version: 13 }
}

/**
 * @category samples
 * @since 0.1.0
 */
export const consoleSessionListResponse: ConsoleSessions.ListResponse = {
  data: [
    {
      id: "019ab1c2-3d4e-7f50-8123-456789abcdef",
      kind: "key",
      actor: keyHash,
      label: "Operations",
      role: "admin",
      workspace_ids: null,
      address: "203.0.113.7",
      created_at: timestamp,
      last_used_at: timestamp,
      expires_at: timestamp,
      is_current: false
    }
  ],
  has_more: false
}

/**
 * @category samples
 * @since 0.1.0
 */
export const consoleSessionEndResponse: ConsoleSessions.EndResponse = { ended_count: 1 }

/**
 * @category samples
 * @since 0.1.0
 */
export const settingsResponse: System.SettingsResponse = {
  data: [
    {
      name: "port",
      variable: "MODEL_GATEWAY_PORT",
      description: "Port to listen on",
      value: "8787",
      is_secret: false,
      source: "default",
      place: null
    }
  ],
  instance_id: instance.id
}

/**
 * @category samples
 * @since 0.1.0
 */
export const reservation: Reservations.Reservation = {
  id: "019ab1c2-3d4e-7f50-8123-456789abcdef",
  state: "abandoned",
  holder: null,
  workspace_id: workspace.id,
  key_hash: keyHash,
  request_id: null,
  video_id: null,
  operation: "rerank",
  model: "cohere/rerank-v3.5",
  amount: 0.002,
  is_byok: false,
  reserved_at: timestamp,
  abandoned_at: timestamp
}

/**
 * @category samples
 * @since 0.1.0
 */
export const reservationListResponse: Reservations.ListResponse = { data: [reservation], has_more: false }

/**
 * @category samples
 * @since 0.1.0
 */
export const addCreditsRequest: Workspaces.AddCreditsRequest = { amount: 25 }

/**
 * @category samples
 * @since 0.1.0
 */
export const workspaceResponse: Workspaces.Response = { data: workspace }

/**
 * @category samples
 * @since 0.1.0
 */
export const workspaceListResponse: Workspaces.ListResponse = { data: [workspace], total_count: 1 }

/**
 * @category samples
 * @since 0.1.0
 */
export const workspaceDeleteResponse: Workspaces.DeleteResponse = { deleted: true }

/**
 * @category samples
 * @since 0.1.0
 */
export const webhookRotateRequest: Webhooks.RotateRequest = { keep_previous_for: 3600 }

/**
 * @category samples
 * @since 0.1.0
 */
export const webhookRotateResponse: Webhooks.RotateResponse = {
  data: /* @__PURE__ */ sample(Webhooks.RotatedSecret, {
    workspace_id: workspaceId,
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
  })
}

/**
 * @category samples
 * @since 0.1.0
 */
export const webhookDelivery: Webhooks.Delivery = /* @__PURE__ */ sample(Webhooks.Delivery, {
  id: "evt_gen_019ab1c23d4e7f508123456789abcdef",
  workspace_id: workspaceId,
  video_id: "video_019ab1c23d4e7f508123456789abcdef",
  type: "video.completed",
  url: "https://example.com/hooks/video",
  status: "delivered",
  finished_at: timestamp,
  attempts: [
    /* @__PURE__ */ sample(Webhooks.DeliveryAttempt, {
      status_code: 500,
      duration_ms: 12,
      error: "The receiver answered with status 500.",
      response_excerpt: "Internal error"
    }),
    /* @__PURE__ */ sample(Webhooks.DeliveryAttempt, { status_code: 204, duration_ms: 8 })
  ]
})

/**
 * @category samples
 * @since 0.1.0
 */
export const webhookDeliveryResponse: Webhooks.DeliveryResponse = { data: webhookDelivery }

/**
 * @category samples
 * @since 0.1.0
 */
export const webhookDeliveryListResponse: Webhooks.DeliveryListResponse = { data: [webhookDelivery], has_more: false }

/**
 * @category samples
 * @since 0.1.0
 */
export const byokKeyId = "3f0c8a3e-52b4-4f7b-8f0f-6f6a0d1f2b73"

/**
 * @category samples
 * @since 0.1.0
 */
export const byokKey: Byok.ByokKey = /* @__PURE__ */ sample(Byok.ByokKey, {
  id: byokKeyId,
  provider: "cohere",
  name: "Search team",
  label: "abc…wxyz",
  workspace_id: workspaceId,
  is_required: true,
  allowed_api_key_hashes: [keyHash]
})

/**
 * @category samples
 * @since 0.1.0
 */
export const byokCreateRequest: Byok.CreateRequest = {
  provider: "cohere",
  key: "a-key-of-the-search-team",
  name: "Search team",
  is_required: true,
  allowed_api_key_hashes: [keyHash]
}

/**
 * @category samples
 * @since 0.1.0
 */
export const byokUpdateRequest: Byok.UpdateRequest = { disabled: true }

/**
 * @category samples
 * @since 0.1.0
 */
export const byokResponse: Byok.Response = { data: byokKey }

/**
 * @category samples
 * @since 0.1.0
 */
export const byokListResponse: Byok.ListResponse = { data: [byokKey], total_count: 1 }

/**
 * @category samples
 * @since 0.1.0
 */
export const byokDeleteResponse: Byok.DeleteResponse = { deleted: true }

/**
 * @category samples
 * @since 0.1.0
 */
export const destinationId = "0199f0c2-5a1e-7c3b-9d44-6b2f8e1a7c05"

/**
 * @category samples
 * @since 0.1.0
 */
export const destination: Destinations.Destination = /* @__PURE__ */ sample(Destinations.Destination, {
  id: destinationId,
  name: "Traces",
  type: "otel-collector",
  workspace_id: workspaceId,
  enabled: true,
  config: { endpoint: "https://collector.example/v1/traces", headers: { authorization: "********" } },
  filter_rules: { groups: [{ rules: [{ field: "model", operator: "starts_with", value: "cohere/" }] }] },
  regions: ["global"],
  sampling_rate: 1
})

/**
 * @category samples
 * @since 0.1.0
 */
export const destinationCreateRequest: Destinations.CreateRequest = {
  name: "Traces",
  type: "otel-collector",
  config: { endpoint: "https://collector.example/v1/traces", headers: { authorization: "Bearer token" } },
  filter_rules: { groups: [{ rules: [{ field: "model", operator: "starts_with", value: "cohere/" }] }] }
}

/**
 * @category samples
 * @since 0.1.0
 */
export const destinationUpdateRequest: Destinations.UpdateRequest = { enabled: false, sampling_rate: 0.5 }

/**
 * @category samples
 * @since 0.1.0
 */
export const destinationCreateResponse: Destinations.CreateResponse = { data: destination }

/**
 * @category samples
 * @since 0.1.0
 */
export const destinationResponse: Destinations.Response = { data: destination }

/**
 * @category samples
 * @since 0.1.0
 */
export const destinationListResponse: Destinations.ListResponse = { data: [destination], total_count: 1 }

/**
 * @category samples
 * @since 0.1.0
 */
export const destinationDeleteResponse: Destinations.DeleteResponse = { deleted: true }

/**
 * @category samples
 * @since 0.1.0
 */
export const generationId = "019ab1c2-3d4e-7f50-8123-456789abcdef"

const attempts: ReadonlyArray<Generations.ProviderAttempt> = [
  { provider: "jina", outcome: "RateLimited", status: 429, seconds: 0.031, billed: "no" },
  { provider: "cohere", outcome: "Success", seconds: 0.204, billed: "yes" }
]

/**
 * @category samples
 * @since 0.1.0
 */
export const generation: Generations.Generation = /* @__PURE__ */ sample(Generations.Generation, {
  id: generationId,
  api_type: "rerank",
  model: "cohere/rerank-v3.5",
  provider_name: "cohere",
  provider_responses: [
    { provider_name: "jina", status: 429, latency: 31 },
    { provider_name: "cohere", status: 200, latency: 204, is_byok: false }
  ],
  total_cost: 0.002,
  usage: 0.002,
  latency: 238,
  generation_time: 204,
  cancelled: false,
  workspace_id: workspaceId,
  request_id: "req_019aab3e5c7f7d3e9a41c2f0b6d84e110",
  external_user: "customer-17",
  trace: { trace_id: "checkout-7", span_name: "rank" },
  status: "completed",
  attempts
})

/**
 * @category samples
 * @since 0.1.0
 */
export const generationResponse: Generations.Response = { data: generation }

/**
 * @category samples
 * @since 0.1.0
 */
export const generationEntry: Generations.Entry = /* @__PURE__ */ sample(Generations.Entry, {
  id: generationId,
  workspace_id: workspaceId,
  key_hash: keyHash,
  request_id: "req_019aab3e5c7f7d3e9a41c2f0b6d84e110",
  external_user: "customer-17",
  trace: { trace_id: "checkout-7", span_name: "rank" },
  operation: "rerank",
  model: "cohere/rerank-v3.5",
  status: "completed",
  provider: "cohere",
  upstream_model: "rerank-v3.5",
  cost: 0.002,
  usage: { search_units: 1 },
  duration_ms: 238,
  attempts
})

/**
 * @category samples
 * @since 0.1.0
 */
export const generationListResponse: Generations.ListResponse = {
  data: [generationEntry],
  has_more: false,
  next: null
}

/**
 * @category samples
 * @since 0.1.0
 */
export const auditEntry: AuditLog.AuditEntry = /* @__PURE__ */ sample(AuditLog.AuditEntry, {
  id: "019ab1c2-3d4e-7f50-8123-456789abcdef",
  actor: keyHash,
  actor_label: "mg_mk_…x9Q",
  actor_role: "admin",
  address: "203.0.113.7",
  action: "updateKey",
  target_kind: "key",
  target_id: keyHash,
  before: { disabled: false },
  after: { disabled: true },
  request_id: "req_019aab3e5c7f7d3e9a41c2f0b6d84e112"
})

/**
 * @category samples
 * @since 0.1.0
 */
export const auditListResponse: AuditLog.ListResponse = { data: [auditEntry], has_more: false, next: null }

/**
 * @category samples
 * @since 0.1.0
 */
export const rejectedRequest: RejectedRequests.RejectedRequest = /* @__PURE__ */ sample(
  RejectedRequests.RejectedRequest,
  {
    id: "019ab1c2-3d4e-7f50-8123-456789abcdee",
    workspace_id: workspaceId,
    key_hash: keyHash,
    request_id: "req_019aab3e5c7f7d3e9a41c2f0b6d84e111",
    operation: "rerank",
    model: "cohere/rerank-v3.5",
    status: 402,
    message: "insufficient credits",
    address: "203.0.113.7",
    duration_ms: 3
  }
)

/**
 * @category samples
 * @since 0.1.0
 */
export const rejectedRequestListResponse: RejectedRequests.ListResponse = {
  data: [rejectedRequest],
  has_more: false,
  next: null
}

/**
 * @category samples
 * @since 0.1.0
 */
export const providerHealth: ProviderHealth.Endpoint = {
  provider: "cohere",
  model: "cohere/rerank-v3.5",
  kind: "rerank",
  time_limit_ms: 20_000,
  circuit: { state: "closed", opened_at: null, retry_at: null },
  credential: "accepted",
  last_call: { at: timestamp, outcome: "Success", request_id: "req_019aab3e5c7f7d3e9a41c2f0b6d84e110" },
  last_failure: null,
  windows: {
    "5m": { calls: 1, success_rate: 1, p50_ms: 204, p95_ms: 204 },
    "1h": { calls: 1, success_rate: 1, p50_ms: 204, p95_ms: 204 },
    "1d": { calls: 1, success_rate: 1, p50_ms: 204, p95_ms: 204 }
  }
}

/**
 * @category samples
 * @since 0.1.0
 */
export const providerHealthResponse: ProviderHealth.Response = {
  data: [providerHealth],
  instance: { id: "019ab1c2-3d4e-7f50-8123-456789abcdec", started_at: timestamp }
}

/**
 * @category samples
 * @since 0.1.0
 */
export const activityItem: Activity.Item = /* @__PURE__ */ sample(Activity.Item, {
  date: "2026-11-20",
  model: "cohere/rerank-v3.5",
  model_permaslug: "cohere/rerank-v3.5",
  endpoint_id: "cohere:cohere/rerank-v3.5",
  provider_name: "cohere",
  requests: 12,
  failed_requests: 1,
  usage: 0.022
})

/**
 * @category samples
 * @since 0.1.0
 */
export const activityResponse: Activity.Response = { data: [activityItem], has_more: false, next: null }

/**
 * @category samples
 * @since 0.1.0
 */
export const alert: Alerts.Alert = /* @__PURE__ */ sample(Alerts.Alert, {
  name: "Credits of the search team",
  kind: "credits_left",
  threshold: 20,
  window_seconds: null,
  min_requests: null,
  workspace_id: workspaceId,
  key_hash: null,
  guardrail_id: null,
  model: null,
  provider: null,
  target: { type: "webhook", url: "https://hooks.example" },
  state: "ok",
  state_since: null,
  last_value: 31.5,
  last_evaluated_at: "2026-11-20T22:30:00.000Z"
})

/**
 * @category samples
 * @since 0.1.0
 */
export const alertCreateRequest: Alerts.CreateRequest = {
  name: "Credits of the search team",
  kind: "credits_left",
  threshold: 20,
  workspace_id: workspaceId,
  target: { type: "webhook", url: "https://hooks.example/alerts" }
}

/**
 * @category samples
 * @since 0.1.0
 */
export const alertUpdateRequest: Alerts.UpdateRequest = { threshold: 50, enabled: true }

/**
 * @category samples
 * @since 0.1.0
 */
export const alertResponse: Alerts.Response = { data: alert }

/**
 * @category samples
 * @since 0.1.0
 */
export const alertListResponse: Alerts.ListResponse = { data: [alert], total_count: 1 }

/**
 * @category samples
 * @since 0.1.0
 */
export const alertDeleteResponse: Alerts.DeleteResponse = { deleted: true }

/**
 * @category samples
 * @since 0.1.0
 */
export const alertTestResponse: Alerts.TestResponse = {
  data: { ...webhookDelivery, type: "alert.test", video_id: null }
}

/**
 * @category samples
 * @since 0.1.0
 */
export const alertFiring: Alerts.Firing = /* @__PURE__ */ sample(Alerts.Firing, {
  alert_name: "Credits of the search team",
  kind: "credits_left",
  workspace_id: workspaceId,
  value: 19.2,
  message: 'The workspace "Search" has 19.2 credits left. The alert is set to 20.',
  resolved_at: null,
  resolved_reason: null,
  fired_delivery: { id: "evt_alert_019aab3e5c7f7d3e9a41c2f0b6d84e23_fired", status: "delivered", error: null },
  resolved_delivery: null
})

/**
 * @category samples
 * @since 0.1.0
 */
export const alertFiringListResponse: Alerts.FiringListResponse = { data: [alertFiring], has_more: false }
