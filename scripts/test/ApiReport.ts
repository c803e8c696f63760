// The types that a package exports, as text: its emitted declarations without comments.
import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parseSync } from "oxc-parser"

/**
 * Endpoints, operations and groups are composed of schemas that the report has already, and repeat
 * them several times. They are shown by the digest of their type.
 */
const isComposed = (text: string) =>
  /^(?:export )?declare const \w+(?:Endpoint|Operation|Group_base|Api_base)\b/.test(text)

/** The maximum length of a text that is shown whole. */
const maxLength = (text: string) => (isComposed(text) ? 300 : 3_000)

/**
 * A digest in place of a long text. It does not depend on the order in which a union is written,
 * which can change with the build.
 */
const shorten = (text: string) => {
  if (text.length <= maxLength(text)) return text
  const parts = text.split(/[|<>(){},;\n]+/).map((part) => part.trim())
  const digest = createHash("sha256").update(parts.toSorted().join("\n")).digest("hex").slice(0, 12)
  return `${text.slice(0, text.search(/[:<={]/))} … ${text.length} characters, SHA-256 ${digest}`
}

/** Without the paths of imported types, which name modules and no behavior, and indented by two. */
const normalize = (text: string) =>
  text
    .replaceAll(/import\("[^"]*?([\w.-]+?)(?:\.ts)?"\)\./g, "$1.")
    .split("\n")
    .map((line) => line.replace(/^(?: {4})+/, (spaces) => " ".repeat(spaces.length / 2)).trimEnd())
    .filter((line) => line !== "")
    .join("\n")

/** The declarations of one module, such as `dist/Rerank.d.ts`, in their order. */
const declarations = (file: string): ReadonlyArray<string> => {
  const code = readFileSync(file, "utf8")
  const { comments, program } = parseSync(file, code)
  const withoutComments = comments.reduceRight(
    (text, { end, start }) => text.slice(0, start) + " ".repeat(end - start) + text.slice(end),
    code
  )
  return program.body
    .filter(({ type }) => type !== "ImportDeclaration")
    .map(({ end, start }) => normalize(withoutComments.slice(start, end)))
    .filter((text) => text !== "export {};")
    .map(shorten)
}

/** The report of a package. `modules` are paths below `dist` without an extension. */
export const apiReport = (folder: string, modules: ReadonlyArray<string>): string =>
  modules
    .toSorted()
    .map((module) => {
      const file = join(folder, "dist", `${module}.d.ts`)
      if (!existsSync(file)) throw new Error(`Build first: ${file} is missing.`)
      return `// ${module}\n${declarations(file).join("\n")}\n`
    })
    .join("\n")
