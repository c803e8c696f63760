/**
 * Where a page finds its settings: in `<meta>` elements that its server wrote, or
 * in a JSON document. Neither is a place for a key: everybody can read both.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as Schema from "effect/Schema"

/**
 * @since 0.1.0
 */
export const Settings = Schema.Struct({
  /** Its path ends in `/api/v1`; may be relative to the page. Default `/api/v1`: the gateway serves the page. */
  base_url: Schema.optionalKey(Schema.NonEmptyString),
  /** The address that gives short-lived tokens; see `TokenSource.fromEndpoint`. */
  token_endpoint: Schema.NonEmptyString,
  workspace_id: Schema.optionalKey(Schema.NonEmptyString)
})

/** @since 0.1.0 */
export type Settings = typeof Settings.Type

/**
 * The page's settings could not be had, or something is missing in them.
 *
 * @since 0.1.0
 */
export class InvalidSettings extends Data.TaggedError("InvalidSettings")<{
  /** Where they were looked for: `the page's <meta> elements`, or an address. */
  readonly source: string
  readonly description: string
}> {
  override get message(): string {
    return `The settings in ${this.source} cannot be used: ${this.description}.`
  }
}

/**
 * From the page:
 *
 * ```html
 * <meta name="model-gateway-base-url" content="https://gateway.example/api/v1" />
 * <meta name="model-gateway-token-endpoint" content="/token" />
 * <meta name="model-gateway-workspace-id" content="…" />
 * ```
 *
 * Only the token's endpoint is required.
 *
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
 * From a JSON document with the fields of {@link Settings}, such as
 * `/model-gateway.json`.
 *
 * @since 0.1.0
 */
export const fromJson = (url: string): Effect.Effect<Settings, InvalidSettings, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const unusable = (description: string) => new InvalidSettings({ source: url, description })
    const response = yield* Effect.mapError(client.get(url, { acceptJson: true }), () =>
      unusable("it could not be reached")
    )
    if (response.status !== 200) return yield* unusable(`it answered with status ${response.status}`)
    const json = yield* Effect.mapError(response.json, () => unusable("it is no JSON"))
    return yield* Effect.mapError(Schema.decodeUnknownEffect(Settings)(json), (error) =>
      unusable(error.message.replace(/\s+/g, " ").trim())
    )
  })
