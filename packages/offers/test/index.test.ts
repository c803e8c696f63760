import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Offers from "../src/index.ts"

describe("the public surface", () => {
  it("is this list of modules", () => {
    assert.deepStrictEqual(Object.keys(Offers).toSorted(), [
      "Adapter",
      "AudioDuration",
      "AudioSource",
      "BoundedBody",
      "CallProcesses",
      "DataPolicy",
      "FairShare",
      "FileApi",
      "FormBody",
      "JsonScanner",
      "KeyCheck",
      "LanguageCode",
      "MicroCredits",
      "Model",
      "Offer",
      "Passthrough",
      "Price",
      "Pricing",
      "ProviderError",
      "Ranking",
      "Rerank",
      "ResponseMemory",
      "SafeMessage",
      "Transcription",
      "UpstreamHttp",
      "Video",
      "VideoDuration"
    ])
  })

  const load = (module: string) => Effect.exit(Effect.tryPromise(() => import(`@model-gateway/offers/${module}`)))

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
