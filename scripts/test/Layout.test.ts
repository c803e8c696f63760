// The files and tools of the workspace that the specification names.
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { packages, root } from "./Workspace.ts"

const text = (file: string): string => readFileSync(join(root, file), "utf8")

/** The packages that a package, or the root, depends on, also for its tests. */
const uses = (name: string): boolean =>
  [join(root, "package.json"), ...packages.map(({ folder }) => join(folder, "package.json"))].some((file) =>
    readFileSync(file, "utf8").includes(`"${name}":`)
  )

it.each(["package.json", "pnpm-workspace.yaml", "turbo.json", "tsconfig.base.json"])(
  "has %s [spec V9 V10 V12]",
  (file) => {
    expect(text(file).length).toBeGreaterThan(0)
  }
)

it("has libraries in packages, programs in apps and documentation in docs [spec V13 V14 V15]", () => {
  expect(packages.filter(({ group }) => group === "packages").length).toBeGreaterThan(0)
  expect(packages.filter(({ group }) => group === "apps").length).toBeGreaterThan(0)
  expect(existsSync(join(root, "docs/start"))).toBe(true)
})

it("builds with turbo, by tasks that packages have [spec V11 V18]", () => {
  expect(uses("turbo")).toBe(true)
  for (const task of ["build", "check", "test"]) {
    expect(text("turbo.json")).toContain(`"${task}"`)
    const has = packages.filter(({ folder }) =>
      readFileSync(join(folder, "package.json"), "utf8").includes(`"${task}":`)
    )
    expect([task, has.length > 0]).toEqual([task, true])
  }
})

it("is written in Effect, which has the platform and the schemas, and tested with its vitest [spec V16 V17 V19]", () => {
  for (const name of ["effect", "@effect/vitest"]) expect([name, uses(name)]).toEqual([name, true])
  for (const name of ["@effect/platform", "@effect/schema"]) expect([name, uses(name)]).toEqual([name, false])
})
