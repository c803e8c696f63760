/**
 * Files at OpenAI.
 *
 * Protocol: https://platform.openai.com/docs/api-reference/files. Errors:
 * https://platform.openai.com/docs/guides/error-codes.
 *
 * @since 0.1.0
 */
import { pageFields } from "@model-gateway/core/FileShapes"
import { type Duration, Effect, Schema } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { type HttpClient, HttpClientRequest } from "effect/http"
import * as FileApi from "@model-gateway/offers/FileApi"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"

/**
 * The public API.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultBaseUrl = "https://api.openai.com/v1"

const end = Schema.NullOr(Schema.String).pipe(Schema.withDecodingDefaultKey(Effect.succeed(null)))

/** Services that speak the API may leave out the ends of the page. */
const List = Schema.Struct({
  ...pageFields,
  data: Schema.Array(FileApi.OpenAiFile),
  first_id: end,
  last_id: end
})

const dialect: FileApi.Dialect<typeof List.Type> = {
  provider: "openai",
  path: "files",
  file: FileApi.OpenAiFile,
  list: List,
  toPage: Effect.succeed,
  page: (request, { after, limit, order }) => HttpClientRequest.setUrlParams(request, { limit, after, order }),
  // The purpose is required. This one is for any use.
  fields: (purpose = "user_data") => [["purpose", purpose]]
}

/**
 * Makes the files of OpenAI, or of a service that speaks its API.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function* (options: {
  readonly baseUrl: string
  /** The longest wait for an answer. Default: `UpstreamHttp.defaultTimeLimit`. */
  readonly timeLimit?: Duration.Input | undefined
}): Effect.fn.Return<FileApi.FileApi, never, HttpClient.HttpClient | SecureRandom.SecureRandom> {
  return FileApi.make(yield* UpstreamHttp.make(options), yield* SecureRandom.SecureRandom, dialect, options.timeLimit)
})
