import { describe, expect, it } from "vitest"
import * as Output from "../src/Output.ts"
import { database } from "./Commands.ts"
import { run } from "./Executable.ts"

describe("table", () => {
  it("aligns columns by the cells that characters take in a terminal", () => {
    expect(
      Output.table(
        ["NAME", "KIND"],
        [
          ["検索", "a"],
          ["👩‍🚀", "b"],
          ["cafe\u0301", "c"]
        ],
        80
      )
    ).toBe(["NAME  KIND", "検索  a", "👩‍🚀    b", "cafe\u0301  c"].join("\n"))
  })

  it("prints one block of lines per row when the lines do not fit", () => {
    const rows = [
      ["検索", "a"],
      ["x", "b"]
    ]
    expect(Output.table(["NAME", "KIND"], rows, 10)).toMatch(/^NAME {2}KIND\n/)
    expect(Output.table(["NAME", "KIND"], rows, 9)).toBe("  name  検索\n  kind  a\n\n  name  x\n  kind  b")
  })

  it("keeps the lines of keys list within 80 columns", async () => {
    const dataDir = await database()
    await run(["keys", "create", "--name", "Search team", "--limit", "5", "--data-dir", dataDir])
    const { stdout } = await run(["keys", "list", "--data-dir", dataDir], { COLUMNS: "80" })
    expect(stdout).toContain("5 of 5 left")
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80)
  })
})
