/** Calls of the gateway's API, over connections that stay open. */
import { Agent, request } from "node:http"

export interface Answer {
  readonly status: number
  /** The JSON of the response. Undefined if it has none. */
  readonly body: unknown
  readonly requestId: string
}

export interface Call {
  /** The API key. Without one, the request has no authorization. */
  readonly key?: string
  /** Sent as JSON. A string is sent as it is. */
  readonly body?: unknown
}

export interface Api {
  readonly origin: string
  /** `path` is below `/api/v1`. */
  readonly send: (method: string, path: string, call?: Call) => Promise<Answer>
  /** The same, and fails if the status is not a success. */
  readonly call: (method: string, path: string, call?: Call) => Promise<unknown>
  readonly close: () => void
}

/** A part of JSON, by the names of the fields that lead to it. */
export const part = (json: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>(
    (value, name) => (typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined),
    json
  )

/** The text at a place of JSON. Fails if there is none. */
export const text = (json: unknown, ...path: ReadonlyArray<string | number>): string => {
  const value = part(json, ...path)
  if (typeof value !== "string") throw new Error(`No text at ${path.join(".")} of ${JSON.stringify(json)}`)
  return value
}

/** The number at a place of JSON. Fails if there is none. */
export const number = (json: unknown, ...path: ReadonlyArray<string | number>): number => {
  const value = part(json, ...path)
  if (typeof value !== "number") throw new Error(`No number at ${path.join(".")} of ${JSON.stringify(json)}`)
  return value
}

/** The items at a place of JSON. Fails if there is no list. */
export const list = (json: unknown, ...path: ReadonlyArray<string | number>): ReadonlyArray<unknown> => {
  const value = part(json, ...path)
  if (!Array.isArray(value)) throw new Error(`No list at ${path.join(".")} of ${JSON.stringify(json)}`)
  return value
}

const parse = (body: string): unknown => {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

export const connect = (origin: string): Api => {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const send: Api["send"] = (method, path, { body, key } = {}) =>
    new Promise((resolve, reject) => {
      const payload = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body)
      const sent = request(
        `${origin}/api/v1${path}`,
        {
          agent,
          method,
          headers: {
            ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
            ...(payload === undefined
              ? {}
              : { "content-type": "application/json", "content-length": Buffer.byteLength(payload) })
          }
        },
        (response) => {
          const chunks: Array<Buffer> = []
          response.on("data", (chunk: Buffer) => chunks.push(chunk))
          response.on("end", () =>
            resolve({
              status: response.statusCode ?? 0,
              body: parse(Buffer.concat(chunks).toString()),
              requestId: String(response.headers["x-request-id"])
            })
          )
          response.on("error", reject)
        }
      )
      sent.on("error", reject)
      sent.end(payload)
    })
  return {
    origin,
    send,
    call: async (method, path, call) => {
      const { body, status } = await send(method, path, call)
      if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`)
      return body
    },
    close: () => agent.destroy()
  }
}
