/**
 * Builds HTTP requests.
 *
 * Requests are neither encoded nor validated here. The contract's request schemas encode to
 * themselves (only numbers in a query become text). The service validates them, and its error lists
 * every invalid field.
 */
import * as Effect from "effect/Effect"
import * as Headers from "effect/http/Headers"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpMethod } from "effect/http/HttpMethod"
import * as UrlParams from "effect/http/UrlParams"
import * as Option from "effect/Option"
import { makeKey } from "../IdempotencyKeySource.ts"

/**
 * The parts of a request. The service validates them.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  /** The parameters of the path. */
  readonly params?: { readonly [name: string]: string } | undefined
  readonly query?: { readonly [name: string]: string | number | undefined } | undefined
  readonly headers?: { readonly [name: string]: string | undefined } | undefined
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as `multipart/form-data`. */
  readonly form?: FormData | undefined
  /** Default: a new key, if the operation accepts one. */
  readonly idempotencyKey?: string | undefined
  /**
   * Seconds for which the service may wait with its answer until something changes. They extend the
   * time limits. Such a request is retried for as long as the policy's deadline, up to 30 times and
   * whatever the retry budget, unless the policy allows no retries.
   */
  readonly longPoll?: number | undefined
}

/** The request of one call. Each attempt passes its own authorization header. */
export const requestOf = (
  method: HttpMethod,
  url: string,
  { form, headers, json, query }: Request,
  idempotencyKey: string | undefined
): ((authorization: string) => HttpClientRequest.HttpClientRequest) => {
  const body =
    form !== undefined
      ? HttpBody.formData(form)
      : json !== undefined
        ? HttpBody.text(JSON.stringify(json), "application/json")
        : HttpBody.empty
  const urlParams = query === undefined ? UrlParams.empty : UrlParams.fromInput(query)
  const record: Record<string, string> = { accept: "application/json" }
  if (body._tag === "Uint8Array") {
    record["content-type"] = body.contentType
    record["content-length"] = String(body.contentLength)
  }
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) record[name] = value
  }
  if (idempotencyKey !== undefined) record["idempotency-key"] = idempotencyKey
  return (authorization) =>
    HttpClientRequest.makeWith(
      method,
      url,
      urlParams,
      Option.none(),
      Headers.fromRecordUnsafe({ ...record, authorization }),
      body
    )
}

/** Replaces the parameters of a path such as `/files/:file_id` with their escaped values. */
export const pathOf = (path: string, params: Request["params"]): string =>
  path.replace(/:(\w+)/g, (_, name: string) => segment(params?.[name] ?? ""))

/**
 * Escapes one segment of a path. An empty text, `.` and `..` would change the path even when
 * escaped. They are sent as text that is never a valid identifier, so that the service rejects it.
 */
const segment = (text: string): string =>
  text === "" ? "%20" : text === "." || text === ".." ? `%25${text}` : encodeURIComponent(text.toWellFormed())

/** The characters that a header may contain. The service checks the length of the key. */
export const isHeader = /^[\x20-\x7e]*$/

/** Idempotency keys: a random one, drawn once because that is slow, followed by a counter. */
export const generatedKeys = (): Effect.Effect<string> => {
  let prefix: string | undefined
  let count = 0
  const next = () => `${prefix}-${(count++).toString(36)}`
  const first = Effect.map(makeKey, (key) => {
    prefix ??= key
    return next()
  })
  return Effect.suspend(() => (prefix === undefined ? first : Effect.succeed(next())))
}
