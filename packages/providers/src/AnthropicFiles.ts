/**
 * Files at Anthropic.
 *
 * Protocol: https://platform.claude.com/docs/en/build-with-claude/files. Errors:
 * https://docs.claude.com/en/api/errors. The header `anthropic-beta: files-api-2025-04-14` is no
 * longer necessary: it selects the shapes of the beta.
 *
 * @since 0.1.0
 */
import { Effect } from "effect"
import type { HttpClient } from "effect/http"
import { type FileApi, removeBy } from "./FileApi.ts"
import { Overloaded } from "./ProviderError.ts"
import * as UpstreamHttp from "./UpstreamHttp.ts"

/**
 * The public API.
 *
 * @since 0.1.0
 */
export const defaultBaseUrl = "https://api.anthropic.com"

const headers = { "anthropic-version": "2023-06-01" }

/**
 * Makes the files of Anthropic.
 *
 * @since 0.1.0
 */
export const make = ({ baseUrl }: { readonly baseUrl: string }): Effect.Effect<FileApi, never, HttpClient.HttpClient> =>
  Effect.map(
    UpstreamHttp.make({
      baseUrl,
      authentication: { header: "x-api-key" },
      // 529: the API is overloaded for all of its users.
      reasonOf: ({ retryAfter, status }) =>
        status === 529 ? new Overloaded(retryAfter === undefined ? {} : { retryAfter }) : undefined
    }),
    (http) => ({ provider: "anthropic", remove: removeBy(http, "v1/files", headers) })
  )
