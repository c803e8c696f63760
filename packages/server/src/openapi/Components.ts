/**
 * The names of the schemas in the OpenAPI document. A schema has a name if a module of the contract
 * exports it: `Rerank.Request` is `RerankRequest`. Schemas are recognized by identity, so that they
 * need no annotation, which pages would have to load and error messages would show.
 */
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import * as Contract from "@model-gateway/core"
import * as GatewayError from "@model-gateway/core/GatewayError"
import * as Operation from "@model-gateway/core/Operation"

/** The modules of the contract. The document shows their schemas and operations. */
const modules: { readonly [name: string]: { readonly [name: string]: unknown } } = Contract

/**
 * Whether a part of the client, such as `Rerank.rerank`, is a function. `CurrentKey.currentKey` is
 * an effect.
 */
export const isFunction = (client: string): boolean => {
  const [module = "", name = ""] = client.split(".")
  return typeof modules[module]?.[name] === "function"
}

/** Names that the rule of {@link nameOf} would make clumsy. */
const names: { readonly [path: string]: string } = {
  "Credits.Response": "CreditsResponse",
  "CurrentKey.KeyRecord": "CurrentKey",
  "CurrentKey.LimitReset": "LimitReset",
  "Files.AnyFile": "AnyFile",
  "Files.AnyFileList": "AnyFileList",
  "GatewayError.Issue": "Issue",
  "GatewayError.Metadata": "ErrorMetadata",
  "Generations.ProviderAttempt": "ProviderAttempt",
  "Keys.EphemeralRequest": "CreateEphemeralKeyRequest",
  "Keys.EphemeralResponse": "CreateEphemeralKeyResponse",
  "Webhooks.DeliveryAttempt": "DeliveryAttempt"
}

const verbs = /^(Create|Update|Delete|Add|Assign|Unassign|Rotate)(?=[A-Z])/

/** `Keys.CreateRequest` is `CreateKeyRequest`, `Keys.ListResponse` is `ListKeysResponse`. */
const nameOf = (module: string, name: string): string => {
  if (module === "Identifiers" || module === "FileShapes") return name
  const noun = module.replace(/s$/, "")
  const verb = verbs.exec(name)?.[0]
  if (name.startsWith("List") && name !== "List") return `List${module}${name.slice("List".length)}`
  if (verb !== undefined) return name.includes(noun) ? name : `${verb}${noun}${name.slice(verb.length)}`
  return name.startsWith(noun) ? name : `${noun}${name}`
}

/** The path of an exported constant, such as `Rerank.Request`, which has its description. */
type Path = string

/** The parts of a schema that a copy with other annotations shares with it. */
const partsOf = (ast: SchemaAST.AST): unknown =>
  ast._tag === "Objects" ? ast.propertySignatures : ast._tag === "Union" ? ast.types : ast

/** What is sent of a schema. */
const encodedOf = (schema: Schema.Top): SchemaAST.AST => {
  let { ast }: { readonly ast: SchemaAST.AST } = Schema.toCodecJson(schema)
  for (let link = ast.encoding?.at(-1); link !== undefined; link = ast.encoding?.at(-1)) ast = link.to
  return ast
}

interface Registry {
  readonly byPart: ReadonlyMap<unknown, string>
  readonly byEncoded: ReadonlyMap<SchemaAST.AST, string>
  readonly paths: ReadonlyMap<string, Path>
  readonly operations: ReadonlyMap<Operation.Operation, Path>
}

const makeRegistry = (): Registry => {
  const byPart = new Map<unknown, string>()
  const byEncoded = new Map<SchemaAST.AST, string>()
  const paths = new Map<string, Path>()
  const operations = new Map<Operation.Operation, Path>()

  const add = (name: string, schema: Schema.Top): void => {
    byPart.set(partsOf(schema.ast), name)
    byEncoded.set(encodedOf(schema), name)
  }

  const exported = Object.entries(modules).flatMap(([module, values]) =>
    Object.entries(values).map(([name, value]) => ({ module, name, path: `${module}.${name}`, value }))
  )
  for (const { module, name: exportedName, path, value } of exported) {
    // The errors have components of their own.
    if (!Schema.isSchema(value) || GatewayError.statusOf(value) !== undefined) continue
    const known = byPart.get(partsOf(value.ast))
    const name = known ?? names[path] ?? nameOf(module, exportedName)
    if (known === undefined && paths.has(name)) throw new Error(`${path} and ${paths.get(name)} are both ${name}`)
    add(name, value)
    if (known === undefined) paths.set(name, path)
  }
  for (const { module, value } of exported) {
    const schema = Operation.isOperation(value) ? value.success : value
    if (Operation.isOperation(value)) operations.set(value, `${module}.${value.identifier}`)
    if (!Schema.isSchema(schema)) continue
    // With the status of the response it is a copy of the schema that is exported.
    const name = byPart.get(partsOf(schema.ast))
    if (name !== undefined) add(name, schema)
  }
  return { byPart, byEncoded, paths, operations }
}

let made: Registry | undefined

const registry = (): Registry => (made ??= makeRegistry())

/** The name of a schema of the document, if it has one. */
export const referencePolicy = ({ ast }: { readonly ast: SchemaAST.AST }): string | undefined =>
  registry().byEncoded.get(ast)

/** The name of a schema before its encoding, which a form loses. */
export const nameOfForm = (schema: Schema.Top): string | undefined => registry().byPart.get(partsOf(schema.ast))

/** The path of the constant that a component is made of. */
export const pathOf = (component: string): Path | undefined => registry().paths.get(component)

/**
 * The path of an operation, such as `Rerank.rerank`, which is that of the function that calls it.
 */
export const pathOfOperation = (operation: Operation.Operation): Path | undefined =>
  registry().operations.get(operation)
