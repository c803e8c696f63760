/**
 * Keeps keys that live for months out of pages, where everybody can read them.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

/**
 * The credential is an ordinary (`mg_sk_…`) or a management key (`mg_mk_…`), and
 * nobody said that this is meant. The key itself is no part of the error.
 *
 * @since 0.1.0
 */
export class LongLivedKeyRefused extends Data.TaggedError("LongLivedKeyRefused")<{
  /** What gave it away: `mg_sk_` or `mg_mk_`. */
  readonly prefix: string
}> {
  override get message(): string {
    return (
      `This is a long-lived key (${this.prefix}…). Everyone who opens the page can read it and spend with it, so it is refused. ` +
      "Let your own server get a short-lived one from POST /keys/ephemeral and name that address as tokenEndpoint. " +
      "If the risk is meant, as in a tool that only you open, set dangerouslyAllowLongLivedKey: true."
    )
  }
}

const longLived = /^mg_[sm]k_/

/**
 * The token itself, unless it looks long-lived.
 *
 * @since 0.1.0
 */
export const refuseLongLived = (
  token: Redacted.Redacted<string>
): Effect.Effect<Redacted.Redacted<string>, LongLivedKeyRefused> => {
  const prefix = longLived.exec(Redacted.value(token))?.[0]
  return prefix === undefined ? Effect.succeed(token) : Effect.fail(new LongLivedKeyRefused({ prefix }))
}
