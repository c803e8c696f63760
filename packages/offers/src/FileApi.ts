/**
 * Files that a provider stores for an account of its own, called with a provider key.
 *
 * @since 0.1.0
 */
import type { Order } from "@model-gateway/core/Files"
import { Deferred, Duration, Effect, Schema, type Stream } from "effect"
import type { SecureRandom } from "effect/crypto/SecureRandom"
import { type Headers, HttpClientRequest } from "effect/http"
import * as FormBody from "./FormBody.ts"
import type { Credential } from "./Offer.ts"
import { ProviderError, Timeout } from "./ProviderError.ts"
import type { UpstreamHttp } from "./UpstreamHttp.ts"
import { defaultTimeLimit } from "./UpstreamHttp.ts"

/** Times on the wire have four digits for the year. */
const hasFourDigitYear = (time: Date): boolean => time.getUTCFullYear() >= 0 && time.getUTCFullYear() <= 9999

const Seconds = Schema.Int.check(
  Schema.makeFilter((seconds: number) => hasFourDigitYear(new Date(seconds * 1000)), {
    expected: "a time in seconds since 1970"
  })
)

const Time = Schema.String.check(
  Schema.makeFilter((text: string) => hasFourDigitYear(new Date(text)), { expected: "a time in RFC 3339" })
)

/**
 * A file as OpenAI describes it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const OpenAiFile = Schema.Struct({
  id: Schema.String,
  filename: Schema.String,
  bytes: Schema.Int,
  purpose: Schema.String,
  created_at: Seconds,
  expires_at: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  status_details: Schema.optionalKey(Schema.NullOr(Schema.String))
})

/**
 * @category models
 * @since 0.1.0
 */
export type OpenAiFile = { [Field in keyof typeof OpenAiFile.Type]: (typeof OpenAiFile.Type)[Field] }

/**
 * A file as Anthropic describes it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AnthropicFile = Schema.Struct({
  id: Schema.String,
  filename: Schema.String,
  mime_type: Schema.String,
  size_bytes: Schema.Int,
  created_at: Time,
  expires_at: Schema.optionalKey(Schema.NullOr(Schema.String)),
  downloadable: Schema.optionalKey(Schema.Boolean)
})

/**
 * @category models
 * @since 0.1.0
 */
export type AnthropicFile = { [Field in keyof typeof AnthropicFile.Type]: (typeof AnthropicFile.Type)[Field] }

/**
 * A file as its provider describes it.
 *
 * @category models
 * @since 0.1.0
 */
export type ProviderFile = OpenAiFile | AnthropicFile

/**
 * A page of files as their provider describes it.
 *
 * @category models
 * @since 0.1.0
 */
export interface ProviderFileList {
  readonly data: ReadonlyArray<ProviderFile>
  readonly has_more: boolean
  readonly first_id: string | null
  readonly last_id: string | null
  /** The `after` of the next page, if it is not `last_id`. */
  readonly cursor?: string
}

/**
 * A file to store, passed on while it arrives. If a stream fails, the provider gets an incomplete
 * request and stores nothing.
 *
 * @category models
 * @since 0.1.0
 */
export interface FileUpload {
  readonly filename: string
  readonly contentType: string
  readonly content: Stream.Stream<Uint8Array, unknown>
  /** What the file is for. It is asked for when all of `content` was read. */
  readonly purpose: Effect.Effect<string | undefined, unknown>
}

/**
 * The page of `limit` files that follow `after`: the id of a file, or the `cursor` of the page
 * before. A provider without an order ignores it.
 *
 * @category models
 * @since 0.1.0
 */
export interface FilePage {
  readonly after?: string | undefined
  readonly limit: number
  readonly order?: Order | undefined
}

/**
 * The bytes of a file. Read them: the connection stays open until then.
 *
 * @category models
 * @since 0.1.0
 */
export interface FileContent {
  readonly headers: Headers.Headers
  readonly stream: Stream.Stream<Uint8Array, ProviderError>
}

/**
 * The files of a provider. An error's `status` is 404 if there is no such file.
 *
 * @category models
 * @since 0.1.0
 */
export interface FileApi {
  /** The name under which callers store their key, such as `openai`. */
  readonly provider: string
  /** Stores a file in the credential's account. */
  readonly upload: (file: FileUpload, credential: Credential) => Effect.Effect<ProviderFile, ProviderError>
  readonly list: (page: FilePage, credential: Credential) => Effect.Effect<ProviderFileList, ProviderError>
  readonly get: (id: string, credential: Credential) => Effect.Effect<ProviderFile, ProviderError>
  readonly content: (id: string, credential: Credential) => Effect.Effect<FileContent, ProviderError>
  /** Deletes a file of the credential's account. */
  readonly remove: (id: string, credential: Credential) => Effect.Effect<void, ProviderError>
}

/**
 * How a provider's API differs from others. All have the same operations on one path: POST of a
 * form, GET, GET and DELETE of `/<id>`, GET of `/<id>/content`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Dialect<List> {
  readonly provider: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly file: Schema.ConstraintDecoder<ProviderFile>
  readonly list: Schema.ConstraintDecoder<List>
  /** What the answer to the request for this page means. */
  readonly toPage: (list: List, page: FilePage) => Effect.Effect<ProviderFileList, ProviderError>
  /** The request for a page of the list. */
  readonly page: (request: HttpClientRequest.HttpClientRequest, page: FilePage) => HttpClientRequest.HttpClientRequest
  /** The fields of the form beside the file. */
  readonly fields: (purpose: string | undefined) => ReadonlyArray<readonly [name: string, value: string]>
}

const Deleted = Schema.Struct({ id: Schema.String })

/** The longest upload. The answer has to come within the provider's time limit after it. */
const uploadLimit = Duration.hours(1)

/**
 * Makes the files of a provider.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <List>(
  http: UpstreamHttp,
  random: SecureRandom["Service"],
  dialect: Dialect<List>,
  timeLimit: Duration.Input = defaultTimeLimit
): FileApi => {
  const { path, provider } = dialect
  const call = (request: HttpClientRequest.HttpClientRequest, credential: Credential) => ({
    request: request.pipe(HttpClientRequest.setHeaders(dialect.headers ?? {})),
    credential,
    model: "files"
  })
  const json = (request: HttpClientRequest.HttpClientRequest, credential: Credential) =>
    call(HttpClientRequest.acceptJson(request), credential)
  const at = (id: string) => `${path}/${encodeURIComponent(id)}`

  return {
    provider,
    upload: Effect.fnUntraced(function* ({ content, contentType, filename, purpose }, credential) {
      const sent = yield* Deferred.make<void>()
      const body = yield* FormBody.passOn(
        {
          file: { name: "file", filename, contentType, content },
          fields: Effect.map(purpose, dialect.fields),
          onSent: Deferred.succeed(sent, undefined)
        },
        random
      )
      const request = HttpClientRequest.post(path).pipe(HttpClientRequest.setBody(body))
      const silence = Deferred.await(sent).pipe(
        Effect.andThen(Effect.sleep(timeLimit)),
        Effect.andThen(Effect.fail(new ProviderError({ reason: new Timeout() })))
      )
      const stored = http.json({ ...json(request, credential), timeLimit: uploadLimit }, dialect.file)
      return yield* Effect.raceFirst(stored, silence)
    }),
    list: (page, credential) =>
      Effect.flatMap(
        http.json(json(dialect.page(HttpClientRequest.get(path), page), credential), dialect.list),
        (list) => dialect.toPage(list, page)
      ),
    get: (id, credential) => http.json(json(HttpClientRequest.get(at(id)), credential), dialect.file),
    content: (id, credential) => http.open(call(HttpClientRequest.get(`${at(id)}/content`), credential)),
    remove: (id, credential) => Effect.asVoid(http.json(json(HttpClientRequest.delete(at(id)), credential), Deleted))
  }
}
