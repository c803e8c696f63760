/**
 * The statements of the specification, in the project's words. Tests name the statements that they
 * hold at the end of their titles: `it("ignores audio references [spec N32 N33]", …)`.
 */

export interface Group {
  readonly title: string
  /** By id, in the order of the specification. */
  readonly statements: Readonly<Record<string, string>>
}

export const groups: ReadonlyArray<Group> = [
  {
    title: "The service",
    statements: {
      A1: "HTTP/JSON API in front of many upstream providers",
      A2: "caller authenticates with an API key",
      A3: "requests carry JSON bodies",
      A4: "transcription also accepts a file upload",
      A5: "responses are JSON",
      A6: "usage is tracked per key",
      A7: "usage is paid for in credits",
      A8: "requests can be scoped to a workspace",
      A9: "has DELETE /files/{file_id}",
      A10: "has GET /key",
      A11: "has POST /rerank",
      A12: "has POST /audio/transcriptions",
      A13: "has POST /videos",
      A14: "has POST /guardrails/{id}/assignments/keys",
      A15: "the names of the two providers of files are configurable words of the wire",
      A16: "the names of the three shapes are configurable words of the wire",
      A17: "the name of the service's metadata is a configurable word of the wire"
    }
  },
  {
    title: "Error envelope",
    statements: {
      B1: "envelope on every error response",
      B2: "error object required",
      B3: "error.code integer",
      B4: "error.code equals status",
      B5: "error.message string",
      B6: "error.metadata object or null, optional",
      B7: "service_metadata object or null, optional",
      B8: "user_id string or null, optional"
    }
  },
  {
    title: "Confirmation of a deleted file",
    statements: {
      C1: "_shape discriminator",
      C2: "native id",
      C3: "native type file_deleted",
      C4: "compat_a id",
      C5: "compat_a object file",
      C6: "compat_a deleted true",
      C7: "compat_b id",
      C8: "compat_b type file_deleted",
      C9: "all required",
      C10: "shape is negotiated",
      C11: "file id 1..256",
      C12: "file id pattern"
    }
  },
  {
    title: "Record of a key",
    statements: {
      D1: "byok_usage number, total of own-key requests",
      D2: "byok_usage_daily",
      D3: "byok_usage_weekly",
      D4: "byok_usage_monthly",
      D5: "creator_user_id: identifier of the user who created the key",
      D6: "expires_at ISO 8601 UTC",
      D7: "free_model_daily_requests.limit",
      D8: ".remaining",
      D9: ".used",
      D10: "include_byok_in_limit semantics",
      D11: "is_free_tier: whether the key belongs to the free tier",
      D12: "is_management_key",
      D13: "is_provisioning_key",
      D14: "label masked, never the full key",
      D15: "limit",
      D16: "limit_remaining",
      D17: "limit_reset period",
      D18: "rate_limit.interval",
      D19: "rate_limit.requests",
      D20: "rate_limit.note",
      D21: "rate_limit deprecated, still returned",
      D22: "usage total",
      D23: "usage_daily (UTC)",
      D24: "usage_weekly",
      D25: "usage_monthly",
      D26: "the record is the 20 listed fields (client decodes it)",
      D27: "values of limit_reset not fixed by the document"
    }
  },
  {
    title: "Answer of a rerank",
    statements: {
      E1: "id unique",
      E2: "model of the answer",
      E3: "results are sorted by relevance",
      E4: "document.text",
      E5: "index integer",
      E6: "relevance_score number",
      E7: "usage.search_units integer",
      E8: "usage.total_tokens integer",
      E9: "provider named in the response"
    }
  },
  {
    title: "Answer of a transcription",
    statements: {
      F1: "text is always present",
      F2: "usage is optional",
      F3: "cost",
      F4: "input_tokens",
      F5: "output_tokens",
      F6: "seconds",
      F7: "total_tokens",
      F8: "duration only verbose, seconds of input",
      F9: "language detected or forced, only verbose",
      F10: "task only verbose",
      F11: "segments only verbose",
      F12: "words only when the provider returns them"
    }
  },
  {
    title: "Video job",
    statements: {
      G1: "job id",
      G2: "polling_url form",
      G3: "status pending",
      G4: "status in_progress",
      G5: "status completed",
      G6: "status failed",
      G7: "status cancelled",
      G8: "status expired",
      G9: "generation_id once processed",
      G10: "usage.cost",
      G11: "usage.is_byok",
      G12: "usage once completed"
    }
  },
  {
    title: "Answer of an assignment",
    statements: {
      H1: "assigned_count integer",
      H2: "number of keys successfully assigned"
    }
  },
  {
    title: "What operations do",
    statements: {
      I1: "an accepted job is pending",
      I2: "the answer of a submission carries id and polling_url",
      I3: "deletes a file that the workspace owns",
      I4: "a deletion is irreversible: the bytes are gone",
      I5: "a deletion is confirmed",
      I6: "assignment needs a management key",
      I7: "a key has at most one guardrail",
      I8: "an assignment replaces the guardrail before"
    }
  },
  {
    title: "Conventions, and DELETE `/files/{file_id}`",
    statements: {
      J1: "base_url ends in /api/v1",
      J2: "all operations require Authorization",
      J3: "Content-Type application/json",
      J4: "a deletion answers 200",
      J5: "a deletion has no request body",
      J6: "workspace_id UUID",
      J7: "workspace_id default",
      J8: "workspace_id scopes the request",
      J9: "provider is one of two names",
      J10: "own key at the named provider",
      J11: "own storage when omitted",
      J12: "deleteFile: 401",
      J13: "deleteFile: 403",
      J14: "deleteFile: 404",
      J15: "deleteFile: 429",
      J16: "deleteFile: 500",
      J17: "deleteFile: 502",
      J18: "deleteFile: 503",
      J19: "deleteFile has no other status"
    }
  },
  {
    title: "GET `/key`",
    statements: {
      K1: "GET /key no parameters",
      K2: "one field data",
      K3: "GET /key: 401",
      K4: "GET /key: 500"
    }
  },
  {
    title: "POST `/rerank`",
    statements: {
      L1: "documents at least 1",
      L2: "plain string item",
      L3: "object with text",
      L4: "object with image (multimodal)",
      L5: "both",
      L6: "model",
      L7: "query",
      L8: "top_n minimum 1",
      L9: "top_n limits the results",
      L10: "allow_fallbacks",
      L11: "trace_id special",
      L12: "trace_name",
      L13: "span_name",
      L14: "generation_name",
      L15: "parent_span_id",
      L16: "additional keys to broadcast",
      L17: "end user at most 256",
      L18: "end user to broadcast",
      L19: "end user to private logging",
      L20: "end user never to the provider",
      L21: "rerank: 400",
      L22: "rerank: 401",
      L23: "rerank: 402",
      L24: "rerank: 403",
      L25: "rerank: 404",
      L26: "rerank: 413",
      L27: "rerank: 429",
      L28: "rerank: 500",
      L29: "rerank: 502",
      L30: "rerank: 503",
      L31: "rerank: 524",
      L32: "rerank: 529"
    }
  },
  {
    title: "POST `/audio/transcriptions`",
    statements: {
      M1: "JSON form",
      M2: "multipart form",
      M3: "input_audio.data base64",
      M4: "input_audio.format",
      M5: "model",
      M6: "language ISO-639-1",
      M7: "language detected when omitted",
      M8: "response_format json default",
      M9: "json returns text and usage",
      M10: "verbose_json adds task, language, duration, segments",
      M11: "verbose_json only by compatible providers",
      M12: "other response_format refused",
      M13: "sampling temperature",
      M14: "temperature default 0",
      M15: "granularities word/segment",
      M16: "default segment",
      M17: "honored only with verbose_json",
      M18: "word additionally yields words",
      M19: "provider passthrough",
      M20: "tracing metadata as rerank",
      M21: "end-user handling as rerank (private logging)",
      M22: "transcription: 400",
      M23: "transcription: 401",
      M24: "transcription: 402",
      M25: "transcription: 403",
      M26: "transcription: 404",
      M27: "transcription: 413",
      M28: "transcription: 429",
      M29: "transcription: 500",
      M30: "transcription: 502",
      M31: "transcription: 503",
      M32: "transcription: 504",
      M33: "transcription: 524",
      M34: "transcription: 529"
    }
  },
  {
    title: "POST `/videos`",
    statements: {
      N1: "16:9",
      N2: "9:16",
      N3: "1:1",
      N4: "4:3",
      N5: "3:4",
      N6: "3:2",
      N7: "2:3",
      N8: "21:9",
      N9: "9:21",
      N10: "other ratio refused",
      N11: "duration integer >= 1",
      N12: "model",
      N13: "prompt required by other models",
      N14: "prompt optional for image-only models",
      N15: "480p",
      N16: "720p",
      N17: "768p",
      N18: "1080p",
      N19: "1K",
      N20: "2K",
      N21: "4K",
      N22: "callback notified on completion",
      N23: "callback must be HTTPS",
      N24: "callback overrides the workspace default",
      N25: "frame item frame_type first/last",
      N26: "images used as first and/or last frame",
      N27: "generate audio",
      N28: "default: capability flag",
      N29: "false if not set",
      N30: "image reference shape",
      N31: "image references",
      N32: "audio/video references honored by providers that support them",
      N33: "other providers ignore audio and video references",
      N34: "seed",
      N35: "size interchangeable with resolution + aspect_ratio",
      N36: "size WIDTHxHEIGHT",
      N37: "creativity for upscaling models",
      N38: "creativity unsupported by generation models",
      N39: "upscale factor for upscaling models",
      N40: "upscale factor > 0",
      N41: "upscale factor unsupported by generation models",
      N42: "provider passthrough",
      N43: "tracing metadata",
      N44: "end user",
      N45: "initial status pending",
      N46: "video: 400",
      N47: "video: 401",
      N48: "video: 402",
      N49: "video: 403",
      N50: "video: 404",
      N51: "video: 413",
      N52: "video: 429",
      N53: "video: 500",
      N54: "no other 5xx status"
    }
  },
  {
    title: "POST `/guardrails/{id}/assignments/keys`",
    statements: {
      O1: "management key required",
      O2: "a key has at most one guardrail",
      O3: "an assignment replaces any existing one",
      O4: "id UUID-shaped",
      O5: "key_hashes >= 1",
      O6: "each hash has at least 1 character",
      O7: "each is the hash of a key",
      O8: "assigned_count",
      O9: "assignment: 400",
      O10: "assignment: 401",
      O11: "assignment: 403",
      O12: "assignment: 404",
      O13: "assignment: 500"
    }
  },
  {
    title: "Authentication",
    statements: {
      P1: "the credential is a Bearer token",
      P2: "no credentials 401, message",
      P3: "invalid credentials 401",
      P4: "not permitted 403, message",
      P5: "is_management_key classifies keys",
      P6: "is_provisioning_key classifies keys",
      P7: "is_free_tier classifies keys",
      P8: "a key expires at expires_at",
      P9: "optional workspace_id on file operations"
    }
  },
  {
    title: "Webhooks",
    statements: {
      Q1: "one outbound webhook",
      Q2: "HTTPS only",
      Q3: "workspace default",
      Q4: "request's URL overrides"
    }
  },
  {
    title: "Meaning of each error",
    statements: {
      R400: "400: message and condition",
      R401: "401: message and condition",
      R402: "402: the message points to adding credits",
      R403: "403: message and condition",
      R404: "404: message and condition",
      R413: "413: message and condition",
      R429: "429: message and condition",
      R500: "500: message and condition",
      R502: "502: message and condition",
      R503: "503: message and condition",
      R504: "504: message and condition",
      R524: "524: message and condition",
      R529: "529: message and condition"
    }
  },
  {
    title: "Limits",
    statements: {
      T1: "length of a file id",
      T2: "number of documents",
      T3: "smallest top_n",
      T4: "an end user has at most 256 characters",
      T5: "smallest duration",
      T6: "smallest upscale factor",
      T7: "number of key_hashes",
      T8: "key spending limit, remaining, reset",
      T9: "include_byok_in_limit",
      T10: "daily requests to free models",
      T11: "request rate per key: exceeding yields 429"
    }
  },
  {
    title: "Versions",
    statements: {
      U1: "version path segment; polling_url starts with /api/v1",
      U2: "interface description 1.0.0",
      U3: "rate_limit still returned"
    }
  },
  {
    title: "Client and repository",
    statements: {
      V1: "core models each operation as an Effect",
      V2: "Schema-decoded tagged errors per status (exact sets)",
      V3: "retry schedules exposed, per status",
      V4: "Node HTTP layer package",
      V5: "browser HTTP layer package",
      V6: "sample composes them with injected config",
      V7: "test layers swap in",
      V8: "Node and browser build from one core",
      V9: "the workspace has a package.json",
      V10: "the workspace has a pnpm-workspace.yaml",
      V11: "turbo.json defines real tasks",
      V12: "tsconfig.base.json is shared",
      V13: "libraries are in packages/",
      V14: "programs are in apps/",
      V15: "documentation is in docs/",
      V16: "uses effect",
      V17: "tests use @effect/vitest",
      V18: "builds with turbo",
      V19: "has the parts of @effect/platform and @effect/schema from effect"
    }
  }
]
