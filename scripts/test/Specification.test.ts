// The specification is one page of rules, and each of its statements has a test that checks it. A
// removed test leaves a statement without one, which fails here. Code cites sections of the page.
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { annotations, annotationsIn } from "./Annotations.ts"
import { sections } from "./Statements.ts"
import { root } from "./Workspace.ts"

const rulesPage = join(root, "docs/reference/specification.md")
const testsPage = join(root, "docs/reference/specification-tests.md")

const found = annotations()
const idsOf = (rule: string): ReadonlyArray<string> => rule.split(" ")
const statements = sections.flatMap(({ rules }) => Object.keys(rules).flatMap(idsOf))

const testsOf = (id: string) => found.filter(({ ids }) => ids.includes(id))

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("<", "\\<")

const numberOf = (id: string): number => Number(id.slice(1))

/** `C11, N1–N9`: adjacent ids as a range. */
const shortIds = (ids: ReadonlyArray<string>): string => {
  const ranges: Array<Array<string>> = []
  for (const id of ids) {
    const last = ranges.at(-1)
    const before = last?.at(-1)
    if (before !== undefined && before[0] === id[0] && numberOf(before) + 1 === numberOf(id)) last?.push(id)
    else ranges.push([id])
  }
  return ranges.map((range) => (range.length < 3 ? range.join(", ") : `${range[0]}–${range.at(-1)}`)).join(", ")
}

const anchor = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, "")
    .replaceAll(" ", "-")

const rules = [
  "# The specification",
  "",
  `The rules of the six operations, in ${statements.length} statements. What the specification leaves open is decided in the`,
  "[decisions](../decisions/README.md). Code cites the sections of this page by their titles. [The tests of each",
  "statement](specification-tests.md) are listed by the ids on the right. The page is written from `scripts/test/Statements.ts`.",
  ...sections.flatMap(({ about, rules: of, title }) => [
    "",
    `## ${title}`,
    "",
    about,
    "",
    "| Rule | |",
    "|---|---|",
    ...Object.entries(of).map(([ids, rule]) => `| ${cell(rule)} | ${shortIds(idsOf(ids))} |`)
  ]),
  ""
].join("\n")

const linksOf = (id: string): string =>
  [...new Set(testsOf(id).map(({ file, title }) => `[${cell(title)}](../../${file})`))].join("<br>")

/** A line for all statements that have the same tests. */
const linesOf = (ids: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...Map.groupBy(ids, linksOf)].map(([links, same]) => `| ${shortIds(same)} | ${links} |`)

const tests = [
  "# Tests of the specification",
  "",
  "The tests of each statement of [the specification](specification.md). A test names the statements that it checks at the end",
  'of its title: `it("ignores audio references [spec N32 N33]", …)`. CI fails if a statement has no test, if a test names an',
  "unknown statement, and if this page is stale. After a change to a title, run `pnpm vitest run --update` in the root.",
  ...sections.flatMap(({ rules: of, title }) => [
    "",
    `## [${title}](specification.md#${anchor(title)})`,
    "",
    "| | Tests |",
    "|---|---|",
    ...linesOf(Object.keys(of).flatMap(idsOf))
  ]),
  ""
].join("\n")

describe("the specification", () => {
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

  it("is a page of rules (written by vitest run --update)", async () => {
    await expect(rules).toMatchFileSnapshot(rulesPage)
  })

  it("has a page of tests (written by vitest run --update)", async () => {
    await expect(tests).toMatchFileSnapshot(testsPage)
  })
})

describe("citations of the specification", () => {
  /** Comments and pages without the marks and the ends of their lines. */
  const texts = globSync(["{packages,apps,tests,docs}/**/*.{ts,tsx,md}", "*.md"], {
    cwd: root,
    exclude: (name) => name === "node_modules" || name === "dist"
  }).map((file) => [file, readFileSync(join(root, file), "utf8").replaceAll(/\n\s*(?:\*|\/\/)? ?/g, " ")] as const)

  it("name sections of the page", () => {
    const titles = sections.map(({ title }) => title)
    const cited = texts.flatMap(([file, text]) =>
      [...text.matchAll(/Specification: (.*?)\./g)].flatMap(([, list = ""]) =>
        list.split(", ").map((title) => [file, title] as const)
      )
    )
    expect(cited.length).toBeGreaterThan(40)
    expect(cited.filter(([, title]) => !titles.some((known) => title === `"${known}"`))).toEqual([])
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
