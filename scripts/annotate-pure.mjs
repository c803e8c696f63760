// Marks the calls that a module makes while it loads as pure, after tsc:
// `node scripts/annotate-pure.mjs dist`.
//
// tsc leaves such marks out, and without them a bundler has to keep every schema and layer of every
// module that a page touches. Nothing in these packages does anything while it loads but make
// values, which is what the mark says.
//
// A spread cannot be marked: it may run a getter, so a bundler keeps the object that is spread
// although nobody uses the result. A constant whose value is made with one becomes a pure call of a
// function that returns the value.
import { parse } from "acorn"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const mark = "/* @__PURE__ */ "

/** Visits the nodes that run while the module loads: those inside functions do not. */
const visitAtLoad = (node, visit) => {
  if (node === null || typeof node !== "object" || typeof node.type !== "string") return
  switch (node.type) {
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "ArrowFunctionExpression":
    // A call whose value is unused is made for its side effect.
    case "ExpressionStatement":
      return
    case "PropertyDefinition":
      if (node.static) visitAtLoad(node.value, visit)
      return
  }
  visit(node)
  for (const child of Object.values(node)) {
    if (Array.isArray(child)) for (const each of child) visitAtLoad(each, visit)
    else visitAtLoad(child, visit)
  }
}

const hasSpread = (node) => {
  let found = false
  visitAtLoad(node, ({ type }) => (found ||= type === "SpreadElement"))
  return found
}

const annotate = (code) => {
  const insertions = []
  visitAtLoad(parse(code, { ecmaVersion: "latest", sourceType: "module" }), (node) => {
    if (node.type === "VariableDeclarator" && hasSpread(node.init)) {
      insertions.push([node.init.start, `${mark}(() => (`], [node.init.end, "))()"])
    } else if (node.type === "CallExpression" || node.type === "NewExpression") {
      insertions.push([node.start, mark])
    }
  })
  let annotated = ""
  let end = 0
  // In the order of the visit, where two are at the same place: a constant comes before its call.
  for (const [start, text] of insertions.toSorted(([a], [b]) => a - b)) {
    annotated += code.slice(end, start)
    // On output that is annotated already, change nothing.
    if (text !== mark || !annotated.endsWith(mark)) annotated += text
    end = start
  }
  return annotated + code.slice(end)
}

const folder = process.argv[2]
if (folder === undefined) {
  console.error("usage: node scripts/annotate-pure.mjs <folder>")
  process.exit(1)
}
for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
  if (!name.endsWith(".js") || name.startsWith("test")) continue
  const path = join(folder, name)
  const code = readFileSync(path, "utf8")
  const annotated = annotate(code)
  if (annotated !== code) writeFileSync(path, annotated)
}
