/**
 * The specification as rules, in the project's words. `docs/reference/specification.md` is written
 * from them, and code cites its sections: `Specification: "Key record".`
 *
 * A rule has one or more statements, each with an id. Tests name the statements that they check
 * at the end of their titles: `it("ignores audio references [spec N32 N33]", …)`.
 */

export interface Section {
  /** The heading, by which code cites the section. */
  readonly title: string
  /** A short introduction, in Markdown. */
  readonly about: string
  /**
   * Rules by the ids of their statements. A rule that lists values has an id for each, in order.
   */
  readonly rules: Readonly<Record<string, string>>
}

export const sections: ReadonlyArray<Section> = [
  {
    title: "Service",
    about:
      "Rules of all operations. How many requests a key may send, and how large they may be, is the service's choice.",
    rules: {
      A1: "The service is an HTTP API in front of many upstream providers.",
      "A9 A10 A11 A12 A13 A14":
        "It has the operations DELETE `/files/{file_id}`, GET `/key`, POST `/rerank`, POST `/audio/transcriptions`, POST `/videos` and POST `/guardrails/{id}/assignments/keys`.",
      J1: "The path of the base URL ends in `/api/v1`.",
      "A3 J3": "A request carries a JSON body, with `Content-Type: application/json`.",
      A4: "A transcription may be a file upload in place of JSON.",
      A5: "A response is JSON.",
      A6: "Usage is counted per key.",
      A7: "Usage is paid for in credits.",
      A8: "A request can be scoped to a workspace."
    }
  },
  {
    title: "Names on the wire",
    about:
      "The specification writes six words that belong to vendors neutrally, and so does this project. The setting `wireNames` chooses the words on the wire.",
    rules: {
      A15: "The providers of files are called `provider_a` and `provider_b`. Their words on the wire are configurable.",
      A16: "The shapes of a deletion are called `native`, `compat_a` and `compat_b`. Their words on the wire are configurable.",
      A17: "The field with details of the service in an error is called `service_metadata`. Its name on the wire is configurable."
    }
  },
  {
    title: "Authentication",
    about: "The specification does not say which kinds of key may call which operation, except for guardrails.",
    rules: {
      "A2 J2": "Every operation requires an API key in the header `Authorization`.",
      P1: "The key is sent as a bearer token: `Bearer`, a space, and the key.",
      P2: 'A request without credentials gets a 401. Its message begins with "missing authentication header".',
      P3: "A request with invalid credentials gets a 401.",
      P4: 'A request that its key may not make gets a 403, such as "only management keys can perform this operation".',
      "P5 P6 P7": "`is_management_key`, `is_provisioning_key` and `is_free_tier` say of what kind a key is.",
      P8: "A key is invalid after its `expires_at`."
    }
  },
  {
    title: "Error envelope",
    about: "Every error has this body.",
    rules: {
      B1: "Every error response carries the envelope.",
      B2: "`error` is an object, and is required.",
      B3: "`error.code` is an integer.",
      B4: "`error.code` equals the HTTP status.",
      B5: "`error.message` is a string.",
      B6: "`error.metadata` is an object or null, and may be absent.",
      B7: "`service_metadata` is an object or null, and may be absent.",
      B8: "`user_id` is a string or null, and may be absent."
    }
  },
  {
    title: "Errors",
    about:
      "What each status means; the words in quotes begin its message. Each operation lists the statuses that it can have.",
    rules: {
      R400: '400: a parameter is invalid, "invalid request parameters".',
      R401: '401: the key is missing, "missing authentication header", or invalid.',
      R402: '402: the credits do not suffice, "insufficient credits". The message says to add credits.',
      R403: "403: the key is valid, but may not do this.",
      R404: '404: what the request names does not exist, "resource not found".',
      R413: '413: the body is too large, "request payload too large".',
      "R429 T11": '429: the key exceeded its request rate, "rate limit exceeded".',
      R500: '500: an unexpected error in the service, "internal server error".',
      R502: '502: the provider failed, "provider returned error".',
      R503: '503: the service is unavailable for now, "service temporarily unavailable".',
      R504: '504: the time that the service has for the request ended, "the operation was aborted due to timeout".',
      R524: '524: the provider did not answer in time, "request timed out, try again later".',
      R529: '529: the provider is overloaded, "provider returned error".'
    }
  },
  {
    title: "Routing preferences",
    about: "Reranks, transcriptions and videos take `provider`.",
    rules: {
      L10: "`allow_fallbacks` says whether another provider may serve the request after a failure.",
      "M19 N42":
        "A transcription and a video can pass options to a provider, which receives them unchanged (`provider.options`)."
    }
  },
  {
    title: "Tracing metadata and end user",
    about: "Reranks, transcriptions and videos take `trace` and `user`.",
    rules: {
      "L11 L12 L13 L14 L15":
        "`trace_id`, `trace_name`, `span_name`, `generation_name` and `parent_span_id` of `trace` set the trace, the names and the parent in broadcasts.",
      L16: "Any other key of `trace` is passed on to the broadcast destinations.",
      "M20 N43": "A transcription and a video handle `trace` as a rerank does.",
      "L17 T4": "`user` has at most 256 characters.",
      L18: "`user` is passed on to the broadcast destinations.",
      L19: "`user` is written to the private log.",
      L20: "`user` is never sent to a provider.",
      "M21 N44": "A transcription and a video handle `user` as a rerank does."
    }
  },
  {
    title: "DELETE /files/{file_id}",
    about: "Deletes a file. Of a stored file, the specification names only the identifier.",
    rules: {
      "C11 T1": "`file_id` is 1 to 256 characters.",
      C12: "`file_id` matches `^[\\w-]+$`.",
      J6: "`workspace_id` is a UUID.",
      "P9 J8": "`workspace_id` scopes a request for files to a workspace. It is optional.",
      J7: "The default of `workspace_id` is the caller's default workspace.",
      J9: "`provider` is one of the two providers of files.",
      J10: "With `provider`, the file is at that provider, and the caller's provider key is used.",
      J11: "Without `provider`, the service's own storage is used.",
      J5: "The request has no body.",
      I3: "A file that the caller's workspace owns is deleted.",
      I4: "A deletion is irreversible: the bytes are gone.",
      J4: "Success is a 200.",
      "J12 J13 J14 J15 J16 J17 J18": "An error is a 401, 403, 404, 429, 500, 502 or 503.",
      J19: "It has no other status."
    }
  },
  {
    title: "File deletion confirmation",
    about: "The response of a deletion. The specification does not say how its shape is negotiated.",
    rules: {
      I5: "A deletion is confirmed.",
      C1: "`_shape` says which of three shapes the confirmation has.",
      C2: "In the shape `native`, `id` is the file's identifier.",
      C3: "In the shape `native`, `type` is `file_deleted`.",
      C4: "In the shape `compat_a`, `id` is the file's identifier.",
      C5: "In the shape `compat_a`, `object` is `file`.",
      C6: "In the shape `compat_a`, `deleted` is true.",
      C7: "In the shape `compat_b`, `id` is the file's identifier.",
      C8: "In the shape `compat_b`, `type` is `file_deleted`.",
      C9: "Every field of a shape is required.",
      C10: "The shape is negotiated."
    }
  },
  {
    title: "GET /key",
    about: "Describes the key that authenticates the request.",
    rules: {
      K1: "The request has no parameters and no body.",
      K2: "The response has one field, `data`, which contains the key record.",
      "K3 K4": "An error is a 401 or 500."
    }
  },
  {
    title: "Key record",
    about:
      "The specification does not say which fields can be null, nor the unit of the amounts. Here they are credits.",
    rules: {
      D26: "The record has the 20 fields of this section.",
      D14: "`label` is a masked form of the key, and never the full key.",
      D5: "`creator_user_id` identifies the user who created the key.",
      D6: "`expires_at` is a time in UTC, in ISO 8601.",
      D11: "`is_free_tier` says whether the key belongs to the free tier.",
      D12: "`is_management_key` is a boolean.",
      D13: "`is_provisioning_key` is a boolean.",
      D15: "`limit` is the spending limit of the key.",
      D16: "`limit_remaining` is what is left of it.",
      D17: "`limit_reset` is the period after which the limit resets.",
      D27: "The specification does not fix the values of `limit_reset`.",
      T8: "Requests beyond `limit` are refused until the limit resets.",
      "D10 T9": "`include_byok_in_limit` says whether requests with the caller's provider keys count toward `limit`.",
      D22: "`usage` is the total usage.",
      "D23 D24 D25":
        "`usage_daily`, `usage_weekly` and `usage_monthly` are the usage of the day, week and month, in UTC.",
      D1: "`byok_usage` is the total usage of requests with the caller's provider keys.",
      "D2 D3 D4":
        "`byok_usage_daily`, `byok_usage_weekly` and `byok_usage_monthly` are that of the day, week and month.",
      "D7 D8 D9": "`free_model_daily_requests` has the integers `limit`, `remaining` and `used`.",
      T10: "A key may send as many requests to free models in a day as `free_model_daily_requests.limit` says.",
      "D18 D19 D20": "`rate_limit` has `interval`, `requests` and `note`.",
      "D21 U3": "`rate_limit` is deprecated, and still returned."
    }
  },
  {
    title: "POST /rerank",
    about: "Ranks documents by relevance to a query. The specification does not say which fields are required.",
    rules: {
      "L1 T2": "`documents` has at least 1 item.",
      L2: "An item of `documents` may be a string.",
      L3: "An item may be an object with `text`.",
      L4: "An item may be an object with an image, for multimodal models.",
      L5: "An item may have both text and image.",
      L6: "`model` is the identifier of a rerank model.",
      L7: "`query` is what the documents are ranked against.",
      "L8 T3": "`top_n` is at least 1.",
      L9: "At most `top_n` results are returned.",
      "L21 L22 L23 L24 L25 L26 L27 L28 L29 L30 L31 L32":
        "An error is a 400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 524 or 529."
    }
  },
  {
    title: "Rerank response",
    about: "The specification does not name the field with the provider. Here it is `provider`.",
    rules: {
      E1: "`id` is unique to the response.",
      E2: "`model` is the model that was used.",
      E3: "`results` are sorted by relevance.",
      E4: "`results[].document.text` is a string.",
      E5: "`results[].index` is an integer.",
      E6: "`results[].relevance_score` is a number.",
      "E7 E8": "`usage.search_units` and `usage.total_tokens` are integers.",
      E9: "The response names the provider that served the request."
    }
  },
  {
    title: "POST /audio/transcriptions",
    about: "Turns audio into text. The specification leaves open the audio formats and the names of the form's fields.",
    rules: {
      M1: "The request may be JSON.",
      M2: "The request may be `multipart/form-data` with a file.",
      M3: "`input_audio.data` is audio in base64.",
      M4: "`input_audio.format` is the format of the audio.",
      M5: "`model` is the identifier of a speech-to-text model.",
      M6: "`language` is an ISO 639-1 code.",
      M7: "Without `language`, the language is detected.",
      M8: "The default of `response_format` is `json`.",
      M9: "With `json`, the response has `text` and `usage`.",
      M10: "With `verbose_json`, it also has task, language, duration and segments.",
      M11: "Only providers with a compatible API support `verbose_json`.",
      M12: "Any other `response_format` is refused.",
      M13: "`temperature` is the sampling temperature.",
      M14: "The default of `temperature` is 0.",
      M15: "An item of `timestamp_granularities` is `word` or `segment`.",
      M16: "The default of `timestamp_granularities` is one item, `segment`.",
      M17: "`timestamp_granularities` has an effect only with `verbose_json`.",
      M18: "`word` adds the list `words` to the response.",
      "M22 M23 M24 M25 M26 M27 M28 M29 M30 M31 M32 M33 M34":
        "An error is a 400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 504, 524 or 529."
    }
  },
  {
    title: "Transcription response",
    about: "The specification does not show the fields of segments and words.",
    rules: {
      F1: "`text` is always present.",
      F2: "`usage` is optional.",
      "F3 F4 F5 F6 F7": "`usage` may have `cost`, `input_tokens`, `output_tokens`, `seconds` and `total_tokens`.",
      F8: "`duration` is the length of the audio in seconds, only with `verbose_json`.",
      F9: "`language` is the detected or given language, only with `verbose_json`.",
      F10: "`task` is the task that was performed, only with `verbose_json`.",
      F11: "Segments with times are present only with `verbose_json`.",
      F12: "`words` is present only if the provider returns times of words."
    }
  },
  {
    title: "POST /videos",
    about:
      "Submits a video job. The specification describes many fields by their role; [decision 5](../decisions/005-names-left-open.md) names them.",
    rules: {
      N12: "`model` is the identifier of a video model.",
      N13: "`prompt` is required.",
      N14: "`prompt` is optional for models that can make a video of an image alone.",
      "N1 N2 N3 N4 N5 N6 N7 N8 N9":
        "`aspect_ratio` is `16:9`, `9:16`, `1:1`, `4:3`, `3:4`, `3:2`, `2:3`, `21:9` or `9:21`.",
      N10: "Any other `aspect_ratio` is refused.",
      "N11 T5": "`duration` is an integer of seconds, at least 1.",
      "N15 N16 N17 N18 N19 N20 N21": "`resolution` is `480p`, `720p`, `768p`, `1080p`, `1K`, `2K` or `4K`.",
      N36: "`size` is `WIDTHxHEIGHT` in pixels.",
      N35: "`size` may stand in place of `resolution` and `aspect_ratio`.",
      N26: "Images in `frame_images` are the first frame, the last frame, or both.",
      N25: "`frame_type` of such an image is `first_frame` or `last_frame`.",
      N31: "`input_references` may contain images.",
      N30: "An image reference has the `type` `image_url` and an `image_url` with `url`.",
      N32: "Providers that support audio and video references use them.",
      N33: "Other providers ignore them.",
      N27: "`generate_audio` says whether the video gets audio.",
      N28: "The default of `generate_audio` is the model's capability of that name.",
      N29: "The default is false if that capability is not set.",
      N34: "`seed` asks for deterministic sampling, which not every provider guarantees.",
      N37: "`creativity` is for models that upscale a video.",
      N38: "Models that generate videos refuse `creativity`.",
      N39: "`upscale_factor` is for models that upscale a video.",
      "N40 T6": "`upscale_factor` is greater than 0.",
      N41: "Models that generate videos refuse `upscale_factor`.",
      "N46 N47 N48 N49 N50 N51 N52 N53": "An error is a 400, 401, 402, 403, 404, 413, 429 or 500.",
      N54: "It has no other 5xx status."
    }
  },
  {
    title: "Video job",
    about:
      "The response of a submission. The specification leaves open all moves between the states after `pending`, the operation at `polling_url`, and where a finished video is.",
    rules: {
      "I1 N45": "An accepted job is `pending`.",
      I2: "The response carries `id` and `polling_url`.",
      G1: "`id` identifies the job.",
      G2: "`polling_url` is `/api/v1/videos/{id}`.",
      "G3 G4 G5 G6 G7 G8": "`status` is `pending`, `in_progress`, `completed`, `failed`, `cancelled` or `expired`.",
      G9: "`generation_id` is present once the job was processed.",
      "G10 G11": "`usage` has `cost` and `is_byok`.",
      G12: "`usage` is present once the job is completed."
    }
  },
  {
    title: "POST /guardrails/{id}/assignments/keys",
    about: "Assigns keys to a guardrail. The specification does not describe guardrails.",
    rules: {
      "O1 I6": "The operation requires a management key.",
      O4: "`id` has the form of a UUID.",
      "O5 T7": "`key_hashes` has at least 1 item.",
      O6: "Each item has at least 1 character.",
      O7: "Each item is the hash of a key.",
      "O2 I7": "A key has at most one guardrail.",
      "O3 I8": "An assignment replaces the guardrail that a key had.",
      "O8 H1": "The response has the integer `assigned_count`.",
      H2: "`assigned_count` is the number of keys that were assigned.",
      "O9 O10 O11 O12 O13": "An error is a 400, 401, 403, 404 or 500."
    }
  },
  {
    title: "Webhooks",
    about: "The specification does not describe body, headers, signature and retries.",
    rules: {
      Q1: "The service sends one kind of webhook: about a video job.",
      N22: "`callback_url` of a video is called when the job completes.",
      "Q2 N23": "Its URL must be `https://`.",
      Q3: "A workspace can have a default URL.",
      "Q4 N24": "The URL of a request overrides the default of the workspace."
    }
  },
  {
    title: "Versions",
    about: "The specification does not describe how versions are negotiated or withdrawn.",
    rules: {
      U1: "The version is a segment of the path: `polling_url` begins with `/api/v1`.",
      U2: "The description of the interface has the version 1.0.0."
    }
  },
  {
    title: "Client and repository",
    about: "What the project was asked to be, beside the API.",
    rules: {
      V1: "`packages/core` models each operation as an Effect.",
      V2: "An operation fails with one tagged error for each of its statuses, decoded by a schema.",
      V3: "Schedules of retries are public, and differ by status.",
      V4: "`packages/node` is the HTTP layer for Node.",
      V5: "`packages/browser` is the HTTP layer for browsers.",
      V6: "The sample composes them, with its configuration injected.",
      V7: "Test layers take the place of the service.",
      V8: "Node and browser use the same core.",
      "V9 V10 V11 V12":
        "The workspace has `package.json`, `pnpm-workspace.yaml`, `turbo.json` with tasks that packages have, and a shared `tsconfig.base.json`.",
      "V13 V14 V15": "Libraries are in `packages/`, programs in `apps/`, documentation in `docs/`.",
      V16: "The project uses `effect`.",
      V17: "Tests use `@effect/vitest`.",
      V18: "The project builds with turbo.",
      V19: "What were `@effect/platform` and `@effect/schema` comes from `effect`."
    }
  }
]
