/**
 * Sign-in by a provider of identities with OpenID Connect: the authorization code flow with PKCE,
 * on the server.
 *
 * What connects the two requests of a sign-in is a secret in a cookie of the browser. State, nonce
 * and verifier are derived from it, so nothing is stored meanwhile, and any process can finish what
 * another one has begun.
 */
import { Forbidden, phrases, ServiceUnavailable, Unauthorized } from "@model-gateway/core/GatewayError"
import { Role } from "@model-gateway/core/Identifiers"
import { Clock, Effect, Redacted } from "effect"
import { createHash, createHmac } from "node:crypto"
import * as LogEvent from "../log/LogEvent.ts"

/** The provider, as its operator has registered the gateway there. */
export interface Options {
  /** Its URL, which has `/.well-known/openid-configuration` below it. */
  readonly issuer: string
  readonly clientId: string
  /** Undefined: the gateway is a public client. */
  readonly clientSecret?: Redacted.Redacted | undefined
  /** Separated by spaces. */
  readonly scopes: string
  /** The claim with the role, or with several of which the highest counts. */
  readonly roleClaim: string
  /**
   * The claim with slugs or ids of workspaces, which all but admins need. Undefined: nobody is
   * restricted.
   */
  readonly workspacesClaim?: string | undefined
  /** The name of the provider, for the button. */
  readonly name: string
  /** Where the provider sends the browser back to. */
  readonly redirectUri: string
}

/** Who has signed in there. */
export interface Identity {
  readonly subject: string
  /** In words. */
  readonly label: string
  readonly role: Role
  /** Slugs or ids. Undefined: all. */
  readonly workspaces: ReadonlyArray<string> | undefined
}

/** Where the sign-in begins, relative to the page of the console. */
export const href = "session/openid-connect"

/** How old a sign-in at the provider may be, in seconds. It may ignore that. */
const maxAge = 15 * 60

/** The configuration of a provider is read again after this time, in milliseconds. */
const readAgainAfter = 3_600_000

const derived = (secret: Redacted.Redacted<string>, purpose: string): string =>
  createHmac("sha256", Redacted.value(secret)).update(`model-gateway console ${purpose}`).digest("base64url")

const unavailable = new ServiceUnavailable({
  error: { message: `${phrases[503]}: the provider of identities does not answer as expected. The log says why` }
})

const failed = (reason: string) =>
  new Unauthorized({
    error: {
      message: `the sign-in has failed: ${reason}. Begin again at /console`,
      metadata: { reason: "sign_in_failed" }
    }
  })

const forbidden = (message: string, reason: "no_role" | "no_workspace" = "no_role") =>
  new Forbidden({ error: { message: `${phrases[403]}: ${message}`, metadata: { reason } } })

type Claims = Readonly<Record<string, unknown>>

/** The texts of a claim: one, a list, or several separated by spaces or commas. */
const textsOf = (value: unknown): ReadonlyArray<string> =>
  typeof value === "string"
    ? value.split(/[\s,]+/).filter((text) => text !== "")
    : Array.isArray(value)
      ? value.filter((item): item is string => typeof item === "string")
      : []

/** The claim of a name, which may lead into objects: `realm_access.roles`. */
const claimOf = (claims: Claims, name: string): unknown => {
  if (Object.hasOwn(claims, name)) return claims[name] ?? undefined
  let value: unknown = claims
  for (const part of name.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined
    value = Reflect.get(value, part)
  }
  return value ?? undefined
}

const highest = (texts: ReadonlyArray<string>): Role | undefined =>
  Role.literals.findLast((role) => texts.includes(role))

/** Without what a terminal or a page would obey: others chose the text. */
const printable = (text: string, longest = 200): string => text.replaceAll(/[\p{Cc}\p{Cf}]/gu, "").slice(0, longest)

const labelOf = (claims: Claims, subject: string): string => {
  const [name, email] = ["name", "email"].map((claim) => {
    const value = claims[claim]
    return typeof value === "string" && value !== "" ? printable(value) : undefined
  })
  if (name !== undefined && email !== undefined) return `${name} (${email})`
  const [other] = textsOf(claims["preferred_username"])
  return name ?? email ?? printable(other ?? subject)
}

/** Who the claims describe, and what they may do. */
const identityOf = Effect.fnUntraced(function* (token: Claims, further: Claims, subject: string, options: Options) {
  const { roleClaim, workspacesClaim } = options
  const claims = { ...further, ...token }
  const find = (name: string) => claimOf(token, name) ?? claimOf(further, name)
  const role = highest(textsOf(find(roleClaim)))
  if (role === undefined) {
    return yield* forbidden(
      `${labelOf(claims, subject)} has no role for the console. The claim ${roleClaim} needs one of ${Role.literals.join(", ")}`
    )
  }
  const restriction = workspacesClaim === undefined ? undefined : find(workspacesClaim)
  if (restriction !== undefined && role === "admin") {
    return yield* forbidden(`an admin manages all workspaces, and the claim ${workspacesClaim} restricts to some`)
  }
  // A provider may leave out a list that is long. Then nobody knows what the person may see.
  if (restriction === undefined && workspacesClaim !== undefined && role !== "admin") {
    return yield* forbidden(
      `${labelOf(claims, subject)} has no workspace. Who is no admin needs the claim ${workspacesClaim}, with slugs or ids of workspaces`,
      "no_workspace"
    )
  }
  const identity: Identity = {
    subject,
    label: labelOf(claims, subject),
    role,
    workspaces: restriction === undefined ? undefined : textsOf(restriction)
  }
  return identity
})

/**
 * What the library says of a failure. It quotes no token and no secret, but the link back, which
 * anybody can write.
 */
const describe = (cause: unknown): string => {
  if (!(cause instanceof Error)) return printable(String(cause), 500)
  const details = ["code", "error", "error_description"].flatMap((name) => {
    const value: unknown = Reflect.get(cause, name)
    return typeof value === "string" ? [value] : []
  })
  const inner = cause.cause instanceof Error ? [cause.cause.message] : []
  return printable([cause.message, ...details, ...inner].join(": "), 500)
}

/** Makes the client of a provider. */
export const make = (options: Options) => {
  const { clientId, clientSecret, issuer, redirectUri, scopes } = options
  const library = Effect.promise(() => import("openid-client"))
  const isInsecure = issuer.startsWith("http:")

  const ask = <A>(what: string, send: () => Promise<A>) =>
    Effect.tryPromise({ try: send, catch: describe }).pipe(
      Effect.tapError((why) => LogEvent.log("console_sign_in_failed", `${what} failed: ${why}`))
    )

  const discover = Effect.gen(function* () {
    const client = yield* library
    return yield* Effect.mapError(
      ask(`The discovery of ${issuer}`, () =>
        client.discovery(
          new URL(issuer),
          clientId,
          undefined,
          clientSecret === undefined ? client.None() : client.ClientSecretBasic(Redacted.value(clientSecret)),
          // The settings allow it on this machine only.
          // oxlint-disable-next-line typescript/no-deprecated -- deprecated so that it stands out
          { timeout: 10, ...(isInsecure ? { execute: [client.allowInsecureRequests] } : {}) }
        )
      ),
      () => unavailable
    )
  })

  let known: { readonly value: Effect.Success<typeof discover>; readonly at: number } | undefined
  const configuration = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (known !== undefined && now - known.at < readAgainAfter) return known.value
    const value = yield* discover
    known = { value, at: now }
    return value
  })

  /** The URL to send the browser to. */
  const begin = Effect.fnUntraced(function* (secret: Redacted.Redacted<string>) {
    const [client, config] = yield* Effect.all([library, configuration])
    return client.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: scopes,
      state: derived(secret, "state"),
      nonce: derived(secret, "nonce"),
      code_challenge: createHash("sha256").update(derived(secret, "verifier")).digest("base64url"),
      code_challenge_method: "S256",
      max_age: String(maxAge)
    })
  })

  /** Who has signed in, by the query that the provider has sent the browser back with. */
  const finish = Effect.fnUntraced(function* (secret: Redacted.Redacted<string>, search: string) {
    const [client, config] = yield* Effect.all([library, configuration])
    const sent = new URL(redirectUri)
    sent.search = search
    const problem = sent.searchParams.get("error")
    if (problem === "access_denied") return yield* failed("the provider of identities has denied it")
    const tokens = yield* Effect.mapError(
      ask("A sign-in by OpenID Connect", () =>
        client.authorizationCodeGrant(config, sent, {
          pkceCodeVerifier: derived(secret, "verifier"),
          expectedState: derived(secret, "state"),
          expectedNonce: derived(secret, "nonce"),
          idTokenExpected: true
        })
      ),
      () => failed("the provider of identities did not confirm it, or it took too long")
    )
    const claims = tokens.claims()
    if (claims === undefined) return yield* failed("the provider of identities sent no identity")
    const authenticatedAt = claims.auth_time
    if (authenticatedAt !== undefined && (yield* Clock.currentTimeMillis) / 1000 - authenticatedAt > maxAge + 60) {
      return yield* failed("you signed in at the provider of identities too long ago")
    }
    const { roleClaim, workspacesClaim } = options
    const needed = [roleClaim, ...(workspacesClaim === undefined ? [] : [workspacesClaim])]
    const isComplete = needed.every((name) => claimOf(claims, name) !== undefined)
    if (isComplete || config.serverMetadata().userinfo_endpoint === undefined) {
      return yield* identityOf(claims, {}, claims.sub, options)
    }
    // Some providers have claims there only.
    const further = yield* Effect.mapError(
      ask("The user information of a sign-in", () => client.fetchUserInfo(config, tokens.access_token, claims.sub)),
      () => unavailable
    )
    return yield* identityOf(claims, further, claims.sub, options)
  })

  return { begin, finish, name: options.name }
}

/** The client of a provider. */
export type OpenIdConnect = ReturnType<typeof make>
