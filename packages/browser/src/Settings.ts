/**
 * Reads a page's settings from `<meta>` elements or from a JSON document. Put no keys in either:
 * everyone who opens the page can read them.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as Schema from "effect/Schema"

/**
 * @category schemas
 * @since 0.1.0
 */
export const Settings = Schema.Struct({
  /**
   * The gateway's address, ending in `/api/v1`, absolute or relative to the page. Default:
   * `/api/v1`, for a page that the gateway serves.
   */
  base_url: Schema.optionalKey(Schema.NonEmptyString),
  /** The URL that returns short-lived tokens. See `TokenSource.fromEndpoint`. */
  token_endpoint: Schema.NonEmptyString,
  workspace_id: Schema.optionalKey(Schema.NonEmptyString)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Settings = typeof Settings.Type

/**
 * The page's settings could not be read, or a required one is missing.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidSettings extends Data.TaggedError("InvalidSettings")<{
  /** Where the settings were read from: `the page's <meta> elements` or a URL. */
  readonly source: string
  readonly description: string
}> {
  override get message(): string {
    return `The settings in ${this.source} are not valid: ${this.description}.`
  }
}

/**
 * Reads the settings from the page's `<meta>` elements:
 *
 * ```html
 * <meta name="model-gateway-base-url" content="https://gateway.example/api/v1" />
 * <meta name="model-gateway-token-endpoint" content="/token" />
 * <meta name="model-gateway-workspace-id" content="…" />
 * ```
 *
 * Only `model-gateway-token-endpoint` is required.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromMeta: Effect.Effect<Settings, InvalidSettings> = Effect.suspend(() => {
  const content = (name: string) =>
    document.querySelector(`meta[name="model-gateway-${name}"]`)?.getAttribute("content") || undefined
  const token_endpoint = content("token-endpoint")
  const base_url = content("base-url")
  const workspace_id = content("workspace-id")
  return token_endpoint === undefined
    ? Effect.fail(
        new InvalidSettings({
          source: "the page's <meta> elements",
          description: `<meta name="model-gateway-token-endpoint"> is missing or empty`
        })
      )
    : Effect.succeed({
        token_endpoint,
        ...(base_url === undefined ? undefined : { base_url }),
        ...(workspace_id === undefined ? undefined : { workspace_id })
      })
})

/**
 * Reads the settings from a JSON document with the fields of {@link Settings}, such as
 * `/model-gateway.json`. It must arrive within 10 seconds.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromJson = (url: string): Effect.Effect<Settings, InvalidSettings, HttpClient.HttpClient> => {
  const invalid = (description: string) => new InvalidSettings({ source: url, description })
  return Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const response = yield* Effect.mapError(client.get(url, { acceptJson: true }), () =>
      invalid("the document is not reachable")
    )
    if (response.status !== 200) return yield* invalid(`the server responded with status ${response.status}`)
    const json = yield* Effect.mapError(response.json, () => invalid("the document is not JSON"))
    return yield* Effect.mapError(Schema.decodeUnknownEffect(Settings)(json), (error) =>
      invalid(error.message.replace(/\s+/g, " ").trim())
    )
  }).pipe(
    Effect.timeoutOrElse({
      duration: "10 seconds",
      orElse: () => Effect.fail(invalid("the document did not arrive within 10 seconds"))
    })
  )
}
