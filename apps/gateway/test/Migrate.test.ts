import { Schema } from "effect"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { run } from "./Commands.ts"
import { folder } from "./Executable.ts"

const decodeApplied = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ applied: Schema.Array(Schema.String) }))
)

const sentenceOf = async (...args: Parameters<typeof run>) => {
  const { code, stderr, stdout } = await run(...args)
  return { code, text: stdout + stderr }
}

it("migrate says what would run and what ran, and serve with --migrate never waits for it", async () => {
  const dataDir = join(folder(), "data")
  const file = join(dataDir, "gateway.db")
  const at = ["--data-dir", dataDir]
  expect(await sentenceOf(["serve", "--migrate", "never", ...at])).toEqual({
    code: 1,
    text:
      `There is no database in ${dataDir}. ` +
      "Choose its folder with --data-dir, or create it with model-gateway migrate or model-gateway serve.\n"
  })
  const planned = await sentenceOf(["migrate", "--dry-run", ...at])
  expect(planned.code).toBe(3)
  expect(planned.text).toMatch(/does not exist\. \d+ migrations? would run:\n {2}0001_tables/)
  expect(existsSync(dataDir)).toBe(false)

  // Two at once: one of them runs the migrations.
  const both = await Promise.all([run(["migrate", "--json", ...at]), run(["migrate", "--json", ...at])])
  expect(both.map(({ code }) => code)).toEqual([0, 0])
  const applied = both.map(({ stdout }) => decodeApplied(stdout).applied)
  expect(applied.filter((names) => names.length === 0)).toHaveLength(1)
  expect(applied.flat()).toContain("0001_tables")
  const nothing = await sentenceOf(["migrate", "--dry-run", ...at])
  expect(nothing.code).toBe(0)
  expect(nothing.text).toMatch(/has schema \d+\. No migration is pending\.\n$/)
  const listed = await sentenceOf(["keys", "list", ...at], { MODEL_GATEWAY_MIGRATE: "never" })
  expect(listed.code).toBe(0)
  expect(existsSync(file)).toBe(true)
})
