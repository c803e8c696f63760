// The public surface of each package: its modules and what they export, written down in exports/<package>.txt.
// A change there is a change people see. When it is meant: `pnpm test:workspace -u`, and a changeset.
import { describe, expect, it } from "vitest"
import { exportedNames, packages, sources } from "./Workspace.ts"

const published = packages.filter((each) => each.manifest.private !== true)

describe("public exports", () => {
  it.each(published)("$name: internal modules are closed, every other one is open", ({ manifest }) => {
    expect(manifest.exports).toMatchObject({
      ".": { types: "./dist/index.d.ts", default: "./dist/index.js" },
      "./internal/*": null,
      "./*": { types: "./dist/*.d.ts", default: "./dist/*.js" }
    })
  })

  it.each(published)("$name: the list holds", async (each) => {
    const lines = sources(each, "src")
      .map(({ code, path }) => ({ code, module: path.replace(/^src\//, "").replace(/\.tsx?$/, "") }))
      .filter(({ module }) => !module.split("/").includes("internal"))
      .map(({ code, module }) => `${module === "index" ? "." : `./${module}`}: ${exportedNames(code).join(", ")}`)
    expect(lines.length).toBeGreaterThan(0)
    await expect(`${lines.toSorted().join("\n")}\n`).toMatchFileSnapshot(`exports/${each.name}.txt`)
  })
})
