// Marks the calls that a module makes while it loads as pure: `node scripts/annotate-pure.mjs dist`, after tsc.
//
// tsc leaves such marks out, and without them a bundler has to keep every schema and layer of every module that a page
// touches. Nothing in these packages does anything while it loads but make values, which is what the mark says.
import { parse } from "acorn"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const mark = "/* @__PURE__ */ "

/** Where the calls start that run while the module loads: those inside functions do not. */
const callsAtLoad = (node, starts) => {
  if (node === null || typeof node !== "object" || typeof node.type !== "string") return starts
  switch (node.type) {
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "ArrowFunctionExpression":
    // A call that nobody takes the value of is made for what it does.
    case "ExpressionStatement":
      return starts
    case "PropertyDefinition":
      return node.static ? callsAtLoad(node.value, starts) : starts
    case "CallExpression":
    case "NewExpression":
      starts.add(node.start)
  }
  for (const child of Object.values(node)) {
    if (Array.isArray(child)) for (const each of child) callsAtLoad(each, starts)
    else callsAtLoad(child, starts)
  }
  return starts
}

const annotate = (code) => {
  const starts = callsAtLoad(parse(code, { ecmaVersion: "latest", sourceType: "module" }), new Set())
  let annotated = ""
  let end = 0
  for (const start of [...starts].sort((a, b) => a - b)) {
    annotated += code.slice(end, start)
    // Run again on what tsc did not write anew, it changes nothing.
    if (!annotated.endsWith(mark)) annotated += mark
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
