/** The code samples of an operation, from its example. */
import type { Operation, Reference } from "@model-gateway/core/Operation"
import * as CodeSamples from "@model-gateway/core/unstable/CodeSamples"
import { isFunction } from "./Components.ts"

/** An entry of the OpenAPI extension `x-code-samples`, which reference pages show beside a call. */
export interface CodeSample {
  /** For the highlighting of the syntax. */
  readonly lang: string
  readonly label: string
  readonly source: string
}

type Example = NonNullable<Reference<unknown>["example"]>

const pathOf = ({ path }: Operation, { params = {}, query = {} }: Example): string => {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? `{${name}}`))
  const pairs = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return pairs.length === 0 ? filled : `${filled}?${pairs.join("&")}`
}

/** The example's body: a form or JSON. */
const bodyOf = ({ form, request }: Example): Pick<CodeSamples.Request, "form" | "json"> => {
  if (form === undefined) return { json: request }
  const { file, ...fields } = form
  return { form: { file, fields: Object.entries(fields) } }
}

/** A parameter of a query or a field of a form as a program writes it. */
const valueOf = (text: string): CodeSamples.Json =>
  text === "true" || text === "false" ? text === "true" : /^\d+$/.test(text) ? Number(text) : text

const valuesOf = (texts: { readonly [name: string]: string }): CodeSamples.Json =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, valueOf(text)]))

const argumentsOf = ({ arguments: given, example = {} }: Reference<unknown>): ReadonlyArray<CodeSamples.Json> => {
  if (given !== undefined) return given
  const { form, params = {}, query, request } = example
  const { file, ...fields } = form ?? {}
  const options = file === undefined ? (request ?? (query && valuesOf(query))) : valuesOf(fields)
  return [...Object.values(params), ...(options === undefined ? [] : [options])]
}

/**
 * The same call in four ways. `client`: the path of the client's function, such as `Rerank.rerank`.
 * `isBytes`: the response is a stream of bytes.
 */
export const codeSamples = (
  operation: Operation,
  client: string,
  reference: Reference<unknown>,
  isBytes: boolean
): ReadonlyArray<CodeSample> => {
  const { example = {} } = reference
  const request = { method: operation.method, path: pathOf(operation, example), isBytes, ...bodyOf(example) }
  const call = { client, isFunction: isFunction(client), arguments: argumentsOf(reference) }
  return [
    { lang: "bash", label: "curl", source: CodeSamples.curl(request) },
    { lang: "typescript", label: "TypeScript", source: CodeSamples.effect(request, call) },
    { lang: "javascript", label: "fetch", source: CodeSamples.fetch(request) },
    { lang: "python", label: "Python", source: CodeSamples.pythonRequests(request) }
  ]
}
