/**
 * Programs that make one call, for the API reference and for pages that try an operation. They read
 * the gateway's address and the key from the environment variables of the Node client.
 *
 * Nothing of the contract is imported, so that a page which shows programs does not bundle it.
 *
 * @since 0.1.0
 */

/**
 * @category models
 * @since 0.1.0
 */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

/**
 * A request. It has a JSON body, a form or neither.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  readonly method: string
  /** The path and query below the base URL, such as `/rerank`. */
  readonly path: string
  readonly json?: Json | undefined
  /** The name of a file, and the other fields. A field may be repeated. */
  readonly form?:
    | { readonly file: string; readonly fields: ReadonlyArray<readonly [name: string, text: string]> }
    | undefined
  /** Whether the response is a stream of bytes. */
  readonly isBytes?: boolean | undefined
}

/**
 * How this project's client makes the request.
 *
 * @category models
 * @since 0.1.0
 */
export interface ClientCall {
  /** The path of the function, such as `Rerank.rerank`. */
  readonly client: string
  /** False: it is an Effect, and called without arguments. */
  readonly isFunction: boolean
  /** With a form, the last argument also has the file. */
  readonly arguments: ReadonlyArray<Json>
}

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

/** A text as a word of a shell: in quotes if it needs them. */
const shellWord = (text: string): string => (/^[\w.@%+=:,/-]+$/.test(text) ? text : quoted(text))

/**
 * In a shell, with curl.
 *
 * @category samples
 * @since 0.1.0
 */
export const curl = ({ form, isBytes = false, json, method, path }: Request): string =>
  [
    ...(method === (json === undefined && form === undefined ? "GET" : "POST") ? [] : [`-X ${method}`]),
    `"$MODEL_GATEWAY_BASE_URL${path}"`,
    `-H "Authorization: Bearer $MODEL_GATEWAY_API_KEY"`,
    ...(json === undefined
      ? []
      : [`-H "Content-Type: application/json"`, `-d ${quoted(JSON.stringify(json, null, 2))}`]),
    ...(form === undefined
      ? []
      : [
          ...form.fields.map(([name, value]) => `-F ${shellWord(name)}=${quoted(value)}`),
          `-F file=@${shellWord(form.file)}`
        ]),
    ...(isBytes ? ["--fail --output content"] : [])
  ]
    .join(" \\\n  ")
    .replace(/^/, "curl ")

const imported = (names: string, from: string): string => `import { ${names} } from ${JSON.stringify(from)}`

/**
 * In JavaScript, with `fetch`.
 *
 * @category samples
 * @since 0.1.0
 */
export const fetch = ({ form, isBytes = false, json, method, path }: Request): string => {
  const url = `\`\${process.env.MODEL_GATEWAY_BASE_URL}${path}\``
  return [
    ...(form === undefined
      ? []
      : [
          imported("openAsBlob", "node:fs"),
          "",
          "const form = new FormData()",
          ...form.fields.map(([name, value]) => `form.append(${JSON.stringify(name)}, ${JSON.stringify(value)})`),
          `form.append("file", await openAsBlob(${JSON.stringify(form.file)}), ${JSON.stringify(form.file)})`
        ]),
    `const response = await fetch(${url}, {`,
    ...(method === "GET" ? [] : [`  method: "${method}",`]),
    "  headers: {",
    `    authorization: \`Bearer \${process.env.MODEL_GATEWAY_API_KEY}\`${json === undefined ? "" : ","}`,
    ...(json === undefined ? [] : [`    "content-type": "application/json"`]),
    `  }${json === undefined && form === undefined ? "" : ","}`,
    ...(json === undefined ? [] : [`  body: JSON.stringify(${literal(json, javaScript, "  ")})`]),
    ...(form === undefined ? [] : ["  body: form"]),
    "})",
    "if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)",
    isBytes ? "const bytes = await response.arrayBuffer()" : "console.log(await response.json())"
  ].join("\n")
}

/** The fields of a form as Python's `requests` takes them. A dictionary has each name once. */
const pythonFields = (fields: ReadonlyArray<readonly [name: string, text: string]>): string => {
  const entries = Object.fromEntries(fields)
  if (Object.keys(entries).length === fields.length) return literal(entries, python, python.indent)
  const pairs = fields.map(([name, text]) => `(${JSON.stringify(name)}, ${JSON.stringify(text)})`)
  return wrapped(pairs, ["[", "]"], python.indent, python.indent.repeat(2))
}

/**
 * In Python, with the package `requests`.
 *
 * @category samples
 * @since 0.1.0
 */
export const pythonRequests = ({ form, isBytes = false, json, method, path }: Request): string =>
  [
    "import os",
    "",
    "import requests",
    "",
    `response = requests.${method.toLowerCase()}(`,
    `    f"{os.environ['MODEL_GATEWAY_BASE_URL']}${path}",`,
    `    headers={"Authorization": f"Bearer {os.environ['MODEL_GATEWAY_API_KEY']}"},`,
    ...(json === undefined ? [] : [`    json=${literal(json, python, python.indent)},`]),
    ...(form === undefined || form.fields.length === 0 ? [] : [`    data=${pythonFields(form.fields)},`]),
    ...(form === undefined ? [] : [`    files={"file": open(${JSON.stringify(form.file)}, "rb")},`]),
    ")",
    "response.raise_for_status()",
    isBytes ? `open("content", "wb").write(response.content)` : "print(response.json())"
  ].join("\n")

/** The arguments of a call. With a form, `file` are the members of the last one that have the file. */
const argumentsOf = (
  { arguments: given }: ClientCall,
  indent: string,
  file: ReadonlyArray<string> | undefined
): string => {
  if (file === undefined) return given.map((value) => literal(value, javaScript, indent)).join(", ")
  const inner = indent + javaScript.indent
  const options = given.at(-1)
  const members = Object.entries(isObject(options) ? options : {}).map(
    ([name, value]) => `${javaScript.key(name)}: ${literal(value, javaScript, inner)}`
  )
  const first = given.slice(0, isObject(options) ? -1 : undefined).map((value) => literal(value, javaScript, indent))
  return [...first, wrapped([...file, ...members], ["{", "}"], indent, inner)].join(", ")
}

const isObject = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * In TypeScript, with this project's client and Effect.
 *
 * @category samples
 * @since 0.1.0
 */
export const effect = ({ form, isBytes = false }: Request, call: ClientCall): string => {
  const { client, isFunction } = call
  const [module = ""] = client.split(".")
  const args = argumentsOf(call, form === undefined ? "" : "  ", form && ["file: blob", "filename"])
  const expression = isFunction ? `${client}(${args})` : client
  return [
    imported(module, "@model-gateway/core"),
    imported(form === undefined ? "NodeGateway" : "NodeFile, NodeGateway", "@model-gateway/node"),
    imported(isBytes ? "Effect, Stream" : "Effect", "effect"),
    "",
    ...(form === undefined
      ? [`const call = ${isBytes ? `Stream.mkUint8Array(${expression})` : expression}`]
      : [
          "const call = Effect.gen(function* () {",
          `  const { blob, filename } = yield* NodeFile.fromPath(${JSON.stringify(form.file)})`,
          `  return yield* ${expression}`,
          "})"
        ]),
    "const result = await Effect.runPromise(Effect.provide(call, NodeGateway.layerConfig()))",
    ...(isBytes ? [] : ["console.log(result)"])
  ].join("\n")
}

/**
 * In TypeScript, with this project's client and Promises.
 *
 * @category samples
 * @since 0.1.0
 */
export const promises = ({ form }: Request, call: ClientCall): string => {
  const [, method = ""] = call.client.split(".")
  const file = form && ["file", `filename: ${JSON.stringify(form.file)}`]
  return [
    imported("createClient", "@model-gateway/node/promise"),
    ...(form === undefined ? [] : [imported("openAsBlob", "node:fs")]),
    "",
    "const gateway = await createClient()",
    ...(form === undefined ? [] : [`const file = await openAsBlob(${JSON.stringify(form.file)})`]),
    `console.log(await gateway.${method}(${argumentsOf(call, "", file)}))`,
    "await gateway.close()"
  ].join("\n")
}
