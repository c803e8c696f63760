/** Gets the bearer token of an attempt. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { TransportError } from "../ClientError.ts"
import type { AttemptFailure } from "./attempt.ts"

/** Gets a fresh bearer token and formats it as a header. */
export const authorizer = (
  operation: string,
  credential: Effect.Effect<Redacted.Redacted<string>, unknown>
): Effect.Effect<string, AttemptFailure<never>> =>
  Effect.flatMap(Effect.mapError(credential, credentialFailure(operation)), (token) => {
    const text = Redacted.value(token)
    return isToken.test(text)
      ? Effect.succeed(`Bearer ${text}`)
      : // Checked here because the platform's own error would quote the token.
        Effect.fail(
          credentialFailure(operation)(
            new Error("it is empty or has characters that are not allowed in an HTTP header")
          )
        )
  })

const isToken = /^[\x21-\x7e]+$/

const credentialFailure =
  (operation: string) =>
  (cause: unknown): AttemptFailure<never> => ({
    reason: undefined,
    error: (attempts) =>
      Effect.succeed(new TransportError({ operation, reason: "credential", cause, attempts: attempts - 1 }))
  })
