// The commands of the guides work in a clone: each program is a script of the project or one that
// every machine has.
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { root } from "./Workspace.ts"

const manifest: unknown = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
const scripts =
  typeof manifest === "object" && manifest !== null && "scripts" in manifest ? Object.keys(manifest.scripts ?? {}) : []

// A test of tests/consumers runs each command of the guide to HTTP.
const pages = ["README.md", ...globSync("docs/guide/**/*.md", { cwd: root, exclude: ["docs/guide/http.md"] })].map(
  (page) => join(root, page)
)

/** Lines of the shell examples that begin a command. */
const commands = pages.flatMap((page) =>
  [...readFileSync(page, "utf8").matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = ""]) =>
    block.split("\n").filter((line) => /^[a-z]/.test(line))
  )
)

it("finds commands in the guides", () => {
  expect(commands.length).toBeGreaterThan(8)
})

it.each(commands)("%s runs in a clone", (command) => {
  const [, script] = /^npm (?:run (?:--silent )?)?([a-z]+)/.exec(command) ?? []
  if (script === undefined) expect(command).toMatch(/^(?:curl|export) /)
  else expect(scripts).toContain(script)
})
