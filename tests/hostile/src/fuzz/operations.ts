/**
 * Every operation of the contract, from its OpenAPI document. A new operation is fuzzed without a
 * change here.
 */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import * as Contract from "@model-gateway/core/Operation"
import { HttpApi, OpenApi } from "effect/http-api"
import { entriesOf, fieldOf } from "../client.ts"

export interface Body {
  readonly contentType: string
  /** JSON Schema. */
  readonly schema: unknown
}

export interface Parameter {
  readonly name: string
  /** JSON Schema. */
  readonly schema: unknown
  readonly isRequired: boolean
}

export interface Operation {
  readonly name: string
  readonly method: string
  /** The full path, with parameters as `{name}`. */
  readonly path: string
  /** Undefined: it needs no key. */
  readonly access: Contract.Access | undefined
  readonly query: ReadonlyArray<Parameter>
  readonly headers: ReadonlyArray<string>
  readonly bodies: ReadonlyArray<Body>
  /** All statuses that the contract allows. */
  readonly statuses: ReadonlySet<number>
}

const methods = ["get", "post", "patch", "put", "delete"]

const parametersIn = (operation: unknown, place: string): ReadonlyArray<Parameter> =>
  entriesOf(fieldOf(operation, "parameters")).flatMap(([, parameter]) =>
    fieldOf(parameter, "in") === place
      ? [
          {
            name: String(fieldOf(parameter, "name")),
            schema: fieldOf(parameter, "schema"),
            isRequired: fieldOf(parameter, "required") === true
          }
        ]
      : []
  )

/** A range request is answered with a 206. The OpenAPI document only describes the whole file. */
const partial = (path: string): ReadonlyArray<number> => (path.endsWith("/content") ? [206] : [])

const document: unknown = OpenApi.fromApi(GatewayApi)

/** The kind of key that an operation needs, which the OpenAPI document states only in prose. */
const accesses = new Map<string, Contract.Access | undefined>()
HttpApi.reflect(GatewayApi, {
  onGroup: () => {},
  onEndpoint: ({ endpoint, group }) => {
    accesses.set(`${group.identifier}.${endpoint.identifier}`, Contract.of(endpoint)?.access)
  }
})

export const operations: ReadonlyArray<Operation> = entriesOf(fieldOf(document, "paths")).flatMap(([path, item]) =>
  entriesOf(item)
    .filter(([method]) => methods.includes(method))
    .map(([method, operation]) => ({
      name: String(fieldOf(operation, "operationId")),
      method: method.toUpperCase(),
      path,
      access: accesses.get(String(fieldOf(operation, "operationId"))),
      query: parametersIn(operation, "query"),
      headers: parametersIn(operation, "header").map(({ name }) => name),
      bodies: entriesOf(fieldOf(operation, "requestBody", "content")).map(([contentType, content]) => ({
        contentType,
        schema: fieldOf(content, "schema")
      })),
      statuses: new Set([
        ...entriesOf(fieldOf(operation, "responses")).map(([status]) => Number(status)),
        ...partial(path)
      ])
    }))
)

/** The target of a `$ref` in the document. */
export const resolve = (reference: string): unknown => fieldOf(document, ...reference.replace("#/", "").split("/"))
