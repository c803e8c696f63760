import { expect, it } from "@effect/vitest"
import { join } from "node:path"
import * as LogLine from "../../src/log/LogLine.ts"

it("is published as a JSON Schema", async () => {
  const schema = `${JSON.stringify(LogLine.jsonSchema(), null, 2)}\n`
  await expect(schema).toMatchFileSnapshot(
    join(import.meta.dirname, "..", "..", "..", "..", "docs", "reference", "log.schema.json")
  )
})
