// Finds the statements of the specification that tests check: `[spec N32 N33]` at the end of a
// test's title.
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parseSync } from "oxc-parser"
import { root } from "./Workspace.ts"

export interface Annotation {
  /** The file of the test, relative to the repository. */
  readonly file: string
  /** The title without the annotation. */
  readonly title: string
  readonly ids: ReadonlyArray<string>
}

interface Node {
  readonly type: string
  readonly [field: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"

const isSkipped = (node: Node): boolean =>
  node.type === "CallExpression" && /\.(?:skip|skipIf|runIf|todo|fails)$/.test(nameOf(node["callee"]))

/** `it.effect.skip` of `it.effect.skip(…)`, and of `it.skip.each(rows)(…)`: `it.skip`. */
const nameOf = (node: unknown): string => {
  if (!isNode(node)) return ""
  if (node.type === "CallExpression") return nameOf(node["callee"])
  if (node.type === "Identifier") return String(node["name"])
  if (node.type !== "MemberExpression") return ""
  const property = nameOf(node["property"])
  const object = nameOf(node["object"])
  return property === "each" || property === "for" ? object : `${object}.${property}`
}

/** The text of a literal; what a template inserts is `…`. */
const textOf = (node: Node): string | undefined => {
  if (node.type === "Literal") return typeof node["value"] === "string" ? node["value"] : undefined
  if (node.type !== "TemplateLiteral") return undefined
  const quasis = [node["quasis"]].flat().filter(isNode)
  return quasis
    .map(({ value }) => (typeof value === "object" && value !== null && "raw" in value ? String(value.raw) : ""))
    .join("…")
}

const annotated = /^(.*?) ?\[spec((?: [A-Z]\d+)+)\]$/s

/** The annotations of one file's source. Those of tests that never run do not count. */
export const annotationsIn = (file: string, code: string): ReadonlyArray<Annotation> => {
  const found: Array<Annotation> = []
  const visit = (node: Node): void => {
    if (isSkipped(node)) return
    const [, title, ids] = annotated.exec(textOf(node) ?? "") ?? []
    if (title !== undefined && ids !== undefined) found.push({ file, title, ids: ids.trim().split(" ") })
    for (const child of Object.values(node).flat()) if (isNode(child)) visit(child)
  }
  const { errors, program } = parseSync(file, code)
  if (errors.length > 0) throw new Error(`${file} cannot be parsed`)
  visit({ ...program })
  return found
}

/** The annotations of all tests of the workspace. */
export const annotations = (): ReadonlyArray<Annotation> =>
  globSync("{packages,apps,tests,scripts}/**/*.test.{ts,tsx}", {
    cwd: root,
    exclude: (name) => name === "node_modules" || name === "dist"
  })
    .toSorted()
    .filter((file) => file !== "scripts/test/Specification.test.ts")
    .flatMap((file) => {
      const code = readFileSync(join(root, file), "utf8")
      return code.includes("[spec ") ? annotationsIn(file.replaceAll("\\", "/"), code) : []
    })
