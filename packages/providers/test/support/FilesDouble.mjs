/**
 * Doubles of the files APIs of OpenAI and Anthropic, on loopback sockets, as documented:
 * https://platform.openai.com/docs/api-reference/files and
 * https://platform.claude.com/docs/en/build-with-claude/files.
 * Each key has its own files. By hand, OpenAI's:
 *
 *     node packages/providers/test/support/FilesDouble.mjs <key> [port]
 */
import { startByHand, startDouble } from "./Double.mjs"

/** Starts a double. `api` says how the two differ. */
const start = ({ keys, port }, api) => {
  const accounts = new Map(keys.map((key) => [key, new Map()]))
  let count = 0
  const answerTo = ({ headers, method, text, url }) => {
    const refusal = api.refuse?.(headers)
    if (refusal !== undefined) return refusal
    const files = accounts.get(api.keyOf(headers))
    if (files === undefined) return api.unauthorized
    const { pathname } = new URL(url, "http://double")
    if (!pathname.startsWith(api.path)) return api.notFound("")
    const id = pathname.slice(api.path.length + 1)
    if (id === "" && method === "POST") {
      const filename = /filename="([^"]*)"/.exec(text)?.[1] ?? "file"
      const file = api.file(`${api.prefix}${++count}`, filename, text.length)
      files.set(file.id, file)
      return { body: file }
    }
    if (id === "" && method === "GET") return { body: api.list([...files.values()]) }
    const file = files.get(id)
    if (file === undefined) return api.notFound(id)
    if (method === "GET") return { body: file }
    if (method !== "DELETE") return api.notFound(id)
    files.delete(id)
    return { body: api.deleted(id) }
  }
  return startDouble({ answerTo, port })
}

const openAiError = (status, message, code = null) => ({
  status,
  body: { error: { message, type: "invalid_request_error", param: null, code } }
})

export const startOpenAiFilesDouble = (options) =>
  start(options, {
    path: "/v1/files",
    prefix: "file-abc",
    keyOf: ({ authorization = "" }) => /^Bearer (.+)$/.exec(authorization)?.[1],
    unauthorized: openAiError(401, "Incorrect API key provided: sk-proj-****wxyz.", "invalid_api_key"),
    notFound: (id) => openAiError(404, `No such File object: ${id}`),
    file: (id, filename, bytes) => ({
      id,
      object: "file",
      bytes,
      created_at: 1_700_000_000,
      filename,
      purpose: "user_data",
      status: "processed"
    }),
    list: (data) => ({ object: "list", data, has_more: false }),
    deleted: (id) => ({ id, object: "file", deleted: true })
  })

const anthropicError = (status, type, message) => ({
  status,
  body: { type: "error", error: { type, message }, request_id: "req_011CSHoEeqs5C35K2UUqR7Fy" }
})

export const startAnthropicFilesDouble = (options) =>
  start(options, {
    path: "/v1/files",
    prefix: "file_011C",
    // The documented header, or the one that the SDK sends.
    keyOf: (headers) => headers["x-api-key"] ?? /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1],
    refuse: (headers) =>
      headers["anthropic-version"] === undefined
        ? anthropicError(400, "invalid_request_error", "anthropic-version: header is required")
        : undefined,
    unauthorized: anthropicError(401, "authentication_error", "invalid x-api-key"),
    notFound: (id) => anthropicError(404, "not_found_error", `File not found: ${id}`),
    file: (id, filename, size_bytes) => ({
      id,
      type: "file",
      filename,
      mime_type: "text/plain",
      size_bytes,
      created_at: "2025-04-14T12:00:00Z",
      downloadable: false
    }),
    list: (data) => ({ data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }),
    deleted: (id) => ({ id, type: "file_deleted" })
  })

await startByHand(import.meta.url, startOpenAiFilesDouble)
