/**
 * The server side of the contract: finds the operation of a request, decodes the request, and
 * encodes responses, all with the endpoints' schemas.
 */
import { EnvelopeError, type Issue, type Metadata, statusOf } from "@model-gateway/core/GatewayError"
import * as Effect from "effect/Effect"
import type * as HttpBody from "effect/http/HttpBody"
import type { HttpClientRequest } from "effect/http/HttpClientRequest"
import * as Multipart from "effect/http/Multipart"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as Stream from "effect/Stream"
import type { OperationName } from "../Contract.ts"
import { type Endpoint, endpoints } from "./contract.ts"

/** An endpoint of the contract and the parameters of its path. */
export interface Found {
  readonly _tag: "Found"
  readonly operation: OperationName
  readonly endpoint: Endpoint
  readonly params: { readonly [name: string]: string }
}

/** The path exists in the contract, but not with this method. */
export interface WrongMethod {
  readonly _tag: "WrongMethod"
  readonly allow: string
}

/** The decoded parts of a request. Parts that the operation does not have are omitted. */
export interface Parts {
  readonly params?: unknown
  readonly query?: unknown
  readonly headers?: unknown
  readonly payload?: unknown
}

const parametersOf = (path: string): number => path.split(":").length - 1

/** Those with fewer parameters first: `/videos/models` is no `/videos/:id`. */
const routes = endpoints
  .map((endpoint) => ({
    endpoint,
    pattern: new RegExp(`${endpoint.path.replaceAll("/", "\\/").replaceAll(/:(\w+)/g, "(?<$1>[^/]*)")}$`)
  }))
  .sort((a, b) => parametersOf(a.endpoint.path) - parametersOf(b.endpoint.path))

/** Finds the operation of a path. A prefix before `/api/v1` is ignored. */
export const find = (method: string, pathname: string): Found | WrongMethod | undefined => {
  const known = routes.filter(({ pattern }) => pattern.test(pathname))
  const route = known.find(({ endpoint }) => endpoint.method === method)
  if (route !== undefined) {
    const groups = Object.entries(route.pattern.exec(pathname)?.groups ?? {})
    const params = Object.fromEntries(groups.map(([name, text]) => [name, unescape(text)]))
    return { _tag: "Found", operation: route.endpoint.identifier, endpoint: route.endpoint, params }
  }
  return known.length === 0
    ? undefined
    : { _tag: "WrongMethod", allow: known.map(({ endpoint }) => endpoint.method).join(", ") }
}

const unescape = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Decodes the request's parts. Fails with all issues of the first invalid part. */
export const decode = Effect.fnUntraced(function* (
  { endpoint, params }: Found,
  request: HttpClientRequest,
  url: URL
): Effect.fn.Return<Parts, ReadonlyArray<Issue>> {
  const parts: { -readonly [name in keyof Parts]: unknown } = {}
  if (endpoint.params !== undefined) parts.params = yield* decodeWith(endpoint.params, params)
  if (endpoint.headers !== undefined) parts.headers = yield* decodeWith(endpoint.headers, { ...request.headers })
  if (endpoint.query !== undefined) {
    parts.query = yield* decodeWith(Schema.toCodecArrayFromSingle(endpoint.query), collect(url.searchParams))
  }
  if (endpoint.payload.size > 0) parts.payload = yield* decodePayload(endpoint, request)
  return parts
})

const decodePayload = (
  endpoint: Endpoint,
  request: HttpClientRequest
): Effect.Effect<unknown, ReadonlyArray<Issue>> => {
  const { body } = request
  const contentType =
    body._tag === "FormData" ? "multipart/form-data" : mediaType(request.headers["content-type"] ?? "application/json")
  const form = endpoint.payload.get(contentType)
  if (form === undefined) {
    return fail(`Expected a body of ${Array.from(endpoint.payload.keys()).join(" or ")}, got ${contentType}`)
  }
  const schema = Schema.Union(form.schemas)
  if (body._tag === "FormData") return decodeForm(schema, body.formData)
  const text = textOf(body)
  if (text === undefined) return fail("Expected a body in memory, not a stream")
  // An empty body is null if the operation allows it.
  if (text === "") return Effect.catch(decodeWith(schema, null), () => decodeWith(schema, undefined))
  return Effect.flatMap(
    Effect.try({
      try: (): unknown => JSON.parse(text),
      catch: () => [{ path: "", message: "Expected a valid JSON body" }]
    }),
    (json) => decodeWith(schema, json)
  )
}

const fail = (message: string): Effect.Effect<never, ReadonlyArray<Issue>> => Effect.fail([{ path: "", message }])

const mediaType = (contentType: string): string => contentType.split(";", 1)[0]?.trim().toLowerCase() ?? ""

const textOf = (body: HttpBody.HttpBody): string | undefined => {
  if (body._tag === "Uint8Array") return new TextDecoder().decode(body.body)
  if (body._tag === "Raw" && typeof body.body === "string") return body.body
  return body._tag === "Empty" ? "" : undefined
}

const toPersisted = Schema.decodeSync(Schema.toCodecJson(Multipart.PersistedFileSchema))

/** Decodes a form as the service does, but with the files themselves in place of their paths. */
const decodeForm = (schema: Schema.Top, form: FormData): Effect.Effect<unknown, ReadonlyArray<Issue>> => {
  const files: Array<File> = []
  const persisted = Object.fromEntries(
    Array.from(new Set(form.keys()), (key) => {
      const values = form.getAll(key).map((value) => {
        if (typeof value === "string") return value
        files.push(value)
        return toPersisted({ key, name: value.name, contentType: value.type, path: String(files.length - 1) })
      })
      return [key, values.length === 1 && typeof values[0] === "string" ? values[0] : values]
    })
  )
  return Effect.map(decodeWith(schema, persisted), (decoded) =>
    Object.fromEntries(
      Object.entries(decoded ?? {}).map(([key, value]: [string, unknown]) => [
        key,
        Multipart.isPersistedFile(value) ? files[Number(value.path)] : value
      ])
    )
  )
}

const collect = (params: URLSearchParams): { readonly [name: string]: string | ReadonlyArray<string> } =>
  Object.fromEntries(
    Array.from(new Set(params.keys()), (name) => {
      const values = params.getAll(name)
      return [name, values.length === 1 ? (values[0] ?? "") : values]
    })
  )

/** An encoded success: JSON or bytes. */
export type Encoded =
  | { readonly _tag: "Json"; readonly status: number; readonly json: unknown }
  | {
      readonly _tag: "Bytes"
      readonly contentType: string
      readonly bytes: Uint8Array | Stream.Stream<Uint8Array, unknown>
    }

/**
 * The status is an annotation of the schema, or of its context if `HttpApiSchema.status` set it.
 */
const successStatusOf = (schema: Schema.Top): number | undefined => {
  const beside = schema.ast.context?.annotations?.["httpApiStatus"]
  return typeof beside === "number" ? beside : statusOf(schema)
}

const isByteStream = (schema: Schema.Top): schema is Schema.Top & { readonly contentType: string } =>
  Predicate.isTagged(schema, "StreamUint8Array") &&
  Predicate.hasProperty(schema, "contentType") &&
  typeof schema.contentType === "string"

const isBytes = (value: unknown): value is Uint8Array | Stream.Stream<Uint8Array, unknown> =>
  value instanceof Uint8Array || Stream.isStream(value)

/** Encodes a success. Fails with the issues if it violates the contract. */
export const encodeSuccess = (endpoint: Endpoint, value: unknown): Effect.Effect<Encoded, ReadonlyArray<Issue>> => {
  const schemas = Array.from(endpoint.success)
  const bytes = schemas.find(isByteStream)
  if (bytes !== undefined) {
    return isBytes(value)
      ? Effect.succeed({ _tag: "Bytes", contentType: bytes.contentType, bytes: value })
      : fail("Expected a Uint8Array or a Stream of them")
  }
  return Effect.map(encodeWith(Schema.Union(schemas), value), (json) => ({
    _tag: "Json",
    status: schemas.map(successStatusOf).find((status) => status !== undefined) ?? 200,
    json
  }))
}

/** An encoded error and the data for its headers. */
export interface EncodedFailure {
  readonly status: number
  readonly json: object
  readonly requestId: string | undefined
  /** Seconds. */
  readonly retryAfter: number | undefined
  readonly serviceMetadata: Metadata | undefined
}

/** Encodes an error. Fails if the operation does not have this error. */
export const encodeFailure = (
  endpoint: Endpoint,
  error: unknown
): Effect.Effect<EncodedFailure, ReadonlyArray<Issue>> => {
  const unknown = fail(`Expected an error of the statuses ${statusesOf(endpoint).join(", ")}`)
  if (!(error instanceof EnvelopeError)) return unknown
  const schema = Array.from(endpoint.error).find((schema) => statusOf(schema) === error.status)
  return schema === undefined
    ? unknown
    : Effect.flatMap(encodeWith(schema, error), (json) =>
        Predicate.isObject(json)
          ? Effect.succeed({
              status: error.status,
              json,
              requestId: error.requestId,
              retryAfter: error.retryAfter,
              serviceMetadata: error.service_metadata ?? undefined
            })
          : unknown
      )
}

/** The error statuses of an endpoint. */
export const statusesOf = (endpoint: Endpoint): ReadonlyArray<number> =>
  Array.from(endpoint.error, statusOf).filter((status) => status !== undefined)

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

const issuesOf = (error: Schema.SchemaError): ReadonlyArray<Issue> =>
  formatIssue(error.issue).issues.map(({ message, path }) => ({
    path: (path ?? []).map((segment) => String(typeof segment === "object" ? segment.key : segment)).join("."),
    message
  }))

const decodeWith = (schema: Schema.Top, value: unknown): Effect.Effect<unknown, ReadonlyArray<Issue>> =>
  Effect.mapError(Schema.decodeUnknownEffect(codec(schema), { errors: "all" })(value), issuesOf)

const encodeWith = (schema: Schema.Top, value: unknown): Effect.Effect<unknown, ReadonlyArray<Issue>> =>
  Effect.mapError(Schema.encodeUnknownEffect(codec(schema), { errors: "all" })(value), issuesOf)

/**
 * The type of an endpoint's schemas no longer says that they need no services. None of them does.
 */
const codec = (schema: Schema.Top) =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  schema as Schema.Codec<unknown, unknown>
