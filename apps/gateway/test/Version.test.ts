import { expect, it } from "vitest"
import { problemOfNode } from "../src/Version.ts"

it("runs on Node 22 from 22.19, and on 24 and newer", () => {
  for (const node of ["22.19.0", "22.21.3", "24.0.0", "26.1.0"])
    expect(problemOfNode(node, true, false)).toBeUndefined()
})

it("says which Node it needs on an older one, and on one without node:sqlite", () => {
  for (const [node, hasSqlite] of [
    ["20.20.2", false],
    ["22.9.0", true],
    ["22.18.0", true],
    ["23.11.0", true],
    ["24.0.0", false]
  ] as const) {
    const text = `model-gateway needs Node 22.19.0 or newer, of ^22.19.0 || >=24.0.0, with node:sqlite; this is Node ${node}. `
    const install = "Install Node 24 from https://nodejs.org"
    expect(problemOfNode(node, hasSqlite, false)).toBe(`${text}${install}.`)
    expect(problemOfNode(node, hasSqlite, true)).toBe(
      `${text}${install}, or run it with node_modules/.bin/node of the clone.`
    )
  }
})
