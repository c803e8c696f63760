// Modules that the page shares with the terminal must not import a platform or a gateway.
import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"

it.each(["Program", "Inputs", "Tones", "Wav", "Texts", "Explanation"])(
  "%s.ts imports the client, and nothing of a platform",
  (name) => {
    const code = readFileSync(new URL(`../src/${name}.ts`, import.meta.url), "utf8")
    const imported = Array.from(code.matchAll(/from "([^"]+)"/g), ([, specifier]) => specifier ?? "")
    const allowed = ["effect", "@model-gateway/core", "./Program.ts", "./Inputs.ts", "./Tones.ts", "./Wav.ts"]
    assert.deepStrictEqual(
      imported.filter((specifier) => !allowed.includes(specifier)),
      []
    )
    assert.notMatch(code, /\b(process|document|window|Buffer|console)\b\./)
  }
)
