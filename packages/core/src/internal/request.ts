/**
 * What goes out: a request from its parts.
 *
 * Requests go out as they are typed. The contract's request schemas encode to
 * themselves (numbers in a query apart, which are written out), so there is
 * nothing to encode; and checking them is the service's part, whose answer names
 * every field.
 */
import * as Effect from "effect/Effect"
import * as Headers from "effect/http/Headers"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpMethod } from "effect/http/HttpMethod"
import * as UrlParams from "effect/http/UrlParams"
import * as Option from "effect/Option"
import * as Random from "effect/Random"

/** The parts of one request. */
export interface Parts {
  readonly params?: { readonly [name: string]: string } | undefined
  readonly query?: { readonly [name: string]: string | number | undefined } | undefined
  readonly headers?: { readonly [name: string]: string | undefined } | undefined
  /** Goes out as JSON. */
  readonly json?: unknown
  /** Goes out as `multipart/form-data`. */
  readonly form?: FormData | undefined
}

/** One call's request, but for the token, which each attempt asks for anew. */
export const requestOf = (
  method: HttpMethod,
  url: string,
  { form, headers, json, query }: Parts,
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

/** Fills `/files/:file_id` with what it names, escaped. */
export const pathWriter = (path: string): ((params: Parts["params"]) => string) => {
  const names = Array.from(path.matchAll(/:(\w+)/g), (match) => match[1] ?? "")
  return names.length === 0
    ? () => path
    : (params) => names.reduce((filled, name) => filled.replace(`:${name}`, () => segment(params?.[name] ?? "")), path)
}

/**
 * One segment of a path. Nothing, `.` and `..` would make it another path, escaped
 * or not; they are sent as what no identifier is, so that the service says so.
 */
const segment = (text: string): string =>
  text === "" ? "%20" : text === "." || text === ".." ? `%25${text}` : encodeURIComponent(text.toWellFormed())

/** What a header can carry; how long the key may be is for the service to say. */
export const isHeader = /^[\x20-\x7e]*$/

/**
 * Names for submissions, unlike any other of the same API key: 128 random bits in
 * hexadecimal, drawn once, and a count.
 */
export const idempotencyKeys = (): Effect.Effect<string> => {
  let prefix = ""
  let count = 0
  return Effect.map(Random.Random, (random) => {
    while (prefix.length < 32) {
      prefix += Math.floor(random.nextDoubleUnsafe() * 0x1_0000_0000)
        .toString(16)
        .padStart(8, "0")
    }
    return `${prefix}-${(count++).toString(36)}`
  })
}
