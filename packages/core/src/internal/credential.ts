/** Gets the bearer tokens of attempts. */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import { type Credential, RefusedToken, ShownError } from "../GatewayConfig.ts"
import { type AttemptFailure, notSent } from "./attempt.ts"

/** The authorization headers of one call. */
export interface Headers {
  /** The header of the last request. */
  sent: string | undefined
  /** The header in place of one that the service rejected. */
  renewed: string | undefined
  /** Whether the service may have done the work of a request with an idempotency key. */
  isOutcomeUnknown: boolean
}

/** Keeps only an error that is marked: any other may contain the secret. */
const failed = (error: unknown): AttemptFailure<never> =>
  notSent("credential", Predicate.hasProperty(error, ShownError) ? error : undefined)

const isToken = /^[\x21-\x7e]+$/

const scheme = "Bearer "

export const make = (credential: Credential) => {
  /** Gets a fresh token and formats it as a header. */
  const fresh: Effect.Effect<string, AttemptFailure<never>> = Effect.flatMap(
    Redacted.isRedacted(credential) ? Effect.succeed(credential) : Effect.mapError(credential, failed),
    (token) => {
      const text = Redacted.value(token)
      return isToken.test(text)
        ? Effect.succeed(scheme + text)
        : // Checked here because the platform's own error would quote the token.
          Effect.fail(
            notSent("credential", new Error("it is empty or has characters that are not allowed in an HTTP header"))
          )
    }
  )

  return {
    /**
     * The header of the next attempt. The service scopes an idempotency key to the credential. If
     * the work may have been done, a retry with another credential could do and charge it a second
     * time.
     */
    next: ({ isOutcomeUnknown, renewed, sent }: Headers): Effect.Effect<string, AttemptFailure<never>> => {
      const known = isOutcomeUnknown ? sent : renewed
      return known === undefined ? fresh : Effect.succeed(known)
    },

    /** After a 401: gets another token, once. Returns whether there is another one. */
    renew: (headers: Headers, milliseconds: number): Effect.Effect<boolean> => {
      const { isOutcomeUnknown, renewed, sent } = headers
      if (sent === undefined || renewed !== undefined || isOutcomeUnknown) return Effect.succeed(false)
      return fresh.pipe(
        Effect.provideService(RefusedToken, Redacted.make(sent.slice(scheme.length))),
        Effect.timeoutOrElse({ duration: milliseconds, orElse: () => Effect.succeed(sent) }),
        Effect.orElseSucceed(() => sent),
        Effect.map((header) => {
          headers.renewed = header
          return header !== sent
        })
      )
    }
  }
}
