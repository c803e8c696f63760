// The commands of the guides work in a clone: each program is a script of the project or one that
// every machine has. Links in documents lead to files and headings, and names of sources to files.
import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname, join, posix } from "node:path"
import { expect, it } from "vitest"
import { root } from "./Workspace.ts"

const manifest: unknown = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
const scripts =
  typeof manifest === "object" && manifest !== null && "scripts" in manifest ? Object.keys(manifest.scripts ?? {}) : []

// A test of tests/consumers runs each command of the guide to HTTP.
const pages = ["README.md", ...globSync("docs/**/*.md", { cwd: root, exclude: ["docs/start/http.md"] })].map((page) =>
  join(root, page)
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

/** The first words of other commands. */
const programs = /^(?:cd|cp|curl|docker|export|helm|kubectl|model-gateway|npx @model-gateway\/gateway|sh|sudo) /

it.each(commands)("%s runs in a clone, or is the published package", (command) => {
  const [, script] = /^npm (?:run (?:--silent )?)?([a-z]+)/.exec(command) ?? []
  if (script === undefined) expect(command).toMatch(programs)
  else expect(scripts).toContain(script)
})

/** The anchors of a page's headings, as GitHub makes them. */
const anchors = (page: string): ReadonlyArray<string> =>
  [...readFileSync(page, "utf8").matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-")
  )

/** The files of the repository that the pattern matches, with slashes. */
const filesOf = (pattern: string): ReadonlyArray<string> =>
  globSync(pattern, { cwd: root, exclude: ["**/node_modules", "**/dist"] }).map((file) => file.replaceAll("\\", "/"))

const documents = [
  ...filesOf("*.md"),
  ...["deploy", "docs", "packages", "apps", "tests", "examples"].flatMap((folder) => filesOf(`${folder}/**/*.md`))
]

it("lists each page of the documentation", () => {
  const listed = ["docs/README.md", "docs/decisions/README.md", "docs/reference/providers.md"].flatMap((list) =>
    [...readFileSync(join(root, list), "utf8").matchAll(/\]\(([\w./-]+\.md)/g)].map(([, link = ""]) =>
      posix.join(posix.dirname(list), link)
    )
  )
  expect(filesOf("docs/**/*.md").filter((page) => page !== "docs/README.md" && !listed.includes(page))).toEqual([])
})

it("names sources that exist", () => {
  const sources = filesOf("{packages,apps,tests,scripts,deploy}/**/*.{ts,tsx,mjs}")
  const exists = (name: string, document: string) =>
    existsSync(join(dirname(join(root, document)), name)) || sources.some((file) => `/${file}`.endsWith(`/${name}`))
  const missing = documents.flatMap((document) =>
    [...readFileSync(join(root, document), "utf8").matchAll(/`([\w./-]+\.(?:ts|tsx|mjs))`/g)].flatMap(([, name = ""]) =>
      exists(name, document) ? [] : [`${document}: ${name}`]
    )
  )
  expect(missing).toEqual([])
})

it("links to files and headings that exist", () => {
  const dead = documents.flatMap((document) =>
    [...readFileSync(join(root, document), "utf8").matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = ""]) => {
      // Packed READMEs link to the repository by its address.
      const local = link.replace(/^https:\/\/github\.com\/model-gateway\/model-gateway\/(?:blob|tree)\/main\//, "")
      if (/^[a-z]+:/.test(local)) return []
      const [path = "", anchor] = local.split("#")
      const target =
        path === "" ? join(root, document) : join(local === link ? dirname(join(root, document)) : root, path)
      const exists = existsSync(target) && (anchor === undefined || anchors(target).includes(anchor))
      return exists ? [] : [`${document}: ${link}`]
    })
  )
  expect(dead).toEqual([])
})

/** The directives of a Caddyfile, without its comments. */
const directives = (text: string): ReadonlyArray<string> =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))

it("shows the Caddyfile of deploy in its page", () => {
  const page = readFileSync(join(root, "docs/operate/proxies.md"), "utf8")
  const shown = /```\n(gateway\.example \{\n[\s\S]*?)```/.exec(page)?.[1] ?? ""
  expect(directives(shown)).toEqual(directives(readFileSync(join(root, "deploy/proxies/Caddyfile"), "utf8")))
})
