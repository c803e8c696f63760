/** The gateway's own API, to compare it with what the tools say. */
import { inject } from "vitest"

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null

export const objectOf = (value: unknown): Json => {
  if (!isObject(value)) throw new Error(`not an object: ${JSON.stringify(value)}`)
  return value
}

/** Calls an operation with a key. */
export const call = async (method: string, path: string, key: string, body?: Json): Promise<Json> => {
  const response = await fetch(`${inject("gateway").origin}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  return objectOf(await response.json())
}

/** A new ordinary key. */
export const createKey = async (name: string): Promise<string> => {
  const { key } = await call("POST", "/keys", inject("gateway").managementKey, { name })
  return String(key)
}

/** What a key has spent, by the ledger. */
export const usageOf = async (key: string): Promise<number> =>
  Number(objectOf((await call("GET", "/key", key))["data"])["usage"])

/** The state of a video job. */
export const videoStatus = async (id: string, key: string): Promise<unknown> =>
  (await call("GET", `/videos/${id}`, key))["status"]
