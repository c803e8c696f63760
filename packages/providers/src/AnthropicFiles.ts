/**
 * Files at Anthropic.
 *
 * Protocol: https://platform.claude.com/docs/en/build-with-claude/files. Errors:
 * https://docs.claude.com/en/api/errors.
 *
 * There are two shapes of lists. The general one pages by an opaque cursor
 * (https://platform.claude.com/docs/en/api/go/files/list). The header `anthropic-beta:
 * files-api-2025-04-14` selects that of the beta, which pages by the id of a file. Callers page by
 * ids, so it is asked for first. A service that no longer has it answers with the general one.
 *
 * @since 0.1.0
 */
import { pageFields } from "@model-gateway/core/FileShapes"
import { type Duration, Effect, Schema } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { type HttpClient, HttpClientRequest } from "effect/http"
import * as FileApi from "@model-gateway/offers/FileApi"
import { invalidFields, Overloaded } from "@model-gateway/offers/ProviderError"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"

/**
 * The public API.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultBaseUrl = "https://api.anthropic.com"

const data = Schema.Array(FileApi.AnthropicFile)

/** The shape of the beta, and the general one. */
const List = Schema.Union([
  Schema.Struct({ ...pageFields, data }),
  Schema.Struct({ data, next_page: Schema.NullOr(Schema.String) })
])

/** Cursors of the general shape begin with this, ids of files with `file_`. */
const isCursor = (after: string): boolean => after.startsWith("page_")

const dialect: FileApi.Dialect<typeof List.Type> = {
  provider: "anthropic",
  path: "v1/files",
  headers: { "anthropic-version": "2023-06-01" },
  file: FileApi.AnthropicFile,
  list: List,
  page: (request, { after, limit }) =>
    after !== undefined && isCursor(after)
      ? HttpClientRequest.setUrlParams(request, { limit, page: after })
      : request.pipe(
          HttpClientRequest.setUrlParams({ limit, after_id: after }),
          HttpClientRequest.setHeader("anthropic-beta", "files-api-2025-04-14")
        ),
  toPage: (list, { after }) => {
    if ("has_more" in list) return Effect.succeed(list)
    // It has ignored the id, so this is the first page once more.
    if (after !== undefined && !isCursor(after)) {
      return Effect.fail(
        invalidFields([{ path: "after", message: `must be the "cursor" of the page before at this provider` }])
      )
    }
    const { data, next_page } = list
    return Effect.succeed({
      data,
      has_more: next_page !== null,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      ...(next_page === null ? {} : { cursor: next_page })
    })
  },
  // There is no purpose.
  fields: () => []
}

/**
 * Makes the files of Anthropic.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function* ({
  baseUrl,
  timeLimit
}: {
  readonly baseUrl: string
  /** The longest wait for an answer. Default: `UpstreamHttp.defaultTimeLimit`. */
  readonly timeLimit?: Duration.Input | undefined
}): Effect.fn.Return<FileApi.FileApi, never, HttpClient.HttpClient | SecureRandom.SecureRandom> {
  const http = yield* UpstreamHttp.make({
    baseUrl,
    timeLimit,
    authentication: { header: "x-api-key" },
    // 529: the API is overloaded for all of its users.
    reasonOf: ({ retryAfter, status }) =>
      status === 529 ? new Overloaded(retryAfter === undefined ? {} : { retryAfter }) : undefined
  })
  return FileApi.make(http, yield* SecureRandom.SecureRandom, dialect, timeLimit)
})
