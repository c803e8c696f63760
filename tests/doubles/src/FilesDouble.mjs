/**
 * Doubles of the files APIs of OpenAI and Anthropic, on loopback sockets, as documented:
 * https://platform.openai.com/docs/api-reference/files and
 * https://platform.claude.com/docs/en/build-with-claude/files.
 * Each key has its own files. By hand, OpenAI's:
 *
 *     node tests/doubles/src/FilesDouble.mjs <key> [port]
 */
import { startByHand, startDouble } from "./Double.mjs"

/** The file and the fields of a form. */
const readForm = (bytes, type = "") => {
  const boundary = `--${/boundary=(?:"([^"]+)"|([^;]+))/.exec(type)?.slice(1).find(Boolean)}`
  const form = { fields: {}, file: undefined }
  let at = bytes.indexOf(boundary)
  for (;;) {
    const start = bytes.indexOf("\r\n\r\n", at)
    const end = bytes.indexOf(`\r\n${boundary}`, start)
    if (at < 0 || start < 0 || end < 0) return form
    const head = bytes.subarray(at, start).toString("utf8")
    const content = bytes.subarray(start + 4, end)
    const name = /name="([^"]*)"/.exec(head)?.[1]
    const filename = /filename="([^"]*)"/.exec(head)?.[1]
    if (filename === undefined) form.fields[name] = content.toString("utf8")
    else if (name === "file") {
      form.file = { filename, content, type: /content-type: *(\S+)/i.exec(head)?.[1] ?? "application/octet-stream" }
    }
    at = end + 2
  }
}

/** The page that the query asks for, newest first. */
const pageOf = (all, query, after, prefix = "") => {
  const start = all.findIndex(({ id }) => `${prefix}${id}` === query.get(after)) + 1
  const limit = Number(query.get("limit") ?? 20)
  return { data: all.slice(start, start + limit), hasMore: all.length > start + limit }
}

/** Starts a double. `api` says how the two differ. */
const start = ({ keys, port }, api) => {
  const accounts = new Map(keys.map((key) => [key, new Map()]))
  let count = 0
  const answerTo = ({ bytes, headers, method, url }) => {
    const refusal = api.refuse?.(headers)
    if (refusal !== undefined) return refusal
    const files = accounts.get(api.keyOf(headers))
    if (files === undefined) return api.unauthorized
    const { pathname, searchParams } = new URL(url, "http://double")
    if (!pathname.startsWith(api.path)) return api.notFound("")
    const [id = "", part] = pathname.slice(api.path.length + 1).split("/")
    if (id === "" && method === "POST") {
      const { fields, file: sent } = readForm(bytes, headers["content-type"])
      const wrong = sent === undefined ? api.invalid("file is required") : api.check?.(fields)
      if (wrong !== undefined) return wrong
      const file = api.file(`${api.prefix}${++count}`, sent, fields)
      files.set(file.id, { file, sent })
      return { body: file }
    }
    if (id === "" && method === "GET") {
      const all = Array.from(files.values(), ({ file }) => file).toReversed()
      return { body: api.list(all, searchParams, headers) }
    }
    const found = files.get(id)
    if (found === undefined) return api.notFound(id)
    if (method === "GET" && part === "content") {
      return api.contentRefused?.(found) ?? { headers: { "content-type": found.sent.type }, body: found.sent.content }
    }
    if (method === "GET") return { body: found.file }
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
    invalid: (message) => openAiError(400, message),
    check: ({ purpose }) =>
      ["assistants", "batch", "fine-tune", "vision", "user_data", "evals"].includes(purpose)
        ? undefined
        : openAiError(400, `'${purpose}' is not one of the purposes - 'purpose'`),
    file: (id, { content, filename }, { purpose }) => ({
      id,
      object: "file",
      bytes: content.length,
      created_at: 1_700_000_000,
      filename,
      purpose,
      status: "processed"
    }),
    list: (all, query) => {
      const { data, hasMore } = pageOf(all, query, "after")
      return {
        object: "list",
        data,
        has_more: hasMore,
        first_id: data[0]?.id ?? null,
        last_id: data.at(-1)?.id ?? null
      }
    },
    deleted: (id) => ({ id, object: "file", deleted: true })
  })

const anthropicError = (status, type, message) => ({
  status,
  body: { type: "error", error: { type, message }, request_id: "req_011CSHoEeqs5C35K2UUqR7Fy" }
})

/** With `hasBeta: false`, it ignores the header of the beta. */
export const startAnthropicFilesDouble = ({ hasBeta = true, ...options }) =>
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
    invalid: (message) => anthropicError(400, "invalid_request_error", message),
    // Only what tools of the provider made is downloadable.
    contentRefused: ({ file }) =>
      file.filename.startsWith("made-")
        ? undefined
        : anthropicError(400, "invalid_request_error", "File is not downloadable"),
    file: (id, { content, filename, type }) => ({
      id,
      type: "file",
      filename,
      mime_type: type,
      size_bytes: content.length,
      created_at: "2025-04-14T12:00:00.123456Z",
      downloadable: filename.startsWith("made-")
    }),
    // Without the header of the beta, lists have pages of their own.
    list: (all, query, headers) => {
      if (!hasBeta || headers["anthropic-beta"] !== "files-api-2025-04-14") {
        const { data, hasMore } = pageOf(all, query, "page", "page_")
        return { data, next_page: hasMore ? `page_${data.at(-1).id}` : null }
      }
      const { data, hasMore } = pageOf(all, query, "after_id")
      return { data, has_more: hasMore, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }
    },
    deleted: (id) => ({ id, type: "file_deleted" })
  })

await startByHand(import.meta.url, startOpenAiFilesDouble)
