/**
 * Files at OpenAI.
 *
 * Protocol: https://platform.openai.com/docs/api-reference/files. Errors:
 * https://platform.openai.com/docs/guides/error-codes.
 *
 * @since 0.1.0
 */
import { Effect } from "effect"
import type { HttpClient } from "effect/http"
import { type FileApi, removeBy } from "./FileApi.ts"
import * as UpstreamHttp from "./UpstreamHttp.ts"

/**
 * The public API.
 *
 * @since 0.1.0
 */
export const defaultBaseUrl = "https://api.openai.com/v1"

/**
 * Makes the files of OpenAI, or of a service that speaks its API.
 *
 * @since 0.1.0
 */
export const make = (options: { readonly baseUrl: string }): Effect.Effect<FileApi, never, HttpClient.HttpClient> =>
  Effect.map(UpstreamHttp.make(options), (http) => ({ provider: "openai", remove: removeBy(http, "files") }))
