// Puts the comments of the contract into its API reference, in packages/server after tsc:
// `node ../../scripts/descriptions.mjs ../core/src dist/openapi/Descriptions.js`.
//
// The OpenAPI document describes every operation, schema, field and parameter. These texts are the
// doc comments of the constants in the contract's sources, so that there is one text for readers of
// the HTTP API and of TypeScript. Comments are not in the output of tsc, and so this writes them to
// a module, by path: `Rerank.Request.top_n`.
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { parseSync } from "oxc-parser"

/**
 * What one expression says of itself and of its fields. `isNamed`: it is an exported schema, which
 * has its own path.
 */
const nothing = { text: undefined, fields: new Map(), isNamed: false }

/** Methods that return the same schema with more checks or annotations. */
const keepsMeaning = new Set(["annotate", "annotateKey", "annotateMerge", "check", "pipe"])

/** A list or a map of something is not that thing. Its fields are still those of its items. */
const isContainer = new Set(["Array", "NonEmptyArray", "Record", "Union"])

/** The text of a doc comment: paragraphs of one line each, without tags. */
const textOf = (comment) => {
  const lines = comment.split("\n").map((line) => line.replace(/^\s*\* ?/, "").trimEnd())
  const end = lines.findIndex((line) => /^\s*@\w/.test(line))
  const paragraphs = (end < 0 ? lines : lines.slice(0, end)).join("\n").split(/\n\s*\n/)
  const text = paragraphs
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => !/^(?:$|Specification:|An addition to the specification)/.test(paragraph))
    .map((paragraph) =>
      paragraph.startsWith("```") ? paragraph : paragraph.replace(/\n(?!\s*(?:[-*]|\d{1,2}\.) )\s*/g, " ")
    )
    .join("\n\n")
    .replace(/\{@link ([^}|]+)(?:\|[^}]*)?\}/g, (_, name) => `\`${name.trim()}\``)
    .trim()
  return text === "" ? undefined : text
}

const load = (path) => {
  const source = readFileSync(path, "utf8")
  const { program, comments, errors } = parseSync(path, source)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0].message}`)
  const documented = comments.filter(({ type, value }) => type === "Block" && value.startsWith("*"))
  const textBefore = ({ start }) => {
    const comment = documented.findLast(({ end }) => end <= start)
    return comment === undefined || source.slice(comment.end, start).trim() !== ""
      ? undefined
      : textOf(comment.value.slice(1))
  }
  const file = { path, textBefore, constants: new Map(), imports: new Map(), exports: new Map() }
  const at = (specifier) => resolve(dirname(path), specifier)
  for (const statement of program.body) {
    const isExport = statement.type === "ExportNamedDeclaration"
    const declaration = isExport ? statement.declaration : statement
    const from = statement.source?.value
    if (statement.type === "ImportDeclaration" && from.startsWith(".")) {
      for (const { local, imported } of statement.specifiers) {
        file.imports.set(local.name, { path: at(from), name: imported?.name })
      }
    } else if (isExport && from?.startsWith(".")) {
      for (const { exported, local } of statement.specifiers) {
        file.exports.set(exported.name, { path: at(from), name: local.name })
      }
    } else if (declaration?.type === "VariableDeclaration") {
      for (const { id, init } of declaration.declarations) {
        file.constants.set(id.name, { text: textBefore(statement), init, isExported: isExport })
        if (isExport) file.exports.set(id.name, { path, name: id.name })
      }
    } else if (declaration?.type === "ClassDeclaration") {
      const { id, superClass } = declaration
      file.constants.set(id.name, { text: textBefore(statement), init: superClass, isExported: isExport })
      if (isExport) file.exports.set(id.name, { path, name: id.name })
    }
  }
  return file
}

const files = new Map()

const fileOf = (path) => {
  if (!files.has(path)) files.set(path, load(path))
  return files.get(path)
}

const constantOf = (path, name) => {
  const file = fileOf(path)
  const { init, isExported, text } = file.constants.get(name) ?? {}
  if (init == null) {
    const elsewhere = file.exports.get(name)
    return elsewhere === undefined || elsewhere.path === path ? nothing : constantOf(elsewhere.path, elsewhere.name)
  }
  const value = describe(file, init)
  return {
    text: (isExported ? text : undefined) ?? value.text,
    fields: value.fields,
    isNamed: isExported && !/^(?:Object|ArrowFunction)Expression$/.test(init.type)
  }
}

const merged = (parts) => {
  const fields = new Map()
  for (const part of parts) for (const [name, field] of part.fields) if (!fields.has(name)) fields.set(name, field)
  return { text: undefined, fields, isNamed: false }
}

const describe = (file, node) => {
  switch (node?.type) {
    case "Identifier": {
      const imported = file.imports.get(node.name)
      return imported === undefined ? constantOf(file.path, node.name) : constantOf(imported.path, imported.name)
    }
    case "MemberExpression": {
      const { object, property } = node
      const space = object.type === "Identifier" ? file.imports.get(object.name) : undefined
      if (space !== undefined && space.name === undefined) return constantOf(space.path, property.name)
      const value = describe(file, object)
      return property.name === "fields"
        ? { text: undefined, fields: value.fields, isNamed: false }
        : (value.fields.get(property.name) ?? nothing)
    }
    case "CallExpression": {
      const { arguments: values, callee } = node
      const method = callee.type === "MemberExpression" ? callee.property.name : undefined
      // A function that makes a part of a request.
      if (callee.type === "Identifier") return describe(file, callee)
      if (method === "extend" && callee.object.type === "Identifier") return describe(file, callee.object)
      if (callee.type === "CallExpression")
        return merged([describe(file, callee), ...values.map((value) => describe(file, value))])
      if (keepsMeaning.has(method)) return describe(file, callee.object)
      const parts = values.map((value) => describe(file, value))
      if (parts.length === 1 && !isContainer.has(method)) return parts[0]
      return merged(parts.map((part) => (part.isNamed ? nothing : part)))
    }
    case "ArrayExpression":
      return merged(
        node.elements.map((element) => describe(file, element)).map((part) => (part.isNamed ? nothing : part))
      )
    case "ArrowFunctionExpression":
      return describe(file, node.body)
    case "BlockStatement":
      return describe(file, node.body.find(({ type }) => type === "ReturnStatement")?.argument)
    case "ParenthesizedExpression":
    case "TSAsExpression":
    case "TSSatisfiesExpression":
      return describe(file, node.expression)
    case "ObjectExpression": {
      const fields = new Map()
      for (const property of node.properties) {
        if (property.type === "SpreadElement") {
          for (const [name, field] of describe(file, property.argument).fields) fields.set(name, field)
          continue
        }
        const value = describe(file, property.value)
        fields.set(property.key.name ?? property.key.value, {
          ...value,
          text: file.textBefore(property) ?? value.text
        })
      }
      return { text: undefined, fields, isNamed: false }
    }
    default:
      return nothing
  }
}

const [source, output] = process.argv.slice(2).map((path) => resolve(path))

const texts = new Map()

const collect = (path, { fields, isNamed, text }, isRoot = false) => {
  if (text !== undefined) texts.set(path, text)
  if (isNamed && !isRoot) return
  for (const [name, field] of fields) collect(`${path}.${name}`, field)
}

const modules = [source, join(source, "dialect")].flatMap((folder) =>
  readdirSync(folder).map((name) => join(folder, name))
)
for (const path of modules) {
  if (!path.endsWith(".ts") || path.endsWith("index.ts")) continue
  const { exports } = fileOf(path)
  for (const [exported, { name: local, path: origin }] of exports) {
    const described = `${basename(path, ".ts")}.${exported}`
    const { init, text } = fileOf(origin).constants.get(local) ?? {}
    if (exports.has(`${exported}Operation`)) collect(described, { ...nothing, text })
    else if (!/Function/.test(init?.type)) collect(described, constantOf(origin, local), true)
  }
}

const lines = Array.from(texts)
  .toSorted(([a], [b]) => (a < b ? -1 : 1))
  .map(([path, text]) => `  ${JSON.stringify(path)}: ${JSON.stringify(text)},\n`)
writeFileSync(output, `export const descriptions = {\n${lines.join("")}}\n`)
