// This project's client, with the words of OpenRouter's clients, decodes every response that the
// schemas of `@openrouter/sdk` accept, for the six operations of the specification.
import { Gateway, GatewayClient, GatewayConfig, WireNames } from "@model-gateway/core"
import * as models from "@openrouter/sdk/models"
import * as operations from "@openrouter/sdk/models/operations"
import { Effect, Layer, Redacted, Result } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { expect, it } from "vitest"
import { choices, valueOf } from "./zodValues.ts"

type Client = Gateway.Gateway["Service"]

interface Case {
  readonly operation: string
  readonly schema: Parameters<typeof valueOf>[0] & {
    readonly safeParse: (value: unknown) => { readonly success: boolean }
  }
  readonly call: (client: Client) => Effect.Effect<unknown, unknown>
}

const file = new Uint8Array(3)

const guardrail = "0197a000-0000-7000-8000-000000000002"

const cases: ReadonlyArray<Case> = [
  ...[
    models.OpenRouterFileDeleted$inboundSchema,
    models.OpenAIFileDeleted$inboundSchema,
    models.AnthropicFileDeleted$inboundSchema
  ].map((schema, index): Case => ({
    operation: `DELETE /files/{file_id} (shape ${index + 1} of 3)`,
    schema,
    call: (client) => client.deleteFile("file_1")
  })),
  {
    operation: "GET /key",
    schema: operations.GetCurrentKeyResponse$inboundSchema,
    call: (client) => client.currentKey
  },
  {
    operation: "POST /rerank",
    schema: operations.CreateRerankResponseBody$inboundSchema,
    call: (client) => client.rerank({ model: "m", query: "q", documents: ["d"] })
  },
  {
    operation: "POST /audio/transcriptions",
    schema: models.STTResponse$inboundSchema,
    call: (client) => client.transcribe({ model: "m", file })
  },
  {
    operation: "POST /videos",
    schema: models.VideoGenerationResponse$inboundSchema,
    call: (client) => client.submitVideo({ model: "m", prompt: "p" })
  },
  {
    operation: "POST /guardrails/{id}/assignments/keys",
    schema: models.BulkAssignKeysResponse$inboundSchema,
    call: (client) => client.assignKeys(guardrail, { key_hashes: ["h"] })
  }
]

const clientFor = (response: unknown) =>
  Gateway.layer.pipe(
    Layer.provide(GatewayClient.layer),
    Layer.provide(
      Layer.succeed(
        HttpClient.HttpClient,
        HttpClient.make((request) => Effect.succeed(HttpClientResponse.fromWeb(request, Response.json(response))))
      )
    ),
    Layer.provide(GatewayConfig.layer({ credential: Redacted.make("k"), wireNames: WireNames.openrouter }))
  )

it.each(cases)("$operation", async ({ call, schema }) => {
  const decoded = new Set<string>()
  for (let seed = 0; seed < 100; seed++) {
    const response = valueOf(schema, choices(seed))
    expect(schema.safeParse(response).success).toBe(true)
    const result = await Effect.runPromise(
      Effect.result(Effect.flatMap(Gateway.Gateway, call).pipe(Effect.provide(clientFor(response))))
    )
    if (Result.isFailure(result)) throw new Error(JSON.stringify(response), { cause: result.failure })
    decoded.add(JSON.stringify(response))
  }
  expect(decoded.size).toBeGreaterThan(3)
})
