/**
 * The OpenAPI 3.1 document of the contract, for people who read about the API and for programs that
 * make clients from it. The service serves it at `/openapi.json`.
 *
 * Everything in it is stated elsewhere: schemas, statuses and traits by the operations, every
 * description by the doc comment of what it describes, titles and examples by the operation's
 * `reference`.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as HttpApi from "effect/http-api/HttpApi"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as Groups from "@model-gateway/core/GatewayApi"
import * as GatewayError from "@model-gateway/core/GatewayError"
import { codeSamples } from "./CodeSamples.ts"
import * as Components from "./Components.ts"
import { descriptions } from "./Descriptions.ts"
import * as JsonSchema from "./JsonSchema.ts"
import * as Responses from "./Responses.ts"
import * as Operation from "@model-gateway/core/Operation"

type Node = JsonSchema.Node

const introduction =
  `Rerank, transcription and video models of many providers through one HTTP API, with keys, budgets and guardrails.

Send your key as \`Authorization: Bearer <API_KEY>\`. Requests and responses are JSON in UTF-8 unless an operation says
otherwise. Times are ISO 8601 in UTC and end in \`Z\`. Money is in credits; 1 credit is 1 USD. Unknown fields of a
request are ignored, except by operations of management keys, which refuse them and unknown parameters with a 400.
Responses may get new fields.

Ordinary keys (\`mg_sk_…\`) call models and spend credits. Management keys (\`mg_mk_…\`) manage keys, guardrails,
workspaces and destinations, and cannot spend. Ephemeral keys (\`mg_ek_…\`) live for at most 15 minutes, count as ordinary
keys and spend from their parent's budget. A missing, malformed or unknown key is a 401, and a key of the wrong kind a 403.

The examples read two environment variables: \`MODEL_GATEWAY_BASE_URL\`, such as \`http://127.0.0.1:8787/api/v1\`, and
\`MODEL_GATEWAY_API_KEY\`, a key of the kind that the operation requires. Replace their identifiers with your own.
\`GET /models\` lists all models.

Every error has the same envelope, with the status in \`error.code\`. Every response has an \`x-request-id\`.`.replace(
    /(?<!\n)\n(?!\n)/g,
    " "
  )

const bearer: Node = {
  type: "http",
  scheme: "bearer",
  bearerFormat: "API key",
  description: "An API key: `mg_sk_…`, `mg_mk_…` or `mg_ek_…`."
}

const options: OpenApi.FromApiOptions = { referencePolicy: Components.referencePolicy }

const prefix = "/api/v1"

const isNode = JsonSchema.isNode

const nodeOf = (value: unknown): Node => (isNode(value) ? value : {})

const mapValues = (node: unknown, map: (value: unknown, key: string) => unknown): Node =>
  JsonSchema.mapEntries(nodeOf(node), map)

/** The description of a component. */
const textOf = (component: string): string | undefined => descriptions[Components.pathOf(component) ?? component]

const sentence = (text: string): string => /^[^]*?\.(?=\s|$)/.exec(text)?.[0] ?? text

/** Queries and forms send numbers as text. The document describes them as numbers. */
const numbersOf = (schema: Schema.Top | undefined): ReadonlyMap<string, Node> => {
  const numbers = new Map<string, Node>()
  if (schema === undefined || !SchemaAST.isObjects(schema.ast)) return numbers
  for (const { name, type } of schema.ast.propertySignatures) {
    const decoded = SchemaAST.toType(type)
    if (!SchemaAST.isNumber(decoded)) continue
    const document = Schema.toJsonSchemaDocument(Schema.make<Schema.Schema<number>>(decoded))
    numbers.set(String(name), document.schema)
  }
  return numbers
}

/** A field of a form that may be repeated is a list. */
const repeated = (schema: unknown): unknown =>
  JsonSchema.listOf(nodeOf(schema)["anyOf"]).find((each) => nodeOf(each)["type"] === "array") ?? schema

/**
 * Examples of parameters that few calls need. Without one, the reference shows random text of the
 * pattern.
 */
const parameterExamples: { readonly [name: string]: string } = {
  "idempotency-key": "8e03978e-40d5-43e8-bc93-6894a57f9324",
  from: "2026-11-20T00:00:00Z",
  to: "2026-11-21T00:00:00Z"
}

interface Declared {
  /** The title of its group. */
  readonly group: string
  readonly endpoint: HttpApiEndpoint.Top
  readonly operation: Operation.Operation
  readonly path: string
}

const titleOf = (group: HttpApiGroup.Top): string =>
  Context.getOrElse(group.annotations, Operation.GroupTitle, () => group.identifier)

const requirements: { readonly [Who in Exclude<Operation.Access, "management key">]: string } = {
  "any key": "Requires a key of any kind.",
  "ordinary key": "Requires an ordinary key."
}

/** What an operation of management keys requires, by its least role. */
const roles: { readonly [Least in Operation.Operation["role"]]: string } = {
  viewer: "Requires a management key.",
  operator: "Requires a management key with the role operator or admin.",
  admin: "Requires a management key with the role admin."
}

/** What the traits of an operation mean for a caller. */
const traitsOf = (operation: Operation.Operation): string =>
  [
    operation.access === "management key" ? roles[operation.role] : requirements[operation.access],
    ...(Operation.isPaid(operation) ? ["Costs credits."] : []),
    ...(Operation.isRateLimited(operation) ? ["Rate limited per key."] : [])
  ].join(" ")

const declarations = (): ReadonlyMap<string, Declared> => {
  const declared = new Map<string, Declared>()
  HttpApi.reflect(Groups.GatewayApi, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group }) => {
      const operation = Operation.of(endpoint)
      if (operation === undefined) return
      const path = Components.pathOfOperation(operation) ?? operation.identifier
      declared.set(`${group.identifier}.${endpoint.identifier}`, {
        group: titleOf(group),
        endpoint,
        operation,
        path
      })
    }
  })
  return declared
}

/** The groups of operations, in the order of the contract. Their classes say what they are for. */
const tags = (): ReadonlyArray<Node> => {
  const found: Array<Node> = []
  HttpApi.reflect(Groups.GatewayApi, {
    onGroup: ({ group }) => {
      const [exported] =
        Object.entries(Groups).find(
          ([, value]) => typeof value !== "string" && value.identifier === group.identifier
        ) ?? []
      const description = descriptions[`GatewayApi.${exported}`]
      found.push({ name: titleOf(group), ...(description === undefined ? {} : { description }) })
    },
    onEndpoint: () => {}
  })
  return found
}

/**
 * Where the service is.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /** The path below which the service is served. Default: the root. */
  readonly basePath?: string | undefined
}

/**
 * Makes the document. It takes about a tenth of a second the first time, so keep it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = ({ basePath = "" }: Options = {}): { readonly [key: string]: unknown } => {
  const made = OpenApi.fromApi(Groups.GatewayApi, options)
  const declared = declarations()
  const rough = nodeOf(made.components.schemas)
  const { component, readable } = JsonSchema.make(rough)
  const forms: Record<string, unknown> = {}

  const parameter = (value: unknown, { endpoint, path }: Declared): Node => {
    const { in: place, name, required, schema } = nodeOf(value)
    const key = String(name)
    const part = { path: "params", query: "query", header: "headers" }[String(place)] ?? "query"
    const number = place === "query" ? numbersOf(endpoint.query).get(key) : undefined
    const example = Operation.referenceOf(endpoint)?.example
    const given = place === "path" ? example?.params : place === "query" ? example?.query : undefined
    const text = given?.[key] ?? parameterExamples[key]
    const { description, ...described } = nodeOf(
      JsonSchema.describe(readable(number ?? schema), `${path}Endpoint.${part}.${key}`, textOf)
    )
    return {
      name: key === "idempotency-key" ? "Idempotency-Key" : key,
      in: place,
      ...(description === undefined ? {} : { description }),
      required,
      schema: described,
      ...(text === undefined ? {} : { example: number === undefined ? text : Number(text) })
    }
  }

  /** The body of a form has lost the identity of its schema. */
  const form = (schema: unknown, { endpoint }: Declared): unknown => {
    const declaredForm = endpoint.payload.get("multipart/form-data")?.schemas[0]
    const name = declaredForm && Components.nameOfForm(declaredForm)
    if (name === undefined) return readable(schema)
    const numbers = numbersOf(declaredForm)
    const fields = nodeOf(readable(schema))
    const properties = mapValues(fields["properties"], (field, key) => repeated(numbers.get(key) ?? field))
    forms[name] = { ...fields, properties }
    return JsonSchema.refer(name)
  }

  const requestBody = (value: unknown, declaration: Declared): Node => {
    const reference = Operation.referenceOf(declaration.endpoint)?.example
    let required = true
    const content = mapValues(nodeOf(value)["content"], (media, type) => {
      const isForm = type === "multipart/form-data"
      let schema = isForm ? form(nodeOf(media)["schema"], declaration) : readable(nodeOf(media)["schema"])
      const choices = JsonSchema.listOf(nodeOf(schema)["anyOf"])
      if (choices.some((choice) => nodeOf(choice)["type"] === "null")) {
        required = false
        schema = choices.find((choice) => nodeOf(choice)["type"] !== "null")
      }
      const example = isForm ? reference?.form : reference?.request
      return { schema, ...(example === undefined ? {} : { example }) }
    })
    // Reference pages show the first form of a body, which is that of the code samples.
    const first = reference?.form === undefined ? [] : ["multipart/form-data"]
    const types = [...new Set([...first, ...Object.keys(content)])]
    return { required, content: Object.fromEntries(types.map((type) => [type, content[type]])) }
  }

  const successOf = (value: unknown, { endpoint }: Declared, headers: ReadonlyArray<string>): Node => {
    const example = Operation.referenceOf(endpoint)?.example?.response
    const media = nodeOf(nodeOf(value)["content"])
    const isBinary = Object.values(media).some((each) => nodeOf(each)["x-effect-stream"] !== undefined)
    const content = mapValues(media, (each, type) => ({
      schema: isBinary ? { type: "string", format: "binary" } : readable(nodeOf(each)["schema"]),
      ...(type === "application/json" && example !== undefined ? { example } : {})
    }))
    const body = JsonSchema.referenceOf(nodeOf(content["application/json"])["schema"])
    const described = body === undefined ? undefined : textOf(body)
    const description = isBinary ? "The content." : described === undefined ? "Success." : sentence(described)
    return {
      description,
      headers: Responses.headersOf(...headers, ...(isBinary ? ["Accept-Ranges", "ETag"] : [])),
      ...(Object.keys(content).length === 0 ? {} : { content })
    }
  }

  const operationOf = (value: unknown): Node => {
    const source = nodeOf(value)
    const declaration = declared.get(String(source["operationId"]))
    if (declaration === undefined) return source
    const { endpoint, group, operation, path } = declaration
    const reference = Operation.referenceOf(endpoint)
    const isRepeatable = endpoint.headers !== undefined
    const headers = [
      "x-request-id",
      ...(Operation.isRateLimited(operation) ? ["RateLimit", "RateLimit-Policy"] : []),
      ...(isRepeatable ? ["idempotent-replayed"] : [])
    ]
    const responses: Record<string, unknown> = {}
    let isBinary = false
    for (const [status, response] of Object.entries(nodeOf(source["responses"]))) {
      const code = Number(status)
      const error = Responses.errorReferenceOf(code, operation)
      if (error !== undefined) {
        responses[status] = error
        continue
      }
      const success = successOf(response, declaration, headers)
      responses[status] = success
      isBinary ||= "Accept-Ranges" in nodeOf(success["headers"])
      if (isBinary) {
        responses["206"] = {
          ...success,
          description: "The requested range of the content.",
          headers: { ...nodeOf(success["headers"]), ...Responses.headersOf("Content-Range") }
        }
      }
    }
    const parameters = JsonSchema.listOf(source["parameters"]).map((each) => parameter(each, declaration))
    const text = [descriptions[path], traitsOf(operation)].filter((part) => part !== undefined).join("\n\n")
    return {
      operationId: operation.identifier,
      tags: [group],
      ...(reference === undefined ? {} : { summary: reference.summary }),
      description: text,
      security: source["security"],
      parameters: isBinary ? [...parameters, ...Responses.rangeParameters] : parameters,
      ...(source["requestBody"] === undefined ? {} : { requestBody: requestBody(source["requestBody"], declaration) }),
      responses,
      ...(reference === undefined ? {} : { "x-code-samples": codeSamples(operation, path, reference, isBinary) })
    }
  }

  const paths = Object.fromEntries(
    Object.entries(made.paths).map(([path, methods]) => [path.slice(prefix.length), mapValues(methods, operationOf)])
  )

  const schemas = Object.fromEntries(
    [...Object.keys(rough), ...Object.keys(forms)].flatMap((name) => {
      const path = Components.pathOf(name)
      const schema = forms[name] ?? component(name)
      return path === undefined || !JsonSchema.deservesName(schema)
        ? []
        : [[name, JsonSchema.describe(schema, path, () => undefined)]]
    })
  )
  // Only `error.metadata`, which is free-form in the contract, has it.
  const issue = JsonSchema.describe(
    readable(Schema.toJsonSchemaDocument(GatewayError.Issue).schema),
    "GatewayError.Issue",
    textOf
  )
  const errors = Responses.errorComponents(Array.from(declared.values(), ({ operation }) => operation))
  return {
    openapi: "3.1.0",
    info: {
      title: "Model Gateway",
      version: Groups.version,
      description: introduction,
      license: { name: "MIT", identifier: "MIT" }
    },
    servers: [{ url: `${basePath}${prefix}`, description: "This gateway" }],
    security: [{ bearer: [] }],
    tags: tags(),
    paths,
    components: {
      securitySchemes: { bearer },
      schemas: { ...schemas, Issue: issue, ...errors.schemas },
      responses: errors.responses,
      headers: Responses.headers
    }
  }
}
