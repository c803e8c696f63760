/** The API reference: whether it says everything, and whether what it says is true. */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import * as Operation from "@model-gateway/core/Operation"
// What the build makes, because it puts the descriptions into the document.
import * as OpenApiDocument from "@model-gateway/server/OpenApiDocument"
import { Ajv } from "ajv"
import { Effect, Schema } from "effect"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { describe, expect, it } from "vitest"

/** No schema of the contract needs a service; the endpoints have forgotten that. */
const codec = (schema: Schema.Top) => schema as Schema.Codec<unknown, unknown>

type Node = { readonly [key: string]: unknown }

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value)

const nodeOf = (value: unknown): Node => (isNode(value) ? value : {})

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const document = OpenApiDocument.make()
const { responses, schemas } = nodeOf(document["components"])
const components = nodeOf(schemas)

const operations = Object.entries(nodeOf(document["paths"])).flatMap(([path, methods]) =>
  Object.entries(nodeOf(methods)).map(([method, operation]) => ({ path, method, operation: nodeOf(operation) }))
)

const identifierOf = (operation: Node): string => String(operation["operationId"])

/** Every schema in a value, with where it is. Examples are no schemas. */
const visit = (value: unknown, at: string, see: (schema: Node, at: string) => void): void => {
  if (Array.isArray(value)) value.forEach((each, index) => visit(each, `${at}.${index}`, see))
  if (!isNode(value)) return
  see(value, at)
  for (const [key, child] of Object.entries(value)) if (key !== "example") visit(child, `${at}.${key}`, see)
}

const all = (is: (schema: Node) => boolean): ReadonlyArray<string> => {
  const found: Array<string> = []
  visit(document, "", (schema, at) => {
    if (is(schema)) found.push(at)
  })
  return found
}

/** The media types of a body or a response with their schemas and examples. */
const mediaOf = (part: unknown) =>
  Object.entries(nodeOf(nodeOf(part)["content"])).map(([type, media]) => ({ type, media: nodeOf(media) }))

const bodies = operations.flatMap(({ operation }) =>
  [operation["requestBody"], ...Object.values(nodeOf(operation["responses"]))].flatMap((part) =>
    mediaOf(part).map(({ media, type }) => ({ operation, type, schema: nodeOf(media["schema"]) }))
  )
)

describe("the schemas", () => {
  it("have a name if they are a body", () => {
    const anonymous = bodies.filter(({ schema }) => schema["$ref"] === undefined && schema["format"] !== "binary")
    expect(anonymous.map(({ operation }) => identifierOf(operation))).toEqual([])
  })

  it("have a name if two places use them", () => {
    const places = new Map<string, Array<string>>()
    visit(components, "", (schema, at) => {
      if (!isNode(schema["properties"]) || /^\.\w+$/.test(at) || nodeOf(schema["properties"])["request_id"]) return
      if (nodeOf(schema["properties"])["code"] !== undefined || at.endsWith(".metadata")) return
      const { description: _, ...shape } = schema
      const text = JSON.stringify(shape)
      places.set(text, [...(places.get(text) ?? []), at])
    })
    expect([...places.values()].filter((each) => each.length > 1)).toEqual([])
  })

  it("refer only to what is there, and nothing is there without a use", () => {
    const used = new Set<string>()
    visit(document, "", ({ $ref }) => {
      if (typeof $ref === "string") used.add($ref)
    })
    const there = Object.entries(nodeOf(document["components"])).flatMap(([kind, parts]) =>
      kind === "securitySchemes" ? [] : Object.keys(nodeOf(parts)).map((name) => `#/components/${kind}/${name}`)
    )
    expect([...used].toSorted()).toEqual(there.toSorted())
  })

  it("allow unknown fields, lists of any length and free-form options", () => {
    expect(all((schema) => schema["additionalProperties"] === false)).toEqual([])
    expect(all((schema) => "prefixItems" in schema)).toEqual([])
    expect(components["RoutingPreferences"]).toHaveProperty("properties.options.additionalProperties", {
      type: "object",
      additionalProperties: true
    })
    expect(components["RerankRequest"]).toHaveProperty("properties.documents", {
      description: "The documents to rank: 1 to 10,000.",
      type: "array",
      items: { $ref: "#/components/schemas/RerankDocument" },
      minItems: 1,
      maxItems: 10_000
    })
    expect(components["AssignGuardrailRequest"]).toHaveProperty("properties.key_hashes.type", "array")
  })

  it("have no bounds that every integer meets", () => {
    const isAny = (bound: unknown) => Math.abs(Number(bound)) >= Number.MAX_SAFE_INTEGER
    expect(all(({ maximum, minimum }) => isAny(maximum) || isAny(minimum))).toEqual([])
  })

  it("state what a text must match", () => {
    expect(components["CreateWorkspaceRequest"]).toHaveProperty("properties.slug.pattern", "^[a-z\\d]+(-[a-z\\d]+)*$")
    expect(components["VideoRequest"]).toHaveProperty("properties.size.pattern", "^[1-9]\\d*x[1-9]\\d*$")
  })

  it("say what a value is, and not what it is not", () => {
    expect(all(({ not }) => not !== undefined)).toEqual([])
  })

  it("describe errors as they are on the wire", () => {
    expect(Object.keys(nodeOf(nodeOf(components["PaymentRequired"])["properties"]))).toEqual([
      "error",
      "service_metadata",
      "user_id"
    ])
    expect(all((schema) => isNode(schema["properties"]) && "_tag" in schema["properties"])).toEqual([])
  })

  it("describe a form and its numbers, lists and files", () => {
    expect(components["TranscriptionForm"]).toMatchObject({
      properties: {
        file: { type: "string", format: "binary" },
        temperature: { type: "number", minimum: 0, maximum: 1 },
        "timestamp_granularities[]": { type: "array" }
      },
      required: ["file", "model"]
    })
  })

  it("have a description", () => {
    const silent = Object.entries(components).filter(([, schema]) => nodeOf(schema)["description"] === undefined)
    expect(silent.map(([name]) => name)).toEqual([])
  })

  it("describe every field", () => {
    const silent: Array<string> = []
    visit(components, "", (schema, at) => {
      for (const [name, field] of Object.entries(nodeOf(schema["properties"]))) {
        const parts = [nodeOf(field), ...listOf(nodeOf(field)["anyOf"]).map(nodeOf)]
        const isDescribed = parts.some(({ $ref, description }) => {
          const target = typeof $ref === "string" ? components[$ref.slice("#/components/schemas/".length)] : undefined
          return description !== undefined || nodeOf(target)["description"] !== undefined
        })
        if (!isDescribed)
          silent.push(`${at.slice(1).replaceAll(".properties.", ".")}.${name}`.replace(".properties.", "."))
      }
    })
    expect(silent).toEqual([])
  })
})

it("the texts are for readers of the HTTP API", () => {
  const wrong: Array<string> = []
  visit(document, "", ({ description }, at) => {
    if (
      typeof description === "string" &&
      /\b(?:Effect|Redacted|JSON\.stringify|@link|Blob|one of \d{3})\b|\S\n\S/.test(description)
    ) {
      wrong.push(`${at}: ${description}`)
    }
  })
  expect(wrong).toEqual([])
})

describe("every operation", () => {
  it("has a title of its own, a description and the kind of key that it requires", () => {
    const silent = operations.filter(
      ({ operation }) =>
        operation["summary"] === undefined || !/^(?!Requires)[^]+Requires a/.test(String(operation["description"]))
    )
    expect(silent.map(({ operation }) => identifierOf(operation))).toEqual([])
    const titles = operations.flatMap(({ operation: { summary } }) => (summary === undefined ? [] : [summary]))
    expect(titles).toHaveLength(new Set(titles).size)
  })

  it("says which kind of key it requires, whether it costs credits, and whether it is rate limited", () => {
    const textOf = (id: string) =>
      operations.map(({ operation }) => operation).find((each) => identifierOf(each) === id)?.["description"]
    expect(textOf("rerank")).toMatch(/\n\nRequires an ordinary key\. Costs credits\. Rate limited per key\.$/)
    expect(textOf("listFiles")).toMatch(/\n\nRequires a key of any kind\. Rate limited per key\.$/)
    expect(textOf("listGuardrails")).toMatch(/\n\nRequires a management key\.$/)
    expect(textOf("createGuardrail")).toMatch(/\n\nRequires a management key with the role operator or admin\.$/)
    expect(textOf("createWorkspace")).toMatch(/\n\nRequires a management key with the role admin\.$/)
  })

  it("has an example of its JSON, and of its form", () => {
    const without = operations.flatMap(({ operation }) => {
      const success = Object.entries(nodeOf(operation["responses"])).filter(([status]) => status.startsWith("2"))
      const parts = [operation["requestBody"], ...success.map(([, response]) => response)]
      const silent = parts
        .flatMap(mediaOf)
        .some(({ media, type }) => /json|form-data/.test(type) && media["example"] === undefined)
      return silent ? [identifierOf(operation)] : []
    })
    expect(without).toEqual([])
  })

  it("describes its parameters", () => {
    const silent = operations.flatMap(({ operation }) =>
      listOf(operation["parameters"])
        .map(nodeOf)
        .filter(({ description }) => description === undefined)
        .map(({ name }) => `${identifierOf(operation)}.${String(name)}`)
    )
    expect(silent).toEqual([])
  })

  it("documents the headers that its traits give it", () => {
    const headersOf = (identifier: string, status: string) => {
      const found = operations.find(({ operation }) => identifierOf(operation) === identifier)
      return Object.keys(nodeOf(nodeOf(nodeOf(found?.operation["responses"])[status])["headers"]))
    }
    expect(headersOf("rerank", "200")).toEqual(["x-request-id", "RateLimit", "RateLimit-Policy", "idempotent-replayed"])
    expect(headersOf("currentKey", "200")).toEqual(["x-request-id"])
    expect(headersOf("videoContent", "206")).toEqual([
      "x-request-id",
      "RateLimit",
      "RateLimit-Policy",
      "Accept-Ranges",
      "ETag",
      "Content-Range"
    ])
    expect(nodeOf(responses)["TooManyRequestsWithMessage"]).toHaveProperty("headers.Retry-After")
    expect(nodeOf(responses)["TooManyRequests"]).toHaveProperty("headers.Retry-After")
    expect(nodeOf(responses)["BadRequest"]).not.toHaveProperty("headers.Retry-After")
  })
})

describe("every example", () => {
  const ajv = new Ajv({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: "document", ...document })
  /** Why a value is not valid against a part of the document, or undefined. */
  const invalid = (pointer: string, value: unknown): string | undefined => {
    const validate = ajv.getSchema(`document#${pointer}`)
    if (validate === undefined) throw new Error(`no schema at ${pointer}`)
    return validate(value) === true ? undefined : ajv.errorsText(validate.errors)
  }
  const escaped = (segment: string) => segment.replaceAll("~", "~0").replaceAll("/", "~1")

  const endpoints = new Map<string, HttpApiEndpoint.Top>()
  HttpApi.reflect(GatewayApi, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      endpoints.set(endpoint.identifier, endpoint)
    }
  })

  /** An undecodable value fails the test with the reason. */
  const decode = (schema: Schema.Top | undefined, value: unknown) =>
    schema === undefined || value === undefined
      ? undefined
      : Effect.runSync(Schema.decodeUnknownEffect(codec(schema))(value))

  for (const { method, operation, path } of operations) {
    const endpoint = endpoints.get(identifierOf(operation))
    const example = endpoint && Operation.referenceOf(endpoint)?.example
    if (endpoint === undefined || example === undefined) continue
    const at = `/paths/${escaped(path)}/${method}`
    const schemaOf = (type: string) => `content/${escaped(type)}/schema`

    it(`${identifierOf(operation)}: can be decoded and is valid against the document`, () => {
      for (const [index, { example: value }] of listOf(operation["parameters"]).map(nodeOf).entries()) {
        if (value !== undefined) expect(invalid(`${at}/parameters/${index}/schema`, value)).toBeUndefined()
      }
      decode(endpoint.params, example.params)
      decode(endpoint.query, example.query)
      if (example.form !== undefined) {
        expect(invalid(`${at}/requestBody/${schemaOf("multipart/form-data")}`, example.form)).toBeUndefined()
      }
      if (example.request !== undefined) {
        decode(endpoint.payload.get("application/json")?.schemas[0], example.request)
        expect(invalid(`${at}/requestBody/${schemaOf("application/json")}`, example.request)).toBeUndefined()
      }
      if (example.response !== undefined) {
        decode(Operation.of(endpoint)?.success, example.response)
        const status = Object.keys(nodeOf(operation["responses"])).find((each) => each.startsWith("2"))
        expect(invalid(`${at}/responses/${status}/${schemaOf("application/json")}`, example.response)).toBeUndefined()
      }
    })
  }

  it("of an error is valid", () => {
    for (const name of Object.keys(nodeOf(responses))) {
      const [json] = mediaOf(nodeOf(responses)[name])
      expect([name, invalid(`/components/schemas/${name}`, json?.media["example"])]).toEqual([name, undefined])
    }
  })

  it("of an error of Cohere's paths has the message at the top level, and is invalid without it", () => {
    for (const path of ["/v1/rerank", "/v2/rerank"]) {
      const operation = nodeOf(nodeOf(nodeOf(document["paths"])[path])["post"])
      for (const [status, response] of Object.entries(nodeOf(operation["responses"]))) {
        if (status === "200") continue
        const name = String(nodeOf(response)["$ref"]).replace("#/components/responses/", "")
        const [json] = mediaOf(nodeOf(responses)[name])
        const { message, ...envelope } = nodeOf(json?.media["example"])
        expect([status, message]).toEqual([status, nodeOf(envelope["error"])["message"]])
        expect([status, invalid(`/components/schemas/${name}`, envelope)]).toEqual([
          status,
          expect.stringContaining("message")
        ])
      }
    }
  })

  it("that is wrong would be noticed", () => {
    expect(invalid("/components/schemas/RerankRequest", { model: "m", query: "q", documents: [] })).toContain(
      "documents must NOT have fewer than 1 items"
    )
  })
})
