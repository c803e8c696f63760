// Each statement of the specification has a test that holds it, and the page of the guide lists
// them. A removed test leaves a statement without one, which fails here.
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { annotations, annotationsIn } from "./Annotations.ts"
import { groups } from "./Statements.ts"
import { root } from "./Workspace.ts"

const page = join(root, "docs/reference/specification.md")
const found = annotations()
const statements = groups.flatMap((group) => Object.keys(group.statements))

const testsOf = (id: string) => found.filter(({ ids }) => ids.includes(id))

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("<", "\\<")

const lineOf = (id: string, words: string): string => {
  const tests = [...new Set(testsOf(id).map(({ file, title }) => `[${cell(title)}](../../${file})`))]
  return `| ${id} | ${cell(words)} | ${tests.join("<br>")} |`
}

const written = [
  "# The specification, and the tests that hold it",
  "",
  `Split into ${statements.length} statements that can be checked, in the project's words. A test names the statements that it holds at the`,
  'end of its title: `it("ignores audio references [spec N32 N33]", …)`. CI fails if a statement has no test, if a test names',
  "an unknown statement, and if this page is stale. After a change to a title, run `pnpm vitest run --update` in the root.",
  ...groups.flatMap(({ statements: of, title }) => [
    "",
    `## ${title}`,
    "",
    "| | Statement | Tests |",
    "|---|---|---|",
    ...Object.entries(of).map(([id, words]) => lineOf(id, words))
  ]),
  ""
].join("\n")

describe("docs/reference/specification.md", () => {
  it("has a test for each statement", () => {
    expect(statements.filter((id) => testsOf(id).length === 0)).toEqual([])
  })

  it("has each statement that a test names", () => {
    const unknown = found.flatMap(({ file, ids }) =>
      ids.filter((id) => !statements.includes(id)).map((id) => `${file}: ${id}`)
    )
    expect(unknown).toEqual([])
  })

  it("has each statement once", () => {
    expect(statements.filter((id, at) => statements.indexOf(id) !== at)).toEqual([])
    expect(statements.length).toBe(322)
  })

  it("is the table of the tests (written by vitest run --update)", async () => {
    await expect(written).toMatchFileSnapshot(page)
  })
})

describe("the search for annotations", () => {
  const idsIn = (code: string) => annotationsIn("A.test.ts", code).flatMap(({ ids }) => ids)

  it("finds them in titles, in rows and in templates", () => {
    expect(idsIn('it("is so [spec A1 B2]", () => {})')).toEqual(["A1", "B2"])
    expect(idsIn('it.each([["is so [spec A1]", 1]])("%s", () => {})')).toEqual(["A1"])
    expect(idsIn("it(`is ${so} [spec A1]`, () => {})")).toEqual(["A1"])
  })

  it("ignores comments and tests that do not run", () => {
    expect(idsIn('// it("is so [spec A1]")')).toEqual([])
    expect(idsIn('it.skip("is so [spec A1]", () => {})')).toEqual([])
    expect(idsIn('it.effect.skip.each([1])("is so [spec A1]", () => {})')).toEqual([])
    expect(idsIn('describe.skip("all", () => { it("is so [spec A1]", () => {}) })')).toEqual([])
  })
})
