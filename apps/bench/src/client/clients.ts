/**
 * The clients to compare. Each is configured as its documentation says, and reused for all calls.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { Gateway, GatewayConfig } from "@model-gateway/core"
import * as SchemaCompiler from "@model-gateway/core/unstable/SchemaCompiler"
import { NodeGateway } from "@model-gateway/node"
import { OpenRouter } from "@openrouter/sdk"
import { CohereClientV2 } from "cohere-ai"
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import * as SchemaJITCompiler from "effect/schema/SchemaJITCompiler"
import OpenAI, { toFile } from "openai"
import * as Undici from "undici"
import { rerankRequest, wav } from "./messages.ts"

const apiKey = "mg_sk_benchmark"

/** Our client over the HTTP client that Effect has for Node; schemas are compiled, as for ours. */
const overEffect = "@model-gateway/core over Effect's client"

/** The clients. The first one is the reference. */
export const names = {
  rerank: ["undici.request", "@model-gateway/node", overEffect, "fetch", "cohere-ai", "@openrouter/sdk"],
  transcription: ["undici.request", "@model-gateway/node", overEffect, "fetch", "openai"]
} as const

/** One complete call of a client. */
export interface Call {
  readonly name: string
  readonly call: () => Promise<unknown>
}

export interface Clients {
  readonly rerank: ReadonlyArray<Call>
  readonly transcription: ReadonlyArray<Call>
  readonly close: () => Promise<void>
}

const authorization = `Bearer ${apiKey}`

/** `origin` is the server's origin, without a path. */
export const make = async (origin: string): Promise<Clients> => {
  const pool = new Undici.Agent({ connections: 64 })
  const options = { baseUrl: `${origin}/api/v1`, credential: Redacted.make(apiKey) }
  const runtime = ManagedRuntime.make(NodeGateway.layer(options))
  const gateway = await runtime.runPromise(Gateway.Gateway)
  const effectRuntime = ManagedRuntime.make(
    Gateway.layer.pipe(
      Layer.provide([
        GatewayConfig.layer(options),
        NodeHttpClient.layerUndici,
        Layer.succeed(SchemaCompiler.SchemaCompiler, ({ ast }) => SchemaJITCompiler.enable(ast))
      ])
    )
  )
  const overEffectsClient = await effectRuntime.runPromise(Gateway.Gateway)
  const openai = new OpenAI({ apiKey, baseURL: `${origin}/api/v1` })
  const cohere = new CohereClientV2({ token: apiKey, environment: origin })
  const openrouter = new OpenRouter({ apiKey, serverURL: `${origin}/api/v1` })
  const audio = wav()

  const form = <Form extends { append: (name: string, value: string | Blob, filename?: string) => void }>(
    form: Form
  ): Form => {
    form.append("file", new Blob([audio]), "audio.wav")
    form.append("model", "sandbox/tones")
    return form
  }

  return {
    rerank: [
      {
        name: "undici.request",
        call: async () => {
          const { body } = await Undici.request(`${origin}/api/v1/rerank`, {
            dispatcher: pool,
            method: "POST",
            headers: { authorization, "content-type": "application/json" },
            body: JSON.stringify(rerankRequest)
          })
          return body.json()
        }
      },
      {
        name: "@model-gateway/node",
        call: () => Effect.runPromise(gateway.rerank(rerankRequest))
      },
      { name: overEffect, call: () => Effect.runPromise(overEffectsClient.rerank(rerankRequest)) },
      {
        name: "fetch",
        call: async () => {
          const response = await fetch(`${origin}/api/v1/rerank`, {
            method: "POST",
            headers: { authorization, "content-type": "application/json" },
            body: JSON.stringify(rerankRequest)
          })
          return response.json()
        }
      },
      { name: "cohere-ai", call: () => cohere.rerank(rerankRequest) },
      {
        name: "@openrouter/sdk",
        call: () => openrouter.rerank.rerank({ requestBody: rerankRequest })
      }
    ],
    transcription: [
      {
        name: "undici.request",
        call: async () => {
          const { body } = await Undici.request(`${origin}/api/v1/audio/transcriptions`, {
            dispatcher: pool,
            method: "POST",
            headers: { authorization },
            body: form(new Undici.FormData())
          })
          return body.json()
        }
      },
      {
        name: "@model-gateway/node",
        call: () =>
          runtime.runPromise(
            gateway.transcribe({ model: "sandbox/tones", file: new Blob([audio]), filename: "audio.wav" })
          )
      },
      {
        name: overEffect,
        call: () =>
          effectRuntime.runPromise(
            overEffectsClient.transcribe({ model: "sandbox/tones", file: new Blob([audio]), filename: "audio.wav" })
          )
      },
      {
        name: "fetch",
        call: async () => {
          const response = await fetch(`${origin}/api/v1/audio/transcriptions`, {
            method: "POST",
            headers: { authorization },
            body: form(new FormData())
          })
          return response.json()
        }
      },
      {
        name: "openai",
        call: async () =>
          openai.audio.transcriptions.create({ model: "sandbox/tones", file: await toFile(audio, "audio.wav") })
      }
    ],
    close: async () => {
      await runtime.dispose()
      await effectRuntime.dispose()
      await pool.close()
    }
  }
}
