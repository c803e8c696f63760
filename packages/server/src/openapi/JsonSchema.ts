/**
 * JSON Schemas as people write them. What is made from the schemas of the contract is exact for the
 * encoder of this package, and misleads programs that make clients from it.
 */
import { descriptions } from "./Descriptions.ts"

/** A part of the document. */
export interface Node {
  readonly [key: string]: unknown
}

export const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Replaces the values of an object. */
export const mapEntries = (node: Node, map: (value: unknown, key: string) => unknown): Node =>
  Object.fromEntries(Object.entries(node).map(([key, value]) => [key, map(value, key)]))

const prefix = "#/components/schemas/"

/** The name of the component that a schema refers to. */
export const referenceOf = (schema: unknown): string | undefined =>
  isNode(schema) && typeof schema["$ref"] === "string" ? schema["$ref"].slice(prefix.length) : undefined

export const refer = (name: string): Node => ({ $ref: `${prefix}${name}` })

export const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** A schema that no value meets. */
const isNever = (schema: unknown): boolean =>
  isNode(schema) && isNode(schema["not"]) && Object.keys(schema["not"]).length === 0

const isNull = (schema: unknown): boolean => isNode(schema) && schema["type"] === "null"

/** The bounds of all integers of JavaScript. They say nothing. */
const isAnyInteger = (value: unknown): boolean =>
  typeof value === "number" && Math.abs(value) === Number.MAX_SAFE_INTEGER

const withoutEmptyBounds = (schema: Node): Node =>
  Object.fromEntries(
    Object.entries(schema).filter(([key, value]) => !((key === "minimum" || key === "maximum") && isAnyInteger(value)))
  )

/** A list of any length, of which the first items are described apart, is a list. */
const withoutTuple = ({ prefixItems, ...schema }: Node): Node =>
  prefixItems === undefined ? schema : { ...schema, items: schema["items"] ?? listOf(prefixItems)[0] }

/** Parts of one schema that do not contradict each other are one schema. */
const withoutAllOf = ({ allOf, ...schema }: Node): Node => {
  const rest: Array<unknown> = []
  let all = schema
  for (const part of listOf(allOf)) {
    if (isNode(part) && Object.keys(part).every((key) => !(key in all) || all[key] === part[key]))
      all = { ...all, ...part }
    else rest.push(part)
  }
  return rest.length === 0 ? all : { ...all, allOf: rest }
}

/** Unknown fields are ignored, in requests and in responses. */
const opened = ({ additionalProperties: rest, ...schema }: Node): Node => {
  const isAny = rest === true || (isNode(rest) && Object.keys(rest).length === 0)
  if (isAny || (schema["type"] === "object" && schema["properties"] === undefined && rest === undefined)) {
    return { ...schema, additionalProperties: true }
  }
  return rest === undefined || rest === false ? schema : { ...schema, additionalProperties: rest }
}

/** The format says it. The pattern is long, and examples that tools make from it mislead. */
const withoutPatternOfUuid = ({ pattern, ...schema }: Node): Node =>
  pattern === undefined || schema["format"] === "uuid" ? schema : { ...schema, pattern }

const integers = (schema: Node): Node =>
  schema["type"] === "number" && listOf(schema["enum"]).length > 0 && listOf(schema["enum"]).every(Number.isInteger)
    ? { ...schema, type: "integer" }
    : schema

/** `null` is one of the types of a value, not another value. */
const nullable = ({ anyOf, ...schema }: Node): Node => {
  const choices = listOf(anyOf).filter((choice) => !isNever(choice))
  const isAny = choices.some((choice) => isNode(choice) && Object.keys(choice).length === 0)
  if (choices.length === 0 || isAny) return schema
  const others = choices.filter((choice) => !isNull(choice))
  const [only] = others
  if (others.length === 1 && isNode(only) && typeof only["type"] === "string" && others.length < choices.length) {
    return {
      ...schema,
      ...only,
      type: [only["type"], "null"],
      ...(Array.isArray(only["enum"]) ? { enum: [...listOf(only["enum"]), null] } : {})
    }
  }
  const [first] = choices
  return choices.length === 1 && isNode(first) ? { ...schema, ...first } : { ...schema, anyOf: choices }
}

/** What the names of these schemas say in the words of JSON Schema. */
const formats: { readonly [name: string]: string } = { HttpsUrl: "uri", Timestamp: "date-time" }

/** Whether a schema has a shape or a set of values, which a program gives a name. */
export const deservesName = (schema: unknown): boolean =>
  isNode(schema) &&
  (schema["properties"] !== undefined || Array.isArray(schema["enum"]) || Array.isArray(schema["anyOf"]))

/** The name without the number that a second copy of the same schema has. */
const withoutNumber = (name: string): string => name.replace(/_\d+$/, "")

/** Makes the schemas of a document readable, given its components. */
export const make = (components: Node) => {
  const made = new Map<string, unknown>()

  const component = (name: string): unknown => {
    if (!made.has(name)) made.set(name, readable(components[name]))
    return made.get(name)
  }

  const readable = (schema: unknown): unknown => {
    if (Array.isArray(schema)) return schema.map(readable)
    if (!isNode(schema)) return schema
    const reference = referenceOf(schema)
    if (reference !== undefined) {
      const name = withoutNumber(reference)
      const target = component(reference)
      if (deservesName(target)) return { ...schema, ...refer(name) }
      return isNode(target) && formats[name] !== undefined ? { ...target, format: formats[name] } : target
    }
    const children = mapEntries(schema, (value, key) =>
      key === "properties" && isNode(value)
        ? mapEntries(value, readable)
        : key === "enum" || key === "required"
          ? value
          : readable(value)
    )
    return nullable(integers(opened(withoutPatternOfUuid(withoutAllOf(withoutTuple(withoutEmptyBounds(children)))))))
  }

  return { readable, component }
}

/** The description of a component, by its name. */
type TextOf = (component: string) => string | undefined

/**
 * Adds the descriptions of a schema and of its fields. `path` is that of the constant that declares
 * it. A reference keeps its own description only if it differs from what the component says.
 */
export const describe = (schema: unknown, path: string, textOf: TextOf): unknown => {
  if (!isNode(schema)) return schema
  const text = descriptions[path]
  const reference = [schema, ...listOf(schema["anyOf"])].map(referenceOf).find((name) => name !== undefined)
  const isNew = text !== undefined && (reference === undefined || textOf(reference) !== text)
  return { ...(isNew ? { description: text } : {}), ...describeParts(schema, path, textOf) }
}

/** Describes the fields of a schema, and of its items, variants and members, but not it itself. */
const describeParts = (schema: Node, path: string, textOf: TextOf): Node =>
  mapEntries(schema, (value, key) => {
    if (key === "properties" && isNode(value)) {
      return mapEntries(value, (property, name) => describe(property, `${path}.${name}`, textOf))
    }
    if ((key === "items" || key === "additionalProperties") && isNode(value)) return describeParts(value, path, textOf)
    return key === "anyOf" || key === "oneOf"
      ? listOf(value).map((choice) => (isNode(choice) ? describeParts(choice, path, textOf) : choice))
      : value
  })
