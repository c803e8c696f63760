/**
 * Reads the JSON of errors in the forms that upstreams use:
 *
 * - `{message}`: Cohere
 * - `{error: {message, type, code}}`: OpenAI, Groq, Anthropic
 * - `{error: {code, message, status, details: [{reason}, {retryDelay}]}}`: Google
 * - `{error, error_type}`: Text Embeddings Inference, and `{error, issues}`: Runway
 * - `{detail}` with a string, or with a list of `{loc, msg, type}`: Jina, Voyage, fal
 * - `{title, detail, retry_after}`: Replicate
 * - `{err_code, err_msg}`: Deepgram
 * - `{errors: [{message}]}`
 */
import { Duration } from "effect"

/** What the body of an error says. */
export interface ErrorBody {
  readonly message: string | undefined
  readonly codes: ReadonlyArray<string>
  /** Whether it names a field of the request. */
  readonly namesField: boolean
  readonly retryAfter: Duration.Duration | undefined
}

const nothing: ErrorBody = { message: undefined, codes: [], namesField: false, retryAfter: undefined }

const maxDepth = 4
const maxItems = 3

/** A property of a value that may be no object. */
export const property = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined

const first = <A>(keys: ReadonlyArray<string>, get: (key: string) => A | undefined): A | undefined => {
  for (const key of keys) {
    const found = get(key)
    if (found !== undefined) return found
  }
  return undefined
}

/** The place that an issue of a list is about: `documents.0`. */
const placeOf = (issue: unknown): string => {
  const path = property(issue, "loc") ?? property(issue, "path")
  if (!Array.isArray(path)) return ""
  const parts = path.filter((part) => typeof part === "string" || typeof part === "number")
  return (parts[0] === "body" ? parts.slice(1) : parts).join(".")
}

const messageIn = (value: unknown, depth = 0): string | undefined => {
  if (typeof value === "string") return value.trim() === "" ? undefined : value
  if (depth > maxDepth || typeof value !== "object") return undefined
  if (Array.isArray(value)) {
    const messages = value.slice(0, maxItems).flatMap((item) => messageIn(item, depth + 1) ?? [])
    return messages.length === 0 ? undefined : messages.join("; ")
  }
  const message = first(["message", "msg", "err_msg", "error", "detail", "errors", "title"], (key) =>
    messageIn(property(value, key), depth + 1)
  )
  return message === undefined
    ? undefined
    : [placeOf(value), message, messageIn(property(value, "issues"), depth + 1)]
        .filter((part) => part !== undefined && part !== "")
        .join(": ")
}

/** The body's objects that describe the failure. */
const objectsIn = (value: unknown, depth = 0): ReadonlyArray<unknown> => {
  if (depth > maxDepth || typeof value !== "object" || value === null) return []
  if (Array.isArray(value)) return value.slice(0, 20).flatMap((item) => objectsIn(item, depth + 1))
  const inner = ["error", "detail", "details", "errors"].map((key) => property(value, key))
  return [value, ...inner.flatMap((part) => objectsIn(part, depth + 1))]
}

const codesIn = (value: unknown): ReadonlyArray<string> =>
  ["code", "type", "status", "reason", "err_code", "error_code", "error_type"].flatMap((key) => {
    const code = property(value, key)
    return typeof code === "string" && /^[\w.:-]{1,64}$/.test(code) ? [code] : []
  })

/**
 * `param` (OpenAI, Mistral), or the place of an issue: in the path or the headers it is no input.
 */
const isPlaced = (value: unknown): boolean => {
  const param = property(value, "param")
  if (typeof param === "string" && param !== "") return true
  const path = property(value, "loc") ?? property(value, "path")
  return Array.isArray(path) && path.length > 0 && path[0] !== "header" && path[0] !== "path"
}

const waitIn = (value: unknown): ReadonlyArray<Duration.Duration> => {
  const seconds = property(value, "retry_after")
  if (typeof seconds === "number" && seconds >= 0 && seconds < 1e9) return [Duration.seconds(seconds)]
  const delay = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(String(property(value, "retryDelay")))
  return delay === null ? [] : [Duration.seconds(Number(delay[1]))]
}

/** Reads the body of an error. A body of another form says nothing. */
export const readErrorBody = (text: string): ErrorBody => {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return nothing
  }
  // A bare string is as likely a page or a proxy's word as the upstream's.
  if (typeof json !== "object") return nothing
  const objects = objectsIn(json)
  return {
    message: messageIn(json),
    codes: [...new Set(objects.flatMap(codesIn))],
    namesField: objects.some((each) => isPlaced(each) || objectsIn(property(each, "issues")).some(isPlaced)),
    retryAfter: objects.flatMap(waitIn)[0]
  }
}
