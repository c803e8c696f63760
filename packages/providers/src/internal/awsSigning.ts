/**
 * Signs requests to services of AWS: Signature Version 4, with AWS's own library, as the object
 * store does.
 *
 * Protocol: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
 */
import { Clock, Config, Context, Effect, Redacted, Schema } from "effect"
import { constUndefined } from "effect/Function"
import { Headers, HttpClient, HttpClientRequest } from "effect/http"
import type { Credential } from "@model-gateway/offers/Offer"
import { ProviderError, Unauthorized } from "@model-gateway/offers/ProviderError"

/** What signs a request. */
interface Keys {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** How the request that is under way is signed. Undefined: it is not. */
export interface Authorization {
  readonly keys: Redacted.Redacted<Keys>
  readonly region: string
}

/** See {@link Authorization}. */
export const CurrentAuthorization = Context.Reference<Authorization | undefined>(
  "@model-gateway/providers/internal/awsSigning/CurrentAuthorization",
  { defaultValue: constUndefined }
)

/** Signs the requests of one upstream. */
export interface AwsSigning {
  /** Signs each request for which there is a {@link CurrentAuthorization}. */
  readonly client: HttpClient.HttpClient
  /**
   * How requests with this credential are signed. Undefined: its secret is an API key, which is
   * sent as it is. Fails if there are no keys, or no region.
   */
  readonly authorize: (credential: Credential) => Effect.Effect<Authorization | undefined, ProviderError>
}

const unauthorized = new ProviderError({ reason: new Unauthorized() })

const regionForm = /^[a-z]{2}(?:-[a-z]+)+-\d+$/

/** The region that a host of AWS names, also of an endpoint in one's own network. */
const regionOf = (baseUrl: string): string | undefined => {
  const { hostname = "" } = URL.parse(baseUrl) ?? {}
  return /\.amazonaws\.com(?:\.cn)?$/.test(hostname)
    ? hostname.split(".").find((label) => regionForm.test(label))
    : undefined
}

/**
 * Ids of access keys: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html.
 */
const pairForm = /^(?<id>(?:AKIA|ASIA)[A-Z0-9]{12,124}):(?<secret>[^:]+)(?::(?<token>[^:]+))?$/

/** The keys in a secret, if it is not an API key. */
const keysOf = (secret: string): Keys | undefined => {
  const { id, secret: secretAccessKey, token } = pairForm.exec(secret)?.groups ?? {}
  return id === undefined || secretAccessKey === undefined
    ? undefined
    : { accessKeyId: id, secretAccessKey, ...(token === undefined ? {} : { sessionToken: token }) }
}

/** What signs and is a secret too. */
const secretHeaders = ["authorization", "x-amz-security-token"]

const bytesOf = ({ body }: HttpClientRequest.HttpClientRequest): Uint8Array =>
  body._tag === "Uint8Array" ? body.body : new Uint8Array()

/** Makes the signing of an upstream over the `HttpClient` of the context. */
export const make = Effect.fnUntraced(function* ({
  baseUrl,
  service
}: {
  readonly baseUrl: string
  /** The name of the service in signatures, such as `bedrock`. */
  readonly service: string
}): Effect.fn.Return<AwsSigning, never, HttpClient.HttpClient> {
  const inner = yield* HttpClient.HttpClient
  const variable = yield* Effect.orElseSucceed(
    Config.withDefault(Config.schema(Schema.String, "AWS_REGION"), undefined),
    constUndefined
  )
  const region = regionOf(baseUrl) ?? (variable !== undefined && regionForm.test(variable) ? variable : undefined)

  // AWS's libraries are imported when they are used, because that takes a tenth of a second.

  const library = yield* Effect.cached(
    Effect.promise(async () => {
      const [{ Sha256 }, { SignatureV4 }] = await Promise.all([
        import("@aws-crypto/sha256-js"),
        import("@smithy/signature-v4")
      ])
      return { Sha256, SignatureV4 }
    })
  )

  // It renews what it found before that expires.
  const findKeys = yield* Effect.cached(
    Effect.promise(async () => {
      const { defaultProvider } = await import("@aws-sdk/credential-provider-node")
      return defaultProvider(region === undefined ? {} : { clientConfig: { region } })
    })
  )
  const foundKeys = Effect.flatMap(findKeys, (find) =>
    Effect.tryPromise({ try: (): Promise<Keys> => find(), catch: () => unauthorized })
  )

  const sign = Effect.fnUntraced(function* (request: HttpClientRequest.HttpClientRequest) {
    const authorization = yield* CurrentAuthorization
    if (authorization === undefined) return request
    const { Sha256, SignatureV4 } = yield* library
    const { host, hostname, pathname, protocol } = new URL(request.url)
    const signer = new SignatureV4({
      service,
      region: authorization.region,
      credentials: Redacted.value(authorization.keys),
      sha256: Sha256
    })
    const signingDate = new Date(yield* Clock.currentTimeMillis)
    const { headers } = yield* Effect.promise(() =>
      signer.sign(
        {
          method: request.method,
          protocol,
          hostname,
          path: pathname,
          query: {},
          headers: { host, "content-type": "application/json" },
          body: bytesOf(request)
        },
        { signingDate }
      )
    )
    const { host: _, ...added } = headers
    return HttpClientRequest.setHeaders(request, added)
  })

  return {
    client: inner.pipe(
      HttpClient.mapRequestEffect(sign),
      HttpClient.transform((responding) =>
        Effect.flatMap(Headers.CurrentRedactedNames, (names) =>
          Effect.provideService(responding, Headers.CurrentRedactedNames, [...names, ...secretHeaders])
        )
      )
    ),
    authorize: Effect.fnUntraced(function* ({ secret }) {
      const given = secret === undefined ? undefined : keysOf(Redacted.value(secret))
      if (secret !== undefined && given === undefined) return undefined
      if (region === undefined) return yield* unauthorized
      return { keys: Redacted.make(given ?? (yield* foundKeys)), region }
    })
  }
})
