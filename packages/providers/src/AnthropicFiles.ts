/**
 * Files at Anthropic.
 *
 * Protocol: https://platform.claude.com/docs/en/build-with-claude/files. Errors:
 * https://docs.claude.com/en/api/errors. The header `anthropic-beta: files-api-2025-04-14` is no
 * longer necessary: it selects the shapes of the beta. Only these page by the id of a file
 * (https://platform.claude.com/docs/en/api/beta/files/list), so it is sent for lists.
 *
 * @since 0.1.0
 */
import { pageFields } from "@model-gateway/core/FileShapes"
import { type Duration, Effect, Schema } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { type HttpClient, HttpClientRequest } from "effect/http"
import * as FileApi from "@model-gateway/offers/FileApi"
import { Overloaded } from "@model-gateway/offers/ProviderError"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"

/**
 * The public API.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultBaseUrl = "https://api.anthropic.com"

const dialect: FileApi.Dialect = {
  provider: "anthropic",
  path: "v1/files",
  headers: { "anthropic-version": "2023-06-01" },
  file: FileApi.AnthropicFile,
  list: Schema.Struct({ ...pageFields, data: Schema.Array(FileApi.AnthropicFile) }),
  page: (request, { after, limit }) =>
    request.pipe(
      HttpClientRequest.setUrlParams({ limit, after_id: after }),
      HttpClientRequest.setHeader("anthropic-beta", "files-api-2025-04-14")
    ),
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
