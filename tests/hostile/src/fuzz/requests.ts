/** Makes request number n of a seed: valid, or invalid in one of many ways. */
import { arrayOf } from "../attacks/attack.ts"
import { form } from "../audio.ts"
import { entriesOf, fieldOf, requestBytes } from "../client.ts"
import { mutatedBytes, mutatedJson, oddText } from "./mutations.ts"
import { type Body, type Operation, operations, type Parameter } from "./operations.ts"
import * as RawBytes from "./rawBytes.ts"
import * as Random from "./random.ts"
import { type Known, smallAudio, valueOf } from "./values.ts"
import { type KeyKind, keyKinds, refusedKinds } from "./world.ts"

export interface FuzzedRequest {
  readonly number: number
  /** The operation's name, or a description of the request. */
  readonly name: string
  readonly key: KeyKind
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
  /** The statuses that the contract allows. */
  readonly allowed: ReadonlySet<number>
  /** Sent as these bytes over a socket, because no HTTP client would send it. */
  readonly raw: ((authorization: string | undefined) => Buffer) | undefined
  /** The caller disconnects after this many milliseconds, whatever it has received. */
  readonly goesAfter?: number
}

const [firstOperation, ...otherOperations] = operations
if (firstOperation === undefined) throw new Error("the contract has no operation")

/** Node would not send values that a header must not contain. */
const headerText = (text: string): string => text.replace(/[^\x20-\x7e\x80-\xff]/g, "?").trim()

const pathText = (text: string): string => encodeURIComponent(text.toWellFormed())

const keyFor = (random: Random.Random, { access }: Operation, isPlain: boolean): KeyKind => {
  if (access === "management key" && isPlain) return "management"
  if (isPlain) return "ordinary"
  if (random.chance(0.15)) return random.pick(keyKinds)
  if (access === "management key" || (access === "any key" && random.chance(0.3))) return "management"
  return random.chance(0.8) ? "ordinary" : random.pick(["ephemeral", "limit 0"])
}

const parameterOf = (random: Random.Random, operation: Operation, name: string, known: Known): string => {
  const { method, path } = operation
  if (name === "author") return "sandbox"
  if (name === "slug") return random.pick(["bm25", "bm25%3Afree", "tones", "title-card"])
  if (name === "file_id") return random.pickOr(known.files, "-")
  if (name === "hash") return random.pickOr(known.keyHashes, "-")
  if (path.includes("/videos/")) return random.pickOr(known.videos, "-")
  if (path.includes("/guardrails/")) return random.pickOr(known.guardrails, "-")
  if (path.includes("/byok/")) return random.pickOr(known.providerKeys, "-")
  if (path.includes("/destinations/")) return random.pickOr(known.destinations, "-")
  if (path.includes("/deliveries/")) return random.pickOr(known.deliveries, "-")
  if (path.includes("/alerts/")) return random.pickOr(known.alerts, "-")
  if (path.includes("/sessions/")) return random.pickOr(known.sessions, "-")
  if (method === "DELETE") return random.pickOr(known.emptyWorkspaces, known.workspace)
  return known.workspace
}

const queryValue = (random: Random.Random, operation: Operation, { name, schema }: Parameter, known: Known): string => {
  if (name === "wait") return random.pick(["0", "0.1", "-1", "61", "tea", "1e400"])
  if (random.chance(0.2)) return oddText(random)
  if (name === "workspace_id") return known.workspace
  if (name === "id") return random.pickOr(known.generations, "-")
  if (name === "limit") return String(1 + random.below(20))
  if (name === "date") return random.pick(["2026-11-21", "2026-02-30", "1969-12-31", "today"])
  if (name === "api_key_hash") return random.pickOr(known.keyHashes, "")
  if (name === "after" || name === "parent_hash") return random.pickOr(known.keyHashes, "")
  if (random.chance(0.3)) return random.pick(["provider_a", "rerank", "0", "1"])
  const value = valueOf(random, operation.name, schema, known)
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "")
}

const pathOf = (random: Random.Random, operation: Operation, known: Known, isPlain: boolean): string => {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    // An empty parameter would make a different path.
    !isPlain && random.chance(0.15) ? pathText(oddText(random)) || "-" : parameterOf(random, operation, name, known)
  )
  if (isPlain) {
    const required = operation.query.filter(({ isRequired }) => isRequired)
    const query = required.map(({ name }) => `${name}=${random.pickOr(known.generations, "-")}`)
    return query.length === 0 ? path : `${path}?${query.join("&")}`
  }
  const share = random.pick([0, 0.2, 0.5])
  const query = operation.query
    .filter(() => random.chance(share))
    .map((parameter) => `${parameter.name}=${pathText(queryValue(random, operation, parameter, known))}`)
  if (random.chance(0.05)) query.push(`${pathText(oddText(random))}=${pathText(oddText(random))}`)
  return query.length === 0 ? path : `${path}?${query.join("&")}`
}

const headersOf = (random: Random.Random, operation: Operation): Record<string, string> => {
  const headers: Record<string, string> = {}
  if (operation.headers.includes("idempotency-key") && random.chance(0.3)) {
    headers["idempotency-key"] = random.chance(0.8) ? `reused ${random.below(40)}` : headerText(oddText(random))
  }
  if (operation.path.endsWith("/content") && random.chance(0.5)) {
    headers["range"] = random.pick([
      "bytes=0-9",
      "bytes=5-",
      "bytes=-1",
      "bytes=9-2",
      "bytes=0-1,3-4",
      "tea",
      "bytes=99999999999-"
    ])
  }
  if (random.chance(0.1)) {
    const name = random.pick([
      "accept",
      "accept-encoding",
      "x-forwarded-for",
      "origin",
      "content-encoding",
      "if-none-match",
      "cookie",
      "x-request-id"
    ])
    headers[name] = headerText(
      random.chance(0.3) ? random.pick(["gzip", "*/*;q=2", "application/json; shape=tea"]) : oddText(random)
    )
  }
  return headers
}

/** The largest bodies are rare, because they take the most time. */
const largeBody = (random: Random.Random, { schema }: Body): string => {
  const names = entriesOf(fieldOf(schema, "properties")).map(([name]) => name)
  const bytes = 2 ** (14 + random.below(7))
  const item = random.pick([
    "{}",
    "[]",
    '""',
    "1",
    "null",
    '{"a":1}',
    '"\\ud800"',
    "1e400",
    "[[[[]]]]",
    '{"type":"image_url"}'
  ])
  const filled = random.chance(0.7)
    ? arrayOf(item, bytes)
    : random.pick([
        `{${Array.from({ length: bytes / 16 }, (_, at) => `"k${at}":${at}`).join(",")}}`,
        JSON.stringify("\u0301".repeat(bytes / 2)),
        "[".repeat(bytes / 2) + "]".repeat(bytes / 2),
        "9".repeat(bytes)
      ])
  return `{"model":"sandbox/bm25","query":"tea","prompt":"tea",${JSON.stringify(random.pickOr(names, "a"))}:${filled}}`
}

const jsonBody = (random: Random.Random, operation: Operation, body: Body, known: Known, isPlain: boolean): Buffer => {
  if (isPlain) return Buffer.from(JSON.stringify(valueOf(random, operation.name, body.schema, known, true)))
  const how = random.fraction()
  if (how < 0.01) return Buffer.from(largeBody(random, body))
  const value = valueOf(random, operation.name, body.schema, known)
  const text = JSON.stringify(value)
  if (how < 0.35) return Buffer.from(text)
  if (how < 0.85) return Buffer.from(mutatedJson(random, value))
  return mutatedBytes(random, Buffer.from(text))
}

const multipartBody = (random: Random.Random, operation: Operation, body: Body, known: Known, isPlain: boolean) => {
  const value = valueOf(random, operation.name, body.schema, known, isPlain)
  const fields = entriesOf(value).filter(([name]) => name !== "file")
  if (isPlain) {
    const texts = fields.map(([name, field]): [string, string] => [name, String(field)])
    return form(Object.fromEntries(texts), { name: "a.wav", bytes: smallAudio })
  }
  const kept = random.chance(0.2) ? fields.slice(1) : fields
  const texts = kept.map(([name, field]): [string, string] => [
    name,
    random.chance(0.15) ? oddText(random) : typeof field === "string" ? field : JSON.stringify(field)
  ])
  const made = form(Object.fromEntries(texts), {
    name: random.chance(0.1)
      ? headerText(oddText(random)).replaceAll('"', "'")
      : random.pick(["a.wav", "a.mp3", "a.txt"]),
    bytes: random.chance(0.7) ? smallAudio : mutatedBytes(random, smallAudio)
  })
  return random.chance(0.3) ? { ...made, body: mutatedBytes(random, made.body) } : made
}

const contentTypes = [
  "text/plain",
  "application/x-www-form-urlencoded",
  "application/json; charset=utf-16",
  "multipart/form-data",
  "multipart/form-data; boundary=",
  "application/octet-stream",
  "tea",
  "application/json, text/plain"
] as const

/** The statuses of bytes that may or may not be a valid request. */
const anyStatus = new Set([
  ...operations.flatMap(({ statuses }) => [...statuses]),
  // Interim responses: to `Expect`, and to a sender that has closed its side and waits.
  100,
  102,
  204,
  304,
  405,
  408,
  414,
  417,
  426,
  431,
  501,
  505
])
anyStatus.delete(500)

const wrongMethod = (random: Random.Random, number: number, path: string): FuzzedRequest => {
  const method = random.pick(["PUT", "DELETE", "PATCH", "POST", "TRACE"])
  const same = operations.filter((other) => other.method === method)
  return {
    number,
    name: "another method",
    key: "ordinary",
    method,
    path,
    headers: {},
    body: undefined,
    // The path may belong to another operation with this method.
    allowed: new Set([404, 405, ...same.flatMap(({ statuses }) => [...statuses])]),
    raw: undefined
  }
}

const rawRequest = (seed: number, number: number, operation: Operation, path: string): FuzzedRequest => {
  return {
    number,
    name: "raw bytes",
    key: "ordinary",
    method: operation.method,
    path,
    headers: {},
    body: undefined,
    allowed: anyStatus,
    raw: (authorization) => RawBytes.make(Random.make(seed, -1 - number), operation.method, path, authorization)
  }
}

/** The same request, broken off: the caller sends only a part of it and disconnects. */
const brokenOff = (random: Random.Random, request: FuzzedRequest): FuzzedRequest => {
  const { body = Buffer.alloc(0), headers, method, path } = request
  const part = body.subarray(0, random.below(body.length + 1))
  return {
    ...request,
    name: "broken off",
    allowed: anyStatus,
    raw: (authorization) =>
      requestBytes(
        method,
        path,
        {
          host: "127.0.0.1",
          ...(authorization === undefined ? undefined : { authorization }),
          ...headers,
          "content-length": String(body.length)
        },
        part
      ),
    goesAfter: random.below(40)
  }
}

/** A parameter of this length matches no path: 404 before the key is checked. */
const maxTextLength = 100

const allowedFor = ({ statuses }: Operation, key: KeyKind, path: string): ReadonlySet<number> => {
  if (!refusedKinds.has(key)) return statuses
  const isLong = path.split(/[/?]/).some((segment) => decodeURIComponent(segment).length > maxTextLength)
  return new Set(isLong ? [401, 404] : [401])
}

/** Makes request number `number`. */
export const make = (seed: number, number: number, known: Known): FuzzedRequest => {
  const random = Random.make(seed, number)
  const operation = random.pick([firstOperation, ...otherOperations])
  // Some requests are valid, so that every handler is reached.
  const isPlain = random.chance(0.2)
  const path = pathOf(random, operation, known, isPlain)
  const how = isPlain ? 1 : random.fraction()
  if (how < 0.05) return rawRequest(seed, number, operation, path)
  if (how < 0.06) return wrongMethod(random, number, path)
  if (how < 0.07) {
    const unknown = `/api/v1/nothing/${pathText(oddText(random))}`
    const nowhere = { ...operation, name: "unknown path", statuses: new Set([404]) }
    return {
      number,
      ...nowhere,
      key: "ordinary",
      path: unknown,
      headers: {},
      body: undefined,
      allowed: nowhere.statuses,
      raw: undefined
    }
  }

  const key = keyFor(random, operation, isPlain)
  const body = random.pickOr<Body | undefined>(operation.bodies, undefined)
  let made: { readonly headers: Readonly<Record<string, string>>; readonly body: Buffer | undefined } = {
    headers: {},
    body: undefined
  }
  if (body !== undefined && (isPlain || random.chance(0.97))) {
    made =
      body.contentType === "multipart/form-data"
        ? multipartBody(random, operation, body, known, isPlain)
        : { headers: { "content-type": body.contentType }, body: jsonBody(random, operation, body, known, isPlain) }
  } else if (!isPlain && random.chance(0.1)) {
    made = { headers: { "content-type": "application/json" }, body: Buffer.from(oddText(random)) }
  }
  const request = {
    number,
    name: operation.name,
    key,
    method: operation.method,
    path,
    headers: {
      ...made.headers,
      ...(isPlain ? undefined : headersOf(random, operation)),
      ...(made.body !== undefined && !isPlain && random.chance(0.05)
        ? { "content-type": random.pick(contentTypes) }
        : undefined)
    },
    body: made.body,
    allowed: allowedFor(operation, key, path),
    raw: undefined
  }
  return how < 0.09 ? brokenOff(random, request) : request
}

const shortened = (body: Buffer): string =>
  body
    .toString("latin1")
    .replace(/([^"{}[\],]{1,8})\1{4,}/g, "$1…")
    .slice(0, 300)

/** The request in one readable line. */
export const describe = ({ body, headers, key, method, name, path }: FuzzedRequest): string =>
  `${name}: ${method} ${path.slice(0, 200)} key=${key} headers=${JSON.stringify(headers)}` +
  (body === undefined ? "" : ` body(${body.length})=${JSON.stringify(shortened(body))}`)
