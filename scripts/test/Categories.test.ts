// Every documented export says in which group of its module a reader finds it, with the words of
// Effect's own sources where they have one.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parseSync } from "oxc-parser"
import { expect, it } from "vitest"
import { packages, root } from "./Workspace.ts"

/** The words of Effect, then our own. */
const categories = [
  "annotations, combinators, configuration, constants, constructors, converting, decoding, delays & timeouts, errors",
  "formatting, getters, guards, instances, layers, math, models, options, predicates, references, running, schemas, services",
  "validation",
  "adapters, arbitraries, calls, endpoints, groups, measuring, middleware, operations, pricing, samples"
].flatMap((line) => line.split(", "))

const files = packages
  .filter(({ group }) => group === "packages")
  .flatMap(({ name }) =>
    readdirSync(join(root, "packages", name, "src"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .map((path) => `packages/${name}/src/${path.replaceAll("\\", "/")}`)
  )

/** The doc comments of the exports of a file, with the first line of what they describe. */
const documented = (file: string) => {
  const code = readFileSync(join(root, file), "utf8")
  const { comments, program } = parseSync(file, code)
  const exports = program.body.filter((each) => each.type === "ExportNamedDeclaration" && each.declaration !== null)
  return comments
    .filter(({ type, value }) => type === "Block" && value.startsWith("*"))
    .flatMap(({ end, value }) => {
      const described = exports.find(({ start }) => start >= end && code.slice(end, start).trim() === "")
      return described === undefined ? [] : [{ comment: value, line: code.slice(described.start).split("\n")[0] ?? "" }]
    })
}

it("every export with @since has a @category", () => {
  const found = files.flatMap((file) =>
    documented(file)
      .filter(({ comment }) => comment.includes("@since"))
      .map(({ comment, line }) => ({
        at: `${file}: ${line}`,
        category: /^ \* @category (.+)\n \* @since \d+\.\d+\.\d+$/m.exec(comment)?.[1]
      }))
  )
  expect(found.length).toBeGreaterThan(1000)
  expect(found.filter(({ category }) => category === undefined || !categories.includes(category))).toEqual([])
})
