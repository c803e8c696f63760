import { Effect } from "effect"
import { mkdirSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import * as DataFolder from "../src/DataFolder.ts"
import { folder, run } from "./Executable.ts"

describe("the data folder", () => {
  it("is created with its parent folders, and other users cannot read it", () => {
    const path = join(folder(), "deep", "data")
    Effect.runSync(DataFolder.prepare(path))
    expect(statSync(path).mode & 0o777).toBe(0o700)
  })

  it("is rejected in one sentence if a file has its name, or no folder can be created there", async () => {
    const parent = folder()
    writeFileSync(join(parent, "file"), "")
    for (const place of [join(parent, "file"), join(parent, "file", "below"), "/proc/gateway"]) {
      const { code, stderr, stdout } = await run(["serve", "--port", "0", "--data-dir", place])
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
      expect(stderr).toMatch(/^The data folder \S+ cannot be used: [^\n]+\.\n$/)
    }
  })

  it("is rejected in one sentence if this user has no permission to write", async () => {
    const parent = folder()
    const closed = join(parent, "closed")
    mkdirSync(closed, { mode: 0o500 })
    for (const place of [closed, join(closed, "below")]) {
      const failure = await asNobody(() => Effect.runPromise(Effect.flip(DataFolder.prepare(place))))
      expect(failure.message).toBe(
        `The data folder ${place} cannot be used: this user has no permission to write there. Choose another with --data-dir.`
      )
    }
  })
})

/** Runs as a user without permissions, because root may write anywhere. */
const asNobody = async <A>(work: () => Promise<A>): Promise<A> => {
  if (process.geteuid?.() !== 0) return work()
  process.seteuid?.(65_534)
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}
