/** The contract's endpoints, as these tests look at them. */
import { GatewayApi, Operation } from "@model-gateway/core"
import { Effect, Schema, SchemaIssue } from "effect"
import { HttpApi } from "effect/http-api"

interface Endpoint {
  readonly identifier: string
  readonly method: string
  readonly path: string
  readonly params: Schema.Top | undefined
  readonly query: Schema.Top | undefined
  readonly headers: Schema.Top | undefined
  readonly payload: ReadonlyMap<string, { readonly schemas: ReadonlyArray<Schema.Top> }>
  readonly success: ReadonlySet<Schema.Top>
  readonly error: ReadonlySet<Schema.Top>
}

const endpointsOf = (group: { readonly endpoints: { readonly [name: string]: Endpoint } }): ReadonlyArray<Endpoint> =>
  Object.values(group.endpoints)

export const endpoints: ReadonlyArray<Endpoint> = Object.values(GatewayApi.GatewayApi.groups).flatMap(endpointsOf)

export const endpoint = (identifier: string): Endpoint => {
  const found = endpoints.find((endpoint) => endpoint.identifier === identifier)
  if (found === undefined) throw new Error(`the contract has no ${identifier}`)
  return found
}

/** Each operation with the response in its example, in the order of the contract. */
export const declared: Array<{ readonly operation: Operation.Operation; readonly response: unknown }> = []
HttpApi.reflect(GatewayApi.GatewayApi, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) => {
    const operation = Operation.of(endpoint)
    if (operation === undefined) return
    declared.push({ operation, response: Operation.referenceOf(endpoint)?.example?.response })
  }
})

/** No schema of the contract needs a service; the endpoints have forgotten that. */
export const codec = (schema: Schema.Top) => schema as Schema.Codec<unknown, unknown>

/** The JSON body of an endpoint. */
export const jsonOf = (endpoint: Endpoint): Schema.Codec<unknown, unknown> | undefined => {
  const schema = endpoint.payload.get("application/json")?.schemas[0]
  return schema === undefined ? undefined : codec(schema)
}

const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** What is wrong with a value, as paths; empty where nothing is. */
export const issuesOf = (schema: Schema.Top | undefined, value: unknown): ReadonlyArray<string> => {
  if (schema === undefined) throw new Error("the endpoint has no such part")
  const result = Effect.runSync(Effect.result(Schema.decodeUnknownEffect(codec(schema), { errors: "all" })(value)))
  if (result._tag === "Success") return []
  const paths = format(result.failure.issue).issues.map(({ path }) =>
    (path ?? []).map((segment) => String(typeof segment === "object" ? segment.key : segment)).join(".")
  )
  return Array.from(new Set(paths))
}
