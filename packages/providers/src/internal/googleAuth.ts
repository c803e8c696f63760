/**
 * Access tokens of Google Cloud, for a service account or the machine that the gateway runs on.
 *
 * The flow is the JWT grant of https://developers.google.com/identity/protocols/oauth2/service-account
 * and https://www.rfc-editor.org/rfc/rfc7523. It is written here instead of taken from
 * `google-auth-library`, which brings an HTTP client of its own: calls by that would have neither
 * the service's time limits and bounds, nor its proxies, and the library also reads variables of
 * the environment and files that nobody named.
 */
import { Cache, Clock, Duration, Effect, Exit, FileSystem, Redacted, Schema, Stream } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { createPrivateKey, sign } from "node:crypto"
import type { Upstream } from "@model-gateway/offers/Adapter"
import type { Credential } from "@model-gateway/offers/Offer"
import { ProviderError, Unauthorized, Unavailable } from "@model-gateway/offers/ProviderError"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
import { nullable } from "./nullable.ts"

/** What calls are made with. */
export interface Access {
  /** Its secret is an access token. */
  readonly credential: Credential
  /** The project that pays. */
  readonly project: string
}

/** Exchanges credentials for access tokens. */
export interface GoogleAuth {
  readonly access: (credential: Credential) => Effect.Effect<Access, ProviderError>
  /** Runs a call with a token. One that is rejected is not used again. */
  readonly use: <A>(
    credential: Credential,
    call: (access: Access) => Effect.Effect<A, ProviderError>
  ) => Effect.Effect<A, ProviderError>
}

const scope = "https://www.googleapis.com/auth/cloud-platform"
const tokenUri = "https://oauth2.googleapis.com/token"
const metadata = "http://metadata.google.internal"

/** The time before its end at which a token is replaced. */
const marginSeconds = 60

/** The longest wait for a token. */
const timeLimit = Duration.seconds(20)

/** Tokens of this many credentials are kept. */
const capacity = 1000

/** The file of a service account's key. */
const KeyFile = Schema.Struct({
  type: Schema.Literal("service_account"),
  // It becomes a part of URLs.
  project_id: Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9.:-]{2,62}$/)),
  private_key_id: nullable(Schema.String),
  private_key: Schema.NonEmptyString,
  client_email: Schema.NonEmptyString,
  token_uri: nullable(Schema.String)
})

type KeyFile = typeof KeyFile.Type

const Token = Schema.Struct({
  access_token: Schema.String.check(Schema.isPattern(/^[\x21-\x7e]+$/)),
  expires_in: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 86_400 }))
})

interface Fetched {
  readonly token: string
  readonly seconds: number
  readonly project: string
}

const rejected = () => new ProviderError({ reason: new Unauthorized() })

/** Reasons that mean the same without a token as with one. */
const ownReasons = new Set(["Unauthorized", "RateLimited", "Overloaded", "Unavailable"])

/**
 * Without a token, the call was not made. A lost answer about the token must not look like a lost
 * answer to the call, which may have started a job.
 */
const withoutCall = (error: ProviderError): ProviderError =>
  ownReasons.has(error.reason._tag) ? error : new ProviderError({ reason: new Unavailable() })

/** `my-project:ya29.…`: a token that somebody else renews. */
const tokenForm = /^([a-z][a-z0-9.:-]{2,62}):([\x21-\x39\x3b-\x7e]+)$/

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")

/** The signed claim to exchange for a token. Undefined if the private key is invalid. */
const assertionOf = (file: KeyFile, audience: string, seconds: number): string | undefined => {
  const { client_email, private_key, private_key_id } = file
  const header = { alg: "RS256", typ: "JWT", ...(private_key_id === null ? {} : { kid: private_key_id }) }
  const claims = { iss: client_email, scope, aud: audience, iat: seconds, exp: seconds + 3600 }
  const text = `${encode(header)}.${encode(claims)}`
  try {
    return `${text}.${sign("RSA-SHA256", Buffer.from(text), createPrivateKey(private_key)).toString("base64url")}`
  } catch {
    return undefined
  }
}

/**
 * The exchange for an upstream. The secret of a credential is a service account's key file in
 * base64, or `PROJECT:ACCESS_TOKEN`. The gateway's own may also be the path of a key file, or
 * `metadata`: callers must not reach files and the identity of the gateway's machine.
 */
export const make = Effect.fnUntraced(function* ({
  baseUrl,
  credential: own
}: Upstream): Effect.fn.Return<GoogleAuth, never, HttpClient.HttpClient | FileSystem.FileSystem> {
  const client = yield* HttpClient.HttpClient
  const files = yield* FileSystem.FileSystem
  const at = (origin: string) =>
    Effect.provideService(
      UpstreamHttp.make({
        baseUrl: origin,
        timeLimit,
        // A wrong key or claim is a 400.
        reasonOf: ({ status }) => (status >= 400 && status < 404 ? new Unauthorized() : undefined)
      }),
      HttpClient.HttpClient,
      client
    )
  const call = (request: HttpClientRequest.HttpClientRequest) => ({
    request,
    credential: { id: "none" },
    model: "access token"
  })

  const ofServiceAccount = Effect.fnUntraced(function* (text: string): Effect.fn.Return<Fetched, ProviderError> {
    const file = yield* Schema.decodeEffect(Schema.fromJsonString(KeyFile))(text).pipe(Effect.mapError(rejected))
    const uri = URL.parse(file.token_uri ?? tokenUri)
    // A caller's key could name any server, or any path of a proxy in the private network.
    const isAllowed =
      uri !== null && [tokenUri, URL.parse(`${baseUrl.replace(/\/+$/, "")}/token`)?.href].includes(uri.href)
    const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    const assertion = isAllowed && uri !== null ? assertionOf(file, uri.href, now) : undefined
    if (uri === null || assertion === undefined) return yield* rejected()
    const http = yield* at(uri.origin)
    const request = HttpClientRequest.post(uri.pathname.slice(1)).pipe(
      HttpClientRequest.acceptJson,
      HttpClientRequest.bodyUrlParams({ grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion })
    )
    const { access_token, expires_in } = yield* http.json(call(request), Token)
    return { token: access_token, seconds: expires_in, project: file.project_id }
  })

  const ofMachine = Effect.gen(function* () {
    const http = yield* at(metadata)
    const get = (path: string) =>
      call(
        HttpClientRequest.setHeader(HttpClientRequest.get(`computeMetadata/v1/${path}`), "metadata-flavor", "Google")
      )
    const { access_token, expires_in } = yield* http.json(get("instance/service-accounts/default/token"), Token)
    const project = yield* http.stream(get("project/project-id")).pipe(Stream.decodeText, Stream.mkString)
    return { token: access_token, seconds: expires_in, project: project.trim() }
  })

  const ofFile = (path: string) =>
    Effect.flatMap(Effect.mapError(files.readFileString(path), rejected), ofServiceAccount)

  const fetched = (isOwn: boolean, secret: string): Effect.Effect<Fetched, ProviderError> => {
    if (isOwn && secret === "metadata") return ofMachine
    if (isOwn && secret.startsWith("/")) return ofFile(secret)
    const [, project, token] = tokenForm.exec(secret) ?? []
    return project !== undefined && token !== undefined
      ? Effect.succeed({ token, project, seconds: 0 })
      : ofServiceAccount(Buffer.from(secret, "base64").toString("utf8"))
  }

  const ownSecret = own?.secret === undefined ? undefined : Redacted.value(own.secret)
  const keyOf = ({ id, secret }: Credential): string => {
    const text = secret === undefined ? "" : Redacted.value(secret)
    return `${id === own?.id && text === ownSecret ? "own" : "given"} ${text}`
  }
  const tokens = yield* Cache.makeWith(
    (key: string) => {
      const [whose = "", ...secret] = key.split(" ")
      // Others wait for the same token.
      return Effect.uninterruptible(fetched(whose === "own", secret.join(" ")))
    },
    {
      capacity,
      timeToLive: (exit) => Duration.seconds(Exit.isSuccess(exit) ? Math.max(0, exit.value.seconds - marginSeconds) : 0)
    }
  )
  const access: GoogleAuth["access"] = (credential) =>
    Cache.get(tokens, keyOf(credential)).pipe(
      Effect.mapError(withoutCall),
      Effect.map(({ project, token }) => ({
        credential: { id: credential.id, secret: Redacted.make(token) },
        project
      }))
    )
  return {
    access,
    use: (credential, call) =>
      Effect.flatMap(access(credential), call).pipe(
        Effect.tapError(({ reason }) =>
          reason._tag === "Unauthorized" ? Cache.invalidate(tokens, keyOf(credential)) : Effect.void
        )
      )
  }
})
