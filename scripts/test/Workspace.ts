// What the tests of the workspace read: its packages, their sources, and what those import and
// export.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, sep } from "node:path"
import { fileURLToPath } from "node:url"
import { parseSync } from "oxc-parser"

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

export interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly engines?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, unknown>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

export interface Package {
  /** The folder's name: `core`, `gateway`. */
  readonly name: string
  readonly group: "packages" | "apps" | "tests" | "examples"
  readonly folder: string
  readonly manifest: Manifest
}

export interface Source {
  /** Relative to the package's folder, with forward slashes: `src/access/KeyStore.ts`. */
  readonly path: string
  /** Without comments, whose examples import what they like. */
  readonly code: string
}

const isManifest = (value: unknown): value is Manifest =>
  typeof value === "object" && value !== null && "name" in value && typeof value.name === "string"

const readManifest = (folder: string): Manifest => {
  const value: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
  if (!isManifest(value)) throw new Error(`${folder}/package.json has no name`)
  return value
}

export const packages: ReadonlyArray<Package> = (["packages", "apps", "tests", "examples"] as const).flatMap((group) =>
  readdirSync(join(root, group))
    .map((name) => ({ name, group, folder: join(root, group, name) }))
    .filter(({ folder }) => existsSync(join(folder, "package.json")))
    .map((entry) => ({ ...entry, manifest: readManifest(entry.folder) }))
)

/**
 * The TypeScript files below one folder of a package (`src`, `test`); none where it has no such
 * folder.
 */
export const sources = (of: Package, folder: "src" | "test"): ReadonlyArray<Source> => {
  const base = join(of.folder, folder)
  if (!existsSync(base)) return []
  return readdirSync(base, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") || name.endsWith(".tsx"))
    .toSorted()
    .map((name) => ({
      path: relative(of.folder, join(base, name)).split(sep).join("/"),
      code: withoutComments(name, readFileSync(join(base, name), "utf8"))
    }))
}

/**
 * The source without its comments. The parser finds them: a search for `//` would find it in a
 * regular expression, too.
 */
export const withoutComments = (path: string, code: string): string => {
  const { comments, errors } = parseSync(path, code)
  if (errors[0] !== undefined) throw new Error(`${path}: ${errors[0].message}`)
  return comments.reduceRight((left, { end, start }) => left.slice(0, start) + left.slice(end), code)
}

/** The module names in `import … from`, `export … from`, `import "…"` and `import("…")`. */
export const imports = (code: string): ReadonlyArray<string> =>
  Array.from(
    code.matchAll(/(?:^|[;}\s])(?:from|import)\s*\(?\s*["']([@\w./:-]+)["']/g),
    (match) => match[1] ?? ""
  ).filter((name) => name !== "")

/**
 * The names a module exports: `const`, `class`, `interface` and the rest,
 * `export { a, b as c }` and `export * as x`.
 */
export const exportedNames = (code: string): ReadonlyArray<string> => {
  const declared = code.matchAll(
    /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:const|let|function\*?|class|interface|type|enum)\s+([\w$]+)/gm
  )
  const listed = Array.from(code.matchAll(/^export\s+(?:type\s+)?\{([^}]*)\}/gm), (match) => match[1] ?? "").flatMap(
    (list) =>
      list
        .split(",")
        .map((item) => item.trim().split(/\s+/).at(-1) ?? "")
        .filter((name) => name !== "")
  )
  const stars = Array.from(
    code.matchAll(/^export\s+(?:type\s+)?\*\s+(?:as\s+([\w$]+)\s+)?from\s+["']([^"']+)["']/gm)
  ).map((match) => match[1] ?? `* from ${match[2] ?? ""}`)
  return [...new Set([...Array.from(declared, (match) => match[1] ?? ""), ...listed, ...stars])].toSorted()
}
