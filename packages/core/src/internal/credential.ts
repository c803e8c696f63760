/** Gets the bearer token of an attempt. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Credential } from "../GatewayConfig.ts"
import { type AttemptFailure, notSent } from "./attempt.ts"

const failed = (cause: unknown): AttemptFailure<never> => notSent("credential", cause)

/** Gets a fresh bearer token and formats it as a header. */
export const authorizer = (credential: Credential): Effect.Effect<string, AttemptFailure<never>> =>
  Effect.flatMap(
    Redacted.isRedacted(credential) ? Effect.succeed(credential) : Effect.mapError(credential, failed),
    (token) => {
      const text = Redacted.value(token)
      return isToken.test(text)
        ? Effect.succeed(`Bearer ${text}`)
        : // Checked here because the platform's own error would quote the token.
          Effect.fail(failed(new Error("it is empty or has characters that are not allowed in an HTTP header")))
    }
  )

const isToken = /^[\x21-\x7e]+$/
