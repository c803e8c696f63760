import { describe, expect, it } from "@effect/vitest"
import { GatewayApi, GatewayError, Identifiers, Keys } from "@model-gateway/core"
import { Effect, Schema } from "effect"
import { OpenApi } from "effect/http-api"
import { codec, endpoint, endpoints, issuesOf, jsonOf } from "./contract.ts"
import { type Expected, operations } from "./operations.ts"

/** The statements of the specification about the statuses of an operation. */
const statements: Readonly<Record<string, string>> = {
  deleteFile: "statuses of deleteFile [spec A9 J4 J12 J13 J14 J16 J17 J18 J19]",
  currentKey: "statuses of currentKey [spec A10 K3 K4]",
  rerank: "statuses of rerank [spec A11 L21 L22 L23 L24 L25 L26 L28 L29 L30 L31 L32]",
  transcribe: "statuses of transcribe [spec A12 M22 M23 M24 M25 M26 M27 M29 M30 M31 M32 M33 M34]",
  submitVideo: "statuses of submitVideo [spec A13 N46 N47 N48 N49 N50 N51 N53 N54]",
  assignKeys: "statuses of assignKeys [spec A14 O9 O10 O11 O12 O13]"
}

const document = OpenApi.fromApi(GatewayApi.GatewayApi)

describe("the contract", () => {
  it("has exactly these operations [spec U2]", () => {
    expect(new Set(endpoints.map(({ identifier }) => identifier))).toEqual(new Set(Object.keys(operations)))
    expect(GatewayApi.version).toBe("1.0.0")
  })

  for (const [identifier, [line, success, errors]] of Object.entries<Expected>(operations)) {
    it(`${identifier}: ${line} answers ${success}, or one of ${errors.join(" ")} (${statements[identifier] ?? "no statement"})`, () => {
      const { error, method, path } = endpoint(identifier)
      expect(`${method} ${path}`).toBe(line)
      const statuses = Array.from(error, GatewayError.statusOf)
      expect(new Set(statuses)).toEqual(new Set(errors))
      expect(statuses).toHaveLength(errors.length)

      // The statuses that authorization adds are in the list already: the document has no others.
      const operation = Object.entries(document.paths)
        .flatMap(([at, methods]) => Object.entries(methods).map(([verb, operation]) => ({ at, verb, operation })))
        .find(({ at, verb }) => `${verb.toUpperCase()} ${at.replaceAll(/\{(\w+)\}/g, ":$1")}` === line)?.operation
      const responses = operation !== undefined && "responses" in operation ? operation.responses : {}
      expect(Object.keys(responses)).toEqual([success, ...errors].map(String))
    })
  }
})

const uuid = "7d9d1f9e-3a55-4f0c-9a35-0e4d1b9f6a10"
/** In the shape of a UUID, but of no version. */
const shaped = "00000000-0000-0000-0000-000000000001"
const long = (length: number) => "x".repeat(length)
/** As many characters, of which each takes two UTF-16 units. */
const emoji = (length: number) => "🎉".repeat(length)
/** Texts of that many characters, and of one more. */
const longest = (length: number) => [long(length), emoji(length), `${emoji(length - 1)}x`, "\ud83c".repeat(length)]
const tooLong = (length: number) => [long(length + 1), emoji(length + 1), `${emoji(length)}x`, long(length * 2 + 1)]
/** A list of 64 KiB as JSON. */
const sizedList = Array.from({ length: 255 }, () => long(254))

const rerank = { model: "m", query: "q", documents: ["d"] }
const audio = { model: "m", input_audio: { data: "AAAA", format: "wav" } }
const video = { model: "m" }
const image = { url: "https://example.com/a.png" }

/** Fields within and beyond the bounds of "Limits" and of the endpoints' tables. */
const bodies: ReadonlyArray<
  readonly [
    operation: string,
    valid: object,
    field: string,
    within: ReadonlyArray<unknown>,
    beyond: ReadonlyArray<unknown>
  ]
> = [
  ["rerank", rerank, "model", ["m"], ["", 1, null, undefined]],
  ["rerank", rerank, "query", ["q", ""], [1, null, undefined]],
  [
    "rerank",
    rerank,
    "documents",
    [
      ["a"],
      [""],
      [{ text: "a" }],
      [{ image: "https://e.com/a" }],
      [{ text: "", image: "data:image/png;base64,AAAA" }],
      Array.from({ length: 5000 }, () => "d")
    ],
    [
      [],
      "d",
      [1],
      [{}],
      [{ text: 1 }],
      [{ image: "http://e.com/a" }],
      [{ image: "data:text/html;base64,AAAA" }],
      [null],
      null,
      undefined
    ]
  ],
  ["rerank", rerank, "top_n", [1, 100], [0, -1, 1.5, "1", null]],
  ["cohereRerank", rerank, "model", ["m"], ["", 1, null, undefined]],
  ["cohereRerank", rerank, "query", ["q", ""], [1, null, undefined]],
  ["cohereRerank", rerank, "documents", [["a"], [""]], [[], "d", [1], [{ text: "a" }], [null], null, undefined]],
  ["cohereRerank", rerank, "top_n", [1, 100, null], [0, -1, 1.5, "1"]],
  ["cohereRerank", rerank, "max_tokens_per_doc", [1, 4096, null], [0, 1.5, "1"]],
  ["cohereRerank", rerank, "priority", [0, 999, null], [1.5, "1"]],
  ["cohereRerankV1", rerank, "model", ["m"], ["", 1, null, undefined]],
  [
    "cohereRerankV1",
    rerank,
    "documents",
    [["a"], [{ text: "a", title: "" }, "b"], [{}]],
    [[], "d", [1], [{ text: 1 }]]
  ],
  ["cohereRerankV1", rerank, "top_n", [1, null], [0, 1.5, "1"]],
  ["cohereRerankV1", rerank, "rank_fields", [["a"], null], [[], "a", [1], Array.from({ length: 65 }, () => "a")]],
  ["cohereRerankV1", rerank, "return_documents", [true, false, null], ["true", 1]],
  ["cohereRerankV1", rerank, "max_chunks_per_doc", [null], [1, 10, "1"]],
  ["rerank", rerank, "user", ["", ...longest(256)], [...tooLong(256), 1, null]],
  [
    "rerank",
    rerank,
    "provider",
    [
      {},
      { allow_fallbacks: false },
      { sort: "price" },
      { order: ["a"], only: [], ignore: ["b"] },
      { allow_fallbacks: null, order: null, only: null, ignore: null, sort: null },
      { max_price: { second: 0.002, prompt: "0.05" } },
      { shiny: 1 },
      { options: { a: { b: [1] } } },
      { options: { a: { b: long(16_376) }, c: { b: long(16_376) } } }
    ],
    [
      { allow_fallbacks: "no" },
      { sort: "best" },
      { order: [""] },
      { order: "a" },
      { max_price: { second: -1 } },
      { max_price: { second: "-1" } },
      { max_price: { second: "" } },
      { max_price: { second: "Infinity" } },
      { options: { a: 1 } },
      null,
      "a"
    ]
  ],
  [
    "rerank",
    rerank,
    "trace",
    [
      {},
      { trace_id: "t", trace_name: "", span_name: "s", generation_name: "g", parent_span_id: "p" },
      { anything: { at: ["all"] } }
    ],
    [{ trace_id: 1 }, { span_name: null }, null, "t"]
  ],

  ["transcribe", audio, "model", ["m"], ["", null, undefined]],
  [
    "transcribe",
    audio,
    "input_audio",
    ["wav", "mp3", "flac", "m4a", "ogg", "webm", "aac"].map((format) => ({ data: "AAAA", format })),
    [
      { data: "", format: "wav" },
      { data: "AAAA", format: "midi" },
      { data: "AAAA" },
      { format: "wav" },
      null,
      undefined
    ]
  ],
  ["transcribe", audio, "language", ["de", "EN"], ["eng", "", "d1", null]],
  ["transcribe", audio, "response_format", ["json", "verbose_json"], ["text", null]],
  ["transcribe", audio, "temperature", [0, 0.5, 1], [-0.1, 1.1, "0", null, Number.NaN]],
  ["transcribe", audio, "timestamp_granularities", [["word"], ["segment", "word"], []], [["letter"], "word", null]],
  ["transcribe", audio, "user", longest(256), tooLong(256)],
  ["transcribe", audio, "trace", [{ x: 1 }], [{ trace_name: 1 }]],
  [
    "transcribe",
    audio,
    "provider",
    [{ options: { a: {} } }],
    [{ options: [] }, { options: { a: { b: long(16_377) } } }]
  ],
  [
    "submitVideo",
    video,
    "provider",
    [{ options: { a: {} } }],
    [{ options: [] }, { options: { a: { b: long(16_377) } } }]
  ],

  ["submitVideo", video, "model", ["m"], ["", null, undefined]],
  ["submitVideo", video, "prompt", ["p", "", undefined], [1, null]],
  ["submitVideo", video, "duration", [1, 600], [0, -1, 1.5, "1", null]],
  [
    "submitVideo",
    video,
    "aspect_ratio",
    ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "21:9", "9:21"],
    ["16:10", "", null]
  ],
  ["submitVideo", video, "resolution", ["480p", "720p", "768p", "1080p", "1K", "2K", "4K"], ["8K", "1k", null]],
  ["submitVideo", video, "size", ["1x1", "1280x720"], ["0x1", "01x1", "1280X720", "1280", "-1x1", "1x1 ", null]],
  [
    "submitVideo",
    video,
    "callback_url",
    ["https://e.com", "https://e.com/hook?a=b"],
    ["http://e.com", "ftp://e.com", "https://", "e.com", "https:///x", "https://e.com/a b", null]
  ],
  [
    "submitVideo",
    video,
    "frame_images",
    [[], ...["first_frame", "last_frame"].map((frame_type) => [{ type: "image_url", image_url: image, frame_type }])],
    [
      [{ type: "image_url", image_url: image, frame_type: "middle_frame" }],
      [{ type: "image_url", image_url: image }],
      [{ type: "video_url", image_url: image, frame_type: "first_frame" }],
      [{ type: "image_url", image_url: { url: "" }, frame_type: "first_frame" }],
      null
    ]
  ],
  [
    "submitVideo",
    video,
    "input_references",
    [
      [
        { type: "image_url", image_url: image },
        { type: "audio_url", audio_url: image },
        { type: "video_url", video_url: image }
      ]
    ],
    [[{ type: "image_url", audio_url: image }], [{ type: "text", text: "t" }], [{ image_url: image }], null]
  ],
  ["submitVideo", video, "generate_audio", [true, false], ["true", null]],
  ["submitVideo", video, "seed", [0, -5, 7], [1.5, "1", null]],
  ["submitVideo", video, "creativity", [0, 0.5], ["0", null, Number.POSITIVE_INFINITY]],
  ["submitVideo", video, "upscale_factor", [0.1, 2], [0, -1, "2", null]],
  ["submitVideo", video, "user", longest(256), tooLong(256)],

  ["assignKeys", {}, "key_hashes", [["h"], ["h", "i"], [long(1000)]], [[], [""], ["h", ""], "h", [1], null, undefined]],
  ["unassignKeys", {}, "key_hashes", [["h"]], [[], [""]]],

  ["createKey", { name: "n" }, "name", ["n", ...longest(256)], ["", ...tooLong(256), null, undefined]],
  ["createKey", { name: "n" }, "limit", [0, 0.000001, 1e9, null], [-1, 1e9 + 1, "1"]],
  ["createKey", { name: "n" }, "limit_reset", ["daily", "weekly", "monthly", null], ["yearly"]],
  [
    "createKey",
    { name: "n" },
    "expires_at",
    ["2026-11-20T22:30:00Z", "2026-11-20T22:30:00.123456789Z", null],
    ["2026-11-20", "2026-11-20T22:30:00", "2026-11-20T22:30:00+01:00", "soon", 0]
  ],
  ...(
    [
      ["threshold", [0, 0.5, 1_000_000_000], [-1, 1_000_000_001, "5", null, undefined]],
      [
        "kind",
        ["budget_used", "credits_left", "failed_share", "circuit_open", "key_expires"],
        ["other", null, undefined]
      ],
      ["window_seconds", [60, 86_400, undefined], [59, 86_401, 60.5, null]],
      ["min_requests", [1, 2000, undefined], [0, 2001, 1.5, null]],
      ["workspace_id", [null, undefined, "7d9d1f9e-3a55-4f0c-9a35-0e4d1b9f6a10"], ["default", 1]],
      ["provider", [null, undefined, "cohere"], ["", 1]],
      ["enabled", [true, false, undefined], [null, "yes"]]
    ] as const
  ).map(
    ([field, valid, invalid]) =>
      [
        "createAlert",
        {
          name: "n",
          kind: "credits_left",
          threshold: 1,
          target: { type: "slack", url: "https://a.example" }
        },
        field,
        valid,
        invalid
      ] as const
  ),
  ["rotateKey", {}, "grace_seconds", [0, 2_592_000, undefined], [-1, 2_592_001, 1.5, "60", null]],
  ["createEphemeralKeyFor", {}, "expires_in", [1, 900, undefined], [0, 901, -1, 1.5, "60", null]],
  ["createEphemeralKey", {}, "expires_in", [1, 900, undefined], [0, 901, -1, 1.5, "60", null]],
  [
    "createEphemeralKey",
    {},
    "operations",
    [["rerank"], Keys.ephemeralOperations, Array.from({ length: 64 }, () => "rerank"), undefined],
    [
      [],
      ["createKey"],
      ["rerank", "createEphemeralKey"],
      ["Rerank"],
      [1],
      "rerank",
      null,
      Array.from({ length: 65 }, () => "rerank")
    ]
  ],
  ["createEphemeralKey", {}, "own_files", [true, false, undefined], ["true", 1, null]],
  ["createGuardrail", { name: "n" }, "name", longest(256), ["", ...tooLong(256)]],
  ["createGuardrail", { name: "n" }, "description", ["", ...longest(2048), null], tooLong(2048)],
  ...["allowed_models", "ignored_models", "allowed_providers", "ignored_providers"].map(
    (field) =>
      [
        "createGuardrail",
        { name: "n" },
        field,
        [[], ["m"], longest(256), Array.from({ length: 1000 }, () => "m"), sizedList, null],
        [[""], "m", [emoji(257)], Array.from({ length: 1001 }, () => "m"), [...sizedList.slice(1), long(255)]]
      ] as const
  ),
  ["createGuardrail", { name: "n" }, "limit_usd", [0, 0.000001, 1e9, null], [-1, 1e9 + 1, "1"]],
  ["updateGuardrail", {}, "reset_interval", ["daily", "weekly", "monthly", null], ["yearly"]],
  ["createGuardrail", { name: "n" }, "workspace_id", [uuid, undefined], ["w", null]],
  // What cannot be enforced is refused, unless it restricts nothing.
  ["createGuardrail", { name: "n" }, "include_byok_in_budgets", [false, undefined], [true]],
  ["createGuardrail", { name: "n" }, "allowed_data_regions", [null, undefined], [["europe"], []]],
  ...["content_filters", "content_filter_builtins"].map(
    (field) => ["createGuardrail", { name: "n" }, field, [null, [], undefined], [[{ action: "block" }]]] as const
  ),
  ...["enable_free_model_publication", "enable_free_model_training", "enable_paid_model_training"].map(
    (field) => ["updateGuardrail", {}, field, [null, true, undefined], [false]] as const
  ),
  ...["", "_anthropic", "_google", "_openai", "_xai", "_other"].map(
    (model) => ["updateGuardrail", {}, `enforce_zdr${model}`, [null, false, undefined], [true]] as const
  ),
  [
    "createByokKey",
    { provider: "p", key: "k" },
    "key",
    ["k", "k".repeat(4096)],
    ["", "a b", "a\nb", "ü", "k".repeat(4097), null, undefined]
  ],
  [
    "createByokKey",
    { provider: "p", key: "k" },
    "provider",
    ["p", "p".repeat(128)],
    ["", "p".repeat(129), null, undefined]
  ],
  [
    "updateByokKey",
    {},
    "allowed_models",
    [["m"], null, undefined],
    [[], [""], "m", Array.from({ length: 1001 }, () => "m")]
  ],
  [
    "createWorkspace",
    { name: "n", slug: "s" },
    "slug",
    ["a", "a1-b2", "0", "a".repeat(64), "b2a9f7d4-6a1e-4c53-9a0e-2f1f6c1d7e1"],
    ["", "A", "a_b", "-a", "a-", "a--b", "a".repeat(65), "b2a9f7d4-6a1e-4c53-9a0e-2f1f6c1d7e10", null, undefined]
  ],
  ["createWorkspace", { name: "n", slug: "s" }, "description", ["", ...longest(1024), null], tooLong(1024)],
  ["updateWorkspace", {}, "default_provider_sort", [null, undefined], ["price", ""]],
  ["updateWorkspace", {}, "is_observability_io_logging_enabled", [false, undefined], [true, null]],
  ["updateWorkspace", {}, "is_data_discount_logging_enabled", [false, undefined], [true, null]],
  ["updateWorkspace", {}, "is_observability_broadcast_enabled", [true, undefined], [false, null]],
  ["updateWorkspace", {}, "name", longest(256), ["", ...tooLong(256)]],
  ["updateWorkspace", {}, "default_callback_url", ["https://e.com/hook", null], ["http://e.com", ""]],
  ["updateWorkspace", {}, "file_shape", ["native", "compat_a", "compat_b"], ["other", null]],
  ["addCredits", {}, "amount", [0.000001, 1e9], [0, -1, 1e9 + 1, "1", null, undefined]],
  ["addCredits", { note: "n" }, "amount", [-0.000001, -1e9], [0, -1e9 - 1]],
  ["rotateWebhookSecret", {}, "keep_previous_for", [0, 604_800, undefined], [-1, 604_801, 1.5, "1", null]]
]

describe("a body's bounds [spec L1 L2 L3 L5 L6 L7 L8 L17 M4 M5 M6 M12 M15 N1 N2 N3 N4 N5 N6 N7 N8 N9 N10 N11 N12 N15 N16 N17 N18 N19 N23 N25 N36 N40 O5 O6 T2 T3 T4 T5 T6 T7]", () => {
  for (const [operation, valid, field, within, beyond] of bodies) {
    it(`${operation}: ${field}`, () => {
      const schema = jsonOf(endpoint(operation))
      const withField = (value: unknown) => {
        const { [field]: _, ...rest }: { readonly [name: string]: unknown } = { ...valid }
        return value === undefined ? rest : { ...rest, [field]: value }
      }
      for (const value of within) expect([value, issuesOf(schema, withField(value))]).toEqual([value, []])
      for (const value of beyond) {
        const issues = issuesOf(schema, withField(value))
        expect([value, issues.length > 0 && issues.every((path) => path.split(".")[0] === field)]).toEqual([
          value,
          true
        ])
      }
    })
  }

  it("all issues are reported, not only the first", () => {
    expect(
      issuesOf(jsonOf(endpoint("rerank")), {
        model: "",
        documents: [{}],
        top_n: 0,
        user: long(257),
        trace: { trace_id: 1 }
      })
    ).toEqual(["model", "query", "documents.0", "top_n", "trace.trace_id", "user"])
  })

  it("the OpenAPI document has the same bounds in characters, also for names in lists", () => {
    const { schema } = Schema.toJsonSchemaDocument(Identifiers.EndUser)
    expect(schema).toMatchObject({ type: "string", maxLength: 256 })
    const body = issuesOf(jsonOf(endpoint("rerank")), { ...rerank, provider: { order: tooLong(64) } })
    expect(body).toEqual([0, 1, 2, 3].map((index) => `provider.order.${index}`))
    expect(issuesOf(jsonOf(endpoint("rerank")), { ...rerank, provider: { only: longest(64) } })).toEqual([])
  })

  it.effect.prop("generated texts keep to it, and are accepted", [Identifiers.EndUser], ([user]) =>
    Effect.sync(() => {
      expect(Array.from(user).length).toBeLessThanOrEqual(256)
      expect(issuesOf(jsonOf(endpoint("rerank")), { ...rerank, user })).toEqual([])
    })
  )

  it("unknown fields are ignored, at any depth", () => {
    const schema = jsonOf(endpoint("rerank"))
    expect(
      issuesOf(schema, { ...rerank, shiny: 1, documents: [{ text: "t", score: 2 }], provider: { shiny: 1 } })
    ).toEqual([])
  })
})

describe("a parameter's bounds [spec C11 C12 J6 J9 O4 T1]", () => {
  const bounds: ReadonlyArray<
    readonly [
      operation: string,
      part: "params" | "query" | "headers",
      name: string,
      within: ReadonlyArray<string>,
      beyond: ReadonlyArray<string>
    ]
  > = [
    [
      "deleteFile",
      "params",
      "file_id",
      ["a", "file_A-9", long(256)],
      ["", long(257), "a b", "a/b", "..", "a.b", "ä", "a\n", "%2e"]
    ],
    [
      "deleteFile",
      "query",
      "workspace_id",
      [uuid, uuid.toUpperCase(), shaped],
      ["", "none", `${uuid}0`, uuid.replaceAll("-", "")]
    ],
    ["deleteFile", "query", "provider", ["provider_a", "provider_b"], ["provider_c", ""]],
    [
      "assignKeys",
      "params",
      "id",
      [uuid, shaped, uuid.toUpperCase()],
      ["", "none", `${uuid} `, uuid.replaceAll("-", "")]
    ],
    ["listVideos", "query", "status", ["pending", "expired"], ["done", ""]],
    ["listVideos", "query", "after", ["v_1", long(256)], ["", "a/b", long(257)]],
    ["listVideos", "query", "limit", ["1", "1000"], ["0", "1001", "1.5", ""]],
    ["listVideos", "query", "workspace_id", [uuid, "all"], ["", "none"]],
    ["listVideos", "query", "key_hash", ["h"], [""]],
    ["listVideos", "query", "model", ["m", long(256)], ["", long(257)]],
    ["listVideos", "query", "from", ["2026-11-20T22:30:00Z"], ["", "2026-11-20"]],
    ["listVideos", "query", "to", ["2026-11-20T22:30:00Z"], ["", "2026-11-20"]],
    ["getVideo", "params", "id", ["v_1", long(256)], ["", long(257), "a/b"]],
    ["getVideo", "query", "wait", ["0", "2.5", "60"], ["-1", "61", "abc", "NaN", "Infinity"]],
    ["videoContent", "query", "index", ["0", "7"], ["-1", "1.5", "abc"]],
    ["listFiles", "query", "limit", ["1", "1000"], ["0", "1001", "1.5", "abc", ""]],
    ["listFiles", "query", "after", ["", ...longest(256)], tooLong(256)],
    ["getKey", "params", "hash", ["h", long(64), "any thing"], [""]],
    ...["listModels", "countModels"].map(
      (operation) =>
        [
          operation,
          "query",
          "output_modalities",
          ["all", "rerank", "text", "rerank,transcription,video"],
          ["chat", "", "rerank,", "rerank, video", "all,rerank"]
        ] as const
    ),
    ["listModels", "query", "input_modalities", ["all", "image,audio"], ["rerank", ""]],
    ["listModels", "query", "q", ["", ...longest(256)], tooLong(256)],
    ["listModels", "query", "offset", ["0", "1000000"], ["-1", "1000001", "1.5", ""]],
    ["listModels", "query", "limit", ["1", "1000"], ["0", "1001", "1.5", ""]],
    ["listModels", "query", "sort", ["newest", "top-weekly"], ["pricing-low-to-high", "pricing-high-to-low"]],
    ...["min_price", "max_price", "min_output_price", "max_output_price", "zdr", "region"].map(
      (name) => ["listModels", "query", name, [], ["0", "true", "eu"]] as const
    ),
    ...["rerank", "transcribe", "submitVideo", "addCredits", "createKey", "rotateKey", "uploadFile"].map(
      (operation) =>
        [
          operation,
          "headers",
          "idempotency-key",
          ["a", "a b~!", long(255)],
          ["", long(256), "ä", "a\tb", "a\n"]
        ] as const
    )
  ]

  for (const [operation, part, name, within, beyond] of bounds) {
    it(`${operation}: ${name}`, () => {
      const schema = endpoint(operation)[part]
      for (const value of within) expect([value, issuesOf(schema, { [name]: value })]).toEqual([value, []])
      for (const value of beyond) expect([value, issuesOf(schema, { [name]: value })]).toEqual([value, [name]])
      if (part !== "params") expect(issuesOf(schema, {})).toEqual([])
    })
  }
})

describe("a response", () => {
  it("ignores a field that the service adds later", () => {
    for (const { identifier, success } of endpoints) {
      for (const schema of success) {
        if ("contentType" in schema) continue
        expect([identifier, issuesOf(schema, { shiny: 1 }).includes("shiny")]).toEqual([identifier, false])
      }
    }
    const job = { id: "v", polling_url: "/api/v1/videos/v", status: "pending", shiny: 1 }
    for (const schema of endpoint("submitVideo").success) {
      expect(Schema.decodeUnknownSync(codec(schema))(job)).toEqual({
        id: "v",
        polling_url: "/api/v1/videos/v",
        status: "pending"
      })
    }
  })

  it("of a video job has one of six states [spec G3 G4 G5 G6 G7 G8]", () => {
    const job = { id: "v", polling_url: "/api/v1/videos/v" }
    for (const schema of endpoint("getVideo").success) {
      for (const status of ["pending", "in_progress", "completed", "failed", "cancelled", "expired"]) {
        expect(issuesOf(schema, { ...job, status })).toEqual([])
      }
      expect(issuesOf(schema, { ...job, status: "done" })).toEqual(["status"])
    }
  })

  it("of a deletion has exactly one of three shapes [spec C1 C3 C5 C6 C8]", () => {
    for (const schema of endpoint("deleteFile").success) {
      expect(issuesOf(schema, { _shape: "native", id: "f", type: "file_deleted" })).toEqual([])
      expect(issuesOf(schema, { _shape: "compat_a", id: "f", object: "file", deleted: true })).toEqual([])
      expect(issuesOf(schema, { _shape: "compat_b", id: "f", type: "file_deleted" })).toEqual([])
      for (const wrong of [
        { id: "f", type: "file_deleted" },
        { _shape: "other", id: "f", type: "file_deleted" },
        { _shape: "native", id: "f" },
        { _shape: "compat_a", id: "f", object: "file", deleted: false },
        { _shape: "compat_b", id: "f", object: "file", deleted: true }
      ]) {
        expect([wrong, issuesOf(schema, wrong).length > 0]).toEqual([wrong, true])
      }
    }
  })
})
