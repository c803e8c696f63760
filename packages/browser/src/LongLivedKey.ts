/**
 * Rejects long-lived keys in pages, where everyone could read them.
 *
 * @since 0.1.0
 */
import { ShownError } from "@model-gateway/core/GatewayConfig"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

/**
 * The credential is an ordinary key (`mg_sk_…`) or a management key (`mg_mk_…`), and
 * `dangerouslyAllowLongLivedKey` is not set. The error does not contain the key.
 *
 * @category errors
 * @since 0.1.0
 */
export class LongLivedKeyRefused extends Data.TaggedError("LongLivedKeyRefused")<{
  /** The key's prefix: `mg_sk_` or `mg_mk_`. */
  readonly prefix: string
}> {
  readonly [ShownError] = true
  override get message(): string {
    return (
      `This is a long-lived key (${this.prefix}…). It is refused, because everyone who opens the page could read it and spend with it. ` +
      "Let your own server create short-lived keys with POST /keys/ephemeral, and set tokenEndpoint to your server's URL. " +
      "If only you open the page and you accept the risk, set dangerouslyAllowLongLivedKey: true."
    )
  }
}

const longLived = /^mg_[sm]k_/

/**
 * Returns the token, or fails if it is a long-lived key.
 *
 * @category validation
 * @since 0.1.0
 */
export const refuseLongLived = (
  token: Redacted.Redacted<string>
): Effect.Effect<Redacted.Redacted<string>, LongLivedKeyRefused> => {
  const prefix = longLived.exec(Redacted.value(token))?.[0]
  return prefix === undefined ? Effect.succeed(token) : Effect.fail(new LongLivedKeyRefused({ prefix }))
}
