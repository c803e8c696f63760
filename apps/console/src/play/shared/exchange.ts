/**
 * Calls of the API with the playground's key: what was sent, what was answered, and how long it
 * took.
 */
import { ApiError, base, errorOf, unreachable } from "../../api/http.ts"
import type { Json } from "@model-gateway/core/unstable/CodeSamples"
import { refused, token } from "./access.ts"

/** A request. It has a JSON body, a form or neither. */
export interface Call {
  readonly method: "GET" | "POST" | "DELETE"
  /** Below `/api/v1`. */
  readonly path: string
  readonly json?: Json | undefined
  /** The JSON body as text, in place of `json`. */
  readonly text?: string | undefined
  readonly form?:
    | {
        readonly file: File
        readonly fields: ReadonlyArray<readonly [name: string, text: string]>
      }
    | undefined
}

/** What happened. */
export interface Exchange {
  readonly call: Call
  /** 0: no answer arrived. */
  readonly status: number
  readonly requestId: string | undefined
  /** Milliseconds from the first byte sent to the last one read. */
  readonly ms: number
  /** The head of the response. */
  readonly head: string
  /** The body of the response, as it came. */
  readonly body: string
  readonly error: ApiError | undefined
}

/** Nobody has entered a key. */
export class NoKey extends Error {
  override readonly name = "NoKey"
}

const address = (path: string) => new URL(`api/v1${path}`, base)

/** The request as HTTP writes it, without the key. */
export const requestText = ({ call: { form, json, method, path } }: Exchange): string =>
  [
    `${method} ${address(path).pathname}${address(path).search}`,
    "authorization: Bearer …",
    ...(json === undefined ? [] : ["content-type: application/json", "", JSON.stringify(json, null, 2)]),
    ...(form === undefined
      ? []
      : [
          "content-type: multipart/form-data",
          "",
          ...form.fields.map(([name, text]) => `${name}: ${text}`),
          `file: ${form.file.name} (${form.file.size} bytes)`
        ])
  ].join("\n")

const bodyOf = ({ form, json, text }: Call): BodyInit | undefined => {
  if (text !== undefined) return text
  if (json !== undefined) return JSON.stringify(json)
  if (form === undefined) return undefined
  const data = new FormData()
  for (const [name, text] of form.fields) data.append(name, text)
  data.append("file", form.file)
  return data
}

/** Sends a request. The answer may be of any status. */
export const fetchWithKey = async (call: Call, signal?: AbortSignal): Promise<Response> => {
  const body = bodyOf(call)
  const attempt = async () => {
    const key = await token()
    if (key === undefined) throw new NoKey("Enter a key first")
    const response = await fetch(address(call.path), {
      method: call.method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(typeof body === "string" && { "content-type": "application/json" })
      },
      ...(body !== undefined && { body }),
      ...(signal !== undefined && { signal }),
      credentials: "omit",
      cache: "no-store"
    }).catch((cause: unknown) => {
      if (signal?.aborted === true) throw cause
      throw unreachable()
    })
    if (response.status === 401) refused(key)
    return response
  }
  const first = await attempt()
  // The key may have ended in between: a restart of the gateway keeps it, its deletion does not.
  return first.status === 401 && !signal?.aborted ? attempt() : first
}

const pretty = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** The response as HTTP writes it. */
export const responseText = ({ body, head }: Exchange): string => `${head}\n\n${pretty(body)}`

/** Sends a request and reads its answer. Rejects only if there is no key, or `signal` aborts. */
export const exchange = async (call: Call, signal?: AbortSignal): Promise<Exchange> => {
  const begun = performance.now()
  const none = { call, status: 0, requestId: undefined, head: "", body: "" }
  try {
    const response = await fetchWithKey(call, signal)
    const copy = response.ok ? undefined : response.clone()
    const body = await response.text()
    const ms = performance.now() - begun
    return {
      call,
      status: response.status,
      requestId: response.headers.get("x-request-id") ?? undefined,
      ms,
      head: [`HTTP ${response.status}`, ...[...response.headers].map(([name, value]) => `${name}: ${value}`)].join(
        "\n"
      ),
      body,
      error: copy && (await errorOf(copy))
    }
  } catch (error) {
    if (signal?.aborted === true || error instanceof NoKey) throw error
    const failure = error instanceof ApiError ? error : unreachable()
    return { ...none, status: failure.status, ms: performance.now() - begun, error: failure }
  }
}

/**
 * The JSON of an answer that succeeded, taken to be what the contract says. Undefined: it failed.
 */
export const answerOf = <A>(exchange: Exchange): A | undefined => {
  if (exchange.error !== undefined) return undefined
  // Components ask for it whenever they are drawn.
  const value: unknown = answers.get(exchange) ?? JSON.parse(exchange.body)
  answers.set(exchange, value)
  return value as A
}

const answers = new WeakMap<Exchange, unknown>()

/** Reads the JSON of an answer, taken to be what the contract says. */
export const read = async <A>(path: string, signal?: AbortSignal): Promise<A> => {
  const response = await fetchWithKey({ method: "GET", path }, signal)
  if (!response.ok) throw await errorOf(response)
  const body: unknown = await response.json()
  return body as A
}
