import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Sandbox from "../src/index.ts"

describe("the public surface", () => {
  it("is this list of modules", () => {
    assert.deepStrictEqual(Object.keys(Sandbox).toSorted(), [
      "Bm25",
      "Colors",
      "DtmfTone",
      "Sandbox",
      "SandboxStatus",
      "TitleCard",
      "TitleCardUpscaler",
      "TitleCardVideo",
      "Tones",
      "Wav",
      "WavEncoder"
    ])
  })

  const load = (module: string) => Effect.exit(Effect.tryPromise(() => import(`@model-gateway/sandbox/${module}`)))

  it.effect.each(["Sandbox", "DtmfTone", "WavEncoder"])("has the subpath %s", (module) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* load(module))._tag, "Success")
    })
  )

  it.effect.each(["internal/titleCardWorker"])("keeps %s to itself", (module) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* load(module))._tag, "Failure")
    })
  )
})
