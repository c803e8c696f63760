/**
 * Every adapter. A new one is added here.
 *
 * @since 0.1.0
 */
import type { FileSystem } from "effect"
import type { SecureRandom } from "effect/crypto/SecureRandom"
import type { HttpClient } from "effect/http"
import type { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import type { Adapter } from "@model-gateway/offers/Adapter"
import * as AssemblyAi from "./AssemblyAi.ts"
import * as Azure from "./Azure.ts"
import * as Bedrock from "./Bedrock.ts"
import * as Cohere from "./Cohere.ts"
import * as Command from "./Command.ts"
import * as Deepgram from "./Deepgram.ts"
import * as ElevenLabs from "./ElevenLabs.ts"
import * as Fal from "./Fal.ts"
import * as Gateway from "./Gateway.ts"
import * as Google from "./Google.ts"
import * as Groq from "./Groq.ts"
import * as Jina from "./Jina.ts"
import * as Mistral from "./Mistral.ts"
import * as ModelArk from "./ModelArk.ts"
import * as OpenAi from "./OpenAi.ts"
import * as OpenRouter from "./OpenRouter.ts"
import * as Replicate from "./Replicate.ts"
import * as Runway from "./Runway.ts"
import * as Tei from "./Tei.ts"
import * as Vertex from "./Vertex.ts"
import * as Vllm from "./Vllm.ts"
import * as Voyage from "./Voyage.ts"
import * as Xai from "./Xai.ts"

/**
 * What the offers of all adapters need to be made.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = HttpClient.HttpClient | SecureRandom | FileSystem.FileSystem | ChildProcessSpawner

/**
 * Any adapter.
 *
 * @category models
 * @since 0.1.0
 */
export type AnyAdapter = Adapter<Services>

/**
 * Every adapter, in the order in which their models are listed.
 *
 * @category constants
 * @since 0.1.0
 */
export const adapters: ReadonlyArray<AnyAdapter> = [
  Cohere.adapter,
  Jina.adapter,
  Voyage.adapter,
  Tei.adapter,
  Vllm.adapter,
  Bedrock.adapter,
  OpenAi.adapter,
  Groq.adapter,
  Azure.adapter,
  Deepgram.adapter,
  ElevenLabs.adapter,
  AssemblyAi.adapter,
  Mistral.adapter,
  Replicate.adapter,
  Fal.adapter,
  Runway.adapter,
  Google.adapter,
  OpenRouter.adapter,
  Vertex.adapter,
  Xai.adapter,
  ModelArk.adapter,
  Gateway.adapter,
  Command.adapter
]
