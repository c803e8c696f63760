/** Gets the bearer token of an attempt. */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import { type Credential, ShownError } from "../GatewayConfig.ts"
import { type AttemptFailure, notSent } from "./attempt.ts"

/** Keeps only an error that is marked: any other may contain the secret. */
const failed = (error: unknown): AttemptFailure<never> =>
  notSent("credential", Predicate.hasProperty(error, ShownError) ? error : undefined)

/** Gets a fresh bearer token and formats it as a header. */
export const authorizer = (credential: Credential): Effect.Effect<string, AttemptFailure<never>> =>
  Effect.flatMap(
    Redacted.isRedacted(credential) ? Effect.succeed(credential) : Effect.mapError(credential, failed),
    (token) => {
      const text = Redacted.value(token)
      return isToken.test(text)
        ? Effect.succeed(`Bearer ${text}`)
        : // Checked here because the platform's own error would quote the token.
          Effect.fail(
            notSent("credential", new Error("it is empty or has characters that are not allowed in an HTTP header"))
          )
    }
  )

const isToken = /^[\x21-\x7e]+$/
