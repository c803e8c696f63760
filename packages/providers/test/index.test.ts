import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Providers from "../src/index.ts"

describe("the public surface", () => {
  it("is this list of modules", () => {
    assert.deepStrictEqual(Object.keys(Providers).toSorted(), [
      "Adapter",
      "Adapters",
      "AnthropicFiles",
      "AudioDuration",
      "AudioSource",
      "CallProcesses",
      "Catalogue",
      "Cohere",
      "Command",
      "Deepgram",
      "FairShare",
      "Fal",
      "FileApi",
      "Gateway",
      "Google",
      "Groq",
      "Jina",
      "JsonScanner",
      "LanguageCode",
      "MicroCredits",
      "Model",
      "Offer",
      "OpenAi",
      "OpenAiFiles",
      "Passthrough",
      "Pricing",
      "ProviderError",
      "Ranking",
      "Replicate",
      "Rerank",
      "ResponseMemory",
      "Runway",
      "SafeMessage",
      "Tei",
      "Transcription",
      "UpstreamHttp",
      "Video",
      "Voyage"
    ])
  })

  const load = (module: string) => Effect.exit(Effect.tryPromise(() => import(`@model-gateway/providers/${module}`)))

  it.effect.each(["AudioDuration", "Offer", "ProviderError"])("has the subpath %s", (module) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* load(module))._tag, "Success")
    })
  )

  it.effect.each(["internal/audioThread"])("keeps %s to itself", (module) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* load(module))._tag, "Failure")
    })
  )
})
