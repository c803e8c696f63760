import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { adapters } from "../src/Adapters.ts"

const modules = readdirSync(join(import.meta.dirname, "../src"))
  .filter((name) => name.endsWith(".ts") && name !== "index.ts")
  .map((name) => name.slice(0, -3))

const load = (module: string): Promise<object> => import(`@model-gateway/providers/${module}`)

it("has every adapter as a subpath, and lists all of them", async () => {
  const loaded = await Promise.all(modules.map(load))
  const named = loaded.flatMap((module): ReadonlyArray<unknown> => ("adapter" in module ? [module.adapter] : []))
  const namesOf = (all: ReadonlyArray<unknown>) =>
    all.map((each) => (typeof each === "object" && each !== null && "name" in each ? String(each.name) : "")).toSorted()
  assert.deepStrictEqual(namesOf(named), namesOf(adapters))
})

it.effect("keeps internal modules to itself", () =>
  Effect.gen(function* () {
    const exit = yield* Effect.exit(Effect.tryPromise(() => load("internal/videoJobs")))
    assert.strictEqual(exit._tag, "Failure")
  })
)
