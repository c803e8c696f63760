import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Providers from "../src/index.ts"

describe("the public surface", () => {
  it("is this list of modules", () => {
    assert.deepStrictEqual(Object.keys(Providers).toSorted(), [
      "Adapters",
      "AnthropicFiles",
      "Catalogue",
      "Cohere",
      "Command",
      "Deepgram",
      "Fal",
      "Gateway",
      "Google",
      "Groq",
      "Jina",
      "OpenAi",
      "OpenAiFiles",
      "Replicate",
      "Runway",
      "Tei",
      "Voyage"
    ])
  })

  const load = (module: string) => Effect.exit(Effect.tryPromise(() => import(`@model-gateway/providers/${module}`)))

  it.effect.each(["Adapters", "Cohere"])("has the subpath %s", (module) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* load(module))._tag, "Success")
    })
  )

  it.effect.each(["internal/videoJobs"])("keeps %s to itself", (module) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* load(module))._tag, "Failure")
    })
  )
})
