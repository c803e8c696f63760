import { Effect } from "effect"
import { statSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import * as DataFolder from "../src/DataFolder.ts"
import { folder } from "./Executable.ts"

describe("the data folder", () => {
  it("is made with what is above it, and is nobody else's to read", () => {
    const path = join(folder(), "deep", "data")
    Effect.runSync(DataFolder.prepare(path))
    expect(statSync(path).mode & 0o777).toBe(0o700)
  })
})
