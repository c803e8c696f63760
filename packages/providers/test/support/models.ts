import type { Model } from "@model-gateway/offers/Model"
import { type Credential, gatewayCredential } from "@model-gateway/offers/Offer"
import { Redacted } from "effect"
import type { AnyAdapter } from "../../src/Adapters.ts"

const base = <K extends Model["kind"]>(kind: K) => ({ kind, publicId: `a/${kind}`, upstreamId: kind, name: kind })

/** Models of the adapters that have none built in. `sent`: a file for what a command receives. */
const others: Readonly<Record<string, (sent: string) => ReadonlyArray<Model>>> = {
  gateway: () => [
    { ...base("rerank"), pricing: { unit: "search_unit", microCredits: 1 }, parameters: { image_documents: true } },
    { ...base("transcription"), pricing: { unit: "second", microCredits: 1 } },
    { ...base("video"), pricing: { unit: "second", microCredits: 1 } }
  ],
  vllm: () => [
    {
      ...base("rerank"),
      upstreamId: "BAAI/bge-reranker-v2-m3",
      pricing: { unit: "token", inputMicroCredits: 1, outputMicroCredits: 0 }
    },
    {
      ...base("transcription"),
      upstreamId: "openai/whisper-large-v3",
      pricing: { unit: "second", microCredits: 1 }
    }
  ],
  openrouter: () => [
    {
      ...base("rerank"),
      upstreamId: "vendor/rerank",
      pricing: { unit: "search_unit", microCredits: 1 },
      parameters: { image_documents: true }
    },
    { ...base("transcription"), upstreamId: "openai/whisper-1", pricing: { unit: "second", microCredits: 1 } },
    { ...base("video"), upstreamId: "vendor/video", pricing: { unit: "second", microCredits: 1 } }
  ],
  azure: () => [
    { ...base("rerank"), upstreamId: "ranks", pricing: { unit: "search_unit", microCredits: 1 } },
    {
      ...base("transcription"),
      upstreamId: "ears",
      pricing: { unit: "second", microCredits: 1 },
      parameters: { apiVersion: "2024-10-21" }
    }
  ],
  command: (sent) =>
    [["{file}"], ["{file}", "{language}", "{temperature}"], ["{file}", "{prompt}"]].map((words) => ({
      ...base("transcription"),
      publicId: `local/${words.at(-1)}`,
      pricing: { unit: "second", microCredits: 1 },
      parameters: {
        command: ["/bin/sh", "-c", 'cat "$1" > "$0"; shift; echo "$@" >> "$0"; exit 1', sent, ...words],
        output: "json"
      }
    }))
}

/** The models of an adapter, or else examples of what a settings file may define. */
export const modelsOf = ({ models, name }: AnyAdapter, sent: string): ReadonlyArray<Model> =>
  others[name]?.(sent) ?? models

/** The path of an adapter's public API, such as `/v1`. */
export const pathOf = ({ defaultBaseUrl = "" }: AnyAdapter): string =>
  defaultBaseUrl === "" ? "" : new URL(defaultBaseUrl).pathname.replace(/\/$/, "")

/** A credential that has this secret, in the form that the adapter takes. */
export const credentialOf = ({ name }: Pick<AnyAdapter, "name">, secret: string): Credential =>
  // Google's tokens do not name the project that pays.
  gatewayCredential(Redacted.make(name === "vertex" ? `my-project:${secret}` : secret))
