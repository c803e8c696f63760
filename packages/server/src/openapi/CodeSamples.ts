/**
 * Programs that make one call, for the API reference. They read the gateway's address and the key
 * from the environment variables of the Node client.
 */
import type { Operation, Reference } from "@model-gateway/core/Operation"
import { isFunction } from "./Components.ts"

/** An entry of the OpenAPI extension `x-code-samples`, which reference pages show beside a call. */
export interface CodeSample {
  /** For the highlighting of the syntax. */
  readonly lang: string
  readonly label: string
  readonly source: string
}

type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

interface Dialect {
  readonly indent: string
  readonly null: string
  readonly true: string
  readonly false: string
  readonly key: (name: string) => string
}

const javaScript: Dialect = {
  indent: "  ",
  null: "null",
  true: "true",
  false: "false",
  key: (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name))
}

const python: Dialect = {
  indent: "    ",
  null: "None",
  true: "True",
  false: "False",
  key: (name) => JSON.stringify(name)
}

/** Members in brackets or braces, on one line if they fit. */
const wrapped = (
  members: ReadonlyArray<string>,
  [open, close]: readonly [string, string],
  indent: string,
  inner: string
): string => {
  if (members.length === 0) return `${open}${close}`
  const space = open === "{" ? " " : ""
  const line = `${open}${space}${members.join(", ")}${space}${close}`
  if (line.length <= 72 && !line.includes("\n")) return line
  return `${open}\n${inner}${members.join(`,\n${inner}`)}\n${indent}${close}`
}

/** A value as a literal. */
const literal = (value: Json, dialect: Dialect, indent = ""): string => {
  if (value === null) return dialect.null
  if (typeof value === "boolean") return value ? dialect.true : dialect.false
  if (typeof value !== "object") return JSON.stringify(value)
  const inner = indent + dialect.indent
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => literal(item, dialect, inner))
    return wrapped(items, ["[", "]"], indent, inner)
  }
  const members = Object.entries(value).map(
    ([name, member]) => `${dialect.key(name)}: ${literal(member, dialect, inner)}`
  )
  return wrapped(members, ["{", "}"], indent, inner)
}

/** A text in single quotes of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

type Example = NonNullable<Reference<unknown>["example"]>

/** A request has a form or a JSON body. */
const bodyOf = ({ form, request }: Example) => {
  if (form === undefined) return { file: undefined, json: request, fields: [] }
  const { file, ...fields } = form
  return { file, json: undefined, fields: Object.entries(fields) }
}

const pathOf = ({ path }: Operation, { params = {}, query = {} }: Example): string => {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? `{${name}}`))
  const pairs = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return pairs.length === 0 ? filled : `${filled}?${pairs.join("&")}`
}

const curl = (operation: Operation, example: Example, isBytes: boolean): string => {
  const { fields, file, json } = bodyOf(example)
  const hasBody = json !== undefined || file !== undefined
  return [
    ...(operation.method === (hasBody ? "POST" : "GET") ? [] : [`-X ${operation.method}`]),
    `"$MODEL_GATEWAY_BASE_URL${pathOf(operation, example)}"`,
    `-H "Authorization: Bearer $MODEL_GATEWAY_API_KEY"`,
    ...(json === undefined
      ? []
      : [`-H "Content-Type: application/json"`, `-d ${quoted(JSON.stringify(json, null, 2))}`]),
    ...fields.map(([name, value]) => `-F ${name}=${quoted(value)}`),
    ...(file === undefined ? [] : [`-F file=@${file}`]),
    ...(isBytes ? ["--fail --output content"] : [])
  ]
    .join(" \\\n  ")
    .replace(/^/, "curl ")
}

const imported = (names: string, from: string): string => `import { ${names} } from ${JSON.stringify(from)}`

const fetchSample = (operation: Operation, example: Example, isBytes: boolean): string => {
  const { fields, file, json } = bodyOf(example)
  const url = `\`\${process.env.MODEL_GATEWAY_BASE_URL}${pathOf(operation, example)}\``
  return [
    ...(file === undefined
      ? []
      : [
          imported("openAsBlob", "node:fs"),
          "",
          "const form = new FormData()",
          ...fields.map(([name, value]) => `form.append(${JSON.stringify(name)}, ${JSON.stringify(value)})`),
          `form.append("file", await openAsBlob(${JSON.stringify(file)}), ${JSON.stringify(file)})`
        ]),
    `const response = await fetch(${url}, {`,
    ...(operation.method === "GET" ? [] : [`  method: "${operation.method}",`]),
    "  headers: {",
    `    authorization: \`Bearer \${process.env.MODEL_GATEWAY_API_KEY}\`${json === undefined ? "" : ","}`,
    ...(json === undefined ? [] : [`    "content-type": "application/json"`]),
    `  }${json === undefined && file === undefined ? "" : ","}`,
    ...(json === undefined ? [] : [`  body: JSON.stringify(${literal(json, javaScript, "  ")})`]),
    ...(file === undefined ? [] : ["  body: form"]),
    "})",
    "if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)",
    isBytes ? "const bytes = await response.arrayBuffer()" : "console.log(await response.json())"
  ].join("\n")
}

const pythonSample = (operation: Operation, example: Example, isBytes: boolean): string => {
  const { fields, file, json } = bodyOf(example)
  return [
    "import os",
    "",
    "import requests",
    "",
    `response = requests.${operation.method.toLowerCase()}(`,
    `    f"{os.environ['MODEL_GATEWAY_BASE_URL']}${pathOf(operation, example)}",`,
    `    headers={"Authorization": f"Bearer {os.environ['MODEL_GATEWAY_API_KEY']}"},`,
    ...(json === undefined ? [] : [`    json=${literal(json, python, python.indent)},`]),
    ...(fields.length === 0 ? [] : [`    data=${literal(Object.fromEntries(fields), python, python.indent)},`]),
    ...(file === undefined ? [] : [`    files={"file": open(${JSON.stringify(file)}, "rb")},`]),
    ")",
    "response.raise_for_status()",
    isBytes ? `open("content", "wb").write(response.content)` : "print(response.json())"
  ].join("\n")
}

/** A parameter of a query as a program writes it. */
const valueOf = (text: string): Json =>
  text === "true" || text === "false" ? text === "true" : /^\d+$/.test(text) ? Number(text) : text

const effectSample = (
  client: string,
  { arguments: given, example = {} }: Reference<unknown>,
  isBytes: boolean
): string => {
  const { params = {}, query } = example
  const { fields, file, json } = bodyOf(example)
  const [module = ""] = client.split(".")
  const body = json ?? (query && Object.fromEntries(Object.entries(query).map(([name, text]) => [name, valueOf(text)])))
  const members = fields.map(([name, text]) => `${javaScript.key(name)}: ${literal(valueOf(text), javaScript)}`)
  const args = given?.map((value) => literal(value, javaScript)) ?? [
    ...Object.values(params).map((value) => JSON.stringify(value)),
    ...(file === undefined ? [] : [wrapped(["file: blob", "filename", ...members], ["{", "}"], "  ", "    ")]),
    ...(body === undefined ? [] : [literal(body, javaScript)])
  ]
  const call = isFunction(client) ? `${client}(${args.join(", ")})` : client
  return [
    imported(module, "@model-gateway/core"),
    imported(file === undefined ? "NodeGateway" : "NodeFile, NodeGateway", "@model-gateway/node"),
    imported(isBytes ? "Effect, Stream" : "Effect", "effect"),
    "",
    ...(file === undefined
      ? [`const call = ${isBytes ? `Stream.mkUint8Array(${call})` : call}`]
      : [
          "const call = Effect.gen(function* () {",
          `  const { blob, filename } = yield* NodeFile.fromPath(${JSON.stringify(file)})`,
          `  return yield* ${call}`,
          "})"
        ]),
    "const result = await Effect.runPromise(Effect.provide(call, NodeGateway.layerConfig()))",
    ...(isBytes ? [] : ["console.log(result)"])
  ].join("\n")
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
  return [
    { lang: "bash", label: "curl", source: curl(operation, example, isBytes) },
    { lang: "typescript", label: "TypeScript", source: effectSample(client, reference, isBytes) },
    { lang: "javascript", label: "fetch", source: fetchSample(operation, example, isBytes) },
    { lang: "python", label: "Python", source: pythonSample(operation, example, isBytes) }
  ]
}
