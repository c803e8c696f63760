import { expect, it } from "vitest"
import { problemOfNode } from "../src/Version.ts"

it("runs on Node 22 from 22.19, and on 24 and newer", () => {
  for (const node of ["22.19.0", "22.21.3", "24.0.0", "26.1.0"]) expect(problemOfNode(node, true)).toBeUndefined()
})

it("says which Node it needs on an older one, and on one without node:sqlite", () => {
  for (const [node, hasSqlite] of [
    ["20.20.2", false],
    ["22.9.0", true],
    ["22.18.0", true],
    ["23.11.0", true],
    ["24.0.0", false]
  ] as const) {
    expect(problemOfNode(node, hasSqlite)).toContain(
      `needs Node 22.19.0 or newer, of ^22.19.0 || >=24.0.0, with node:sqlite; this is Node ${node}.`
    )
  }
})
